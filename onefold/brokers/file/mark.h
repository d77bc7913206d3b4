#pragma once

#include <cstdint>

#include "onefold/brokers/file/opened_file.h"
#include "onefold/brokers/file/splitter.h"

namespace onefold::file {

/// A check value of what stands before an offset: by it a file is recognised that begins like
/// another one, or was written anew under its reader. Stored beside the offset (`Position::mark`),
/// and so a file format. From the highest bits on:
///
///  -  8 bits: the gap between the end of the element and the offset: LF, CRLF, or the bracket that
///    ends stray text; nothing else may stand there;
///  - 16 bits: the length of the window, the last bytes of the element, at most 65535;
///  - 40 bits: a hash over the window; of one longer than 256 bytes only its first and last 128.
///
/// 0: none. A rival to deceive is not expected, so the hash is fast and not strong.
std::uint64_t mark_of(const Element& element, const OpenedFile& file);

/// Whether the bytes before `next` are those that `mark` was made of. Without a mark, whether
/// `next` follows a line end. True at the start of the file.
bool bears(const OpenedFile& file, std::uint64_t next, std::uint64_t mark);

}  // namespace onefold::file
