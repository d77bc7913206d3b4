#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "onefold/formats/decoder.h"
#include "onefold/source.h"

/// Files of events: JSON Lines, or JSON arrays. An owned log: the position is in the database.
namespace onefold::file {

enum class Format { cloudevents, json };

struct Options {
  std::string name = "file";  ///< Of the subscription.
  std::string path;           ///< A regular file; "-" is standard input, which has no position.
  Format format = Format::cloudevents;
  IdentityRule identity = {};  ///< For `Format::json`.
  std::string id_prefix = {};  ///< A declared constant prefix of ids, e.g. "evt_".
  bool follow = false;         ///< Wait for more at the end, through rotation and truncation.
  DecodeLimits limits = {};
};

/// A source of one file. If its first character that is not white space is `[` and the next one
/// `{`, `[` or `]`, the file is a JSON array (or several, one after the other) and each element is
/// an event; otherwise each line is one.
///
/// A line or element that is no acceptable JSON, or larger than the limit, becomes a delivery with
/// a defect and the file goes on. Of what is too large, `raw` is the first 64 KiB and a last line
/// of ours that names the size and the SHA-256 of the whole, so that two that only begin alike are
/// not taken for one.
///
/// Incarnation: a digest over the first k <= 4096 bytes, with k recorded; a copied or restored file
/// is the same file (semantics 5.4) if moreover what stands before the position is what was read
/// there: the position's mark tells. Everything else is another file, or one that was truncated or
/// written anew: it is read from its start as another incarnation, and a notice says so. That may
/// deliver an event again, and never loses one. A followed file is checked at every reading; one
/// that was renamed away and has another in its place is finished first.
///
/// Without `follow`, the end of the file ends the last line if that is one complete JSON value;
/// otherwise a notice of severity `problem` names its offset, and it is not consumed.
SourceFactory source(Options options);

}  // namespace onefold::file
