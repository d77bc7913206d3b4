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

/// A source of one file. If its first character that is not white space is `[`, the file is a JSON
/// array (or several, one after the other) and each element is an event; otherwise each line is
/// one.
///
/// A line or element that is no acceptable JSON, or larger than the limit, becomes a delivery with
/// a defect and the file goes on. Incarnation: a digest over the first k <= 4096 bytes, with k
/// recorded; a copied or restored file is the same file (semantics 5.4). Another incarnation is
/// another file: it is read from its start, and a notice says so. A file shorter than its position
/// was truncated: the same.
///
/// Without `follow`, the end of the file ends the last line if that is one complete JSON value;
/// otherwise a notice of severity `problem` names its offset, and it is not consumed.
SourceFactory source(Options options);

}  // namespace onefold::file
