#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
  /// `predecessor`: the file that this one has replaced while both are read, if there is one. Then
  /// somebody has been told already that this is another file.
  Tail(OpenedFile file, std::string source, SourceContext context, Splitter splitter,
       const Tail* predecessor = nullptr);

  /// The next complete element; absent at what is the end for now.
  std::optional<Element> next();
  /// What stands behind the last complete element.
  Rest rest() const { return splitter_.rest(); }
  /// Makes the rest an element that is handed out. Returns false if the file turned out to be read
  /// already and reading goes on elsewhere.
  bool accept_rest();
  /// Looks the position up again, before the next element.
  void rewind();

  /// Of an element that is handed out now.
  Position position_of(const Element& element);
  const OpenedFile& file() const noexcept { return file_; }
  /// Whether `other` is this file under another inode: what was read here stands in it too, and
  /// this one is gone.
  bool is_same(const OpenedFile& other) const;
  /// Goes on in another file with the same bytes.
  void adopt(OpenedFile file) { file_ = std::move(file); }

 private:
  /// What was handed out last: by it a file is known that was written anew.
  struct Reached {
    std::uint64_t next = 0;
    std::uint64_t mark = 0;
  };

  bool fill();
  bool at_end_for_now(std::uint64_t offset);
  bool is_intact() const;
  bool identify();
  void start_over(std::string_view reason);
  void become(Incarnation incarnation);
  void announce_another(const std::vector<Position>& positions, bool begins_alike,
                        std::uint64_t furthest);

  OpenedFile file_;
  std::string source_;
  SourceContext context_;
  Splitter splitter_;
  bool announced_;
  Reached reached_;
  std::int64_t checked_ = 0;  ///< When what was modified was compared with what had been read.
  int shrinkings_ = 0;        ///< Since its end was last seen.
  std::optional<Incarnation> incarnation_;
  std::optional<Incarnation> former_;  ///< What this file was before it was written anew.
  std::optional<Incarnation> rival_;   ///< Of the predecessor: never ours, even if we begin alike.
  std::shared_ptr<const Partition> partition_;
};

}  // namespace onefold::file
