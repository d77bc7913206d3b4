#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "onefold/brokers/file/incarnation.h"
#include "onefold/brokers/file/opened_file.h"
#include "onefold/brokers/file/splitter.h"
#include "onefold/source.h"

namespace onefold::file {

/// One opened file, read to its end and beyond as it grows. Used by one thread.
///
/// It is identified only when its first element is about to be handed out: before that there may
/// not be enough bytes to recognise it by. Then the database's positions say whether it was read
/// before, and how far.
class Tail {
 public:
  /// `announced`: somebody has already been told that this is another file.
  Tail(OpenedFile file, std::string source, SourceContext context, Splitter splitter,
       bool announced);

  /// The next complete element; absent at what is the end for now.
  std::optional<Element> next();
  /// What stands behind the last complete element.
  Rest rest() const { return splitter_.rest(); }
  /// Makes the rest an element that is handed out. Returns false if the file turned out to be read
  /// already and reading goes on elsewhere.
  bool accept_rest();
  /// Looks the position up again, before the next element.
  void rewind();

  Position position_of(const Element& element) const;
  const OpenedFile& file() const noexcept { return file_; }
  /// Whether `other` begins as what was read here.
  bool is_same(const OpenedFile& other) const;
  /// Goes on in another file with the same bytes.
  void adopt(OpenedFile file) { file_ = std::move(file); }

 private:
  bool fill();
  bool identify();
  void start_over();
  void become(Incarnation incarnation);
  void announce(std::string text);

  OpenedFile file_;
  std::string source_;
  SourceContext context_;
  Splitter splitter_;
  bool announced_;
  bool waited_ = false;  ///< The end was reached: what comes next was written later.
  std::optional<Incarnation> incarnation_;
  std::optional<Incarnation> former_;  ///< What this file was before it was truncated under us.
  std::shared_ptr<const Partition> partition_;
};

}  // namespace onefold::file
