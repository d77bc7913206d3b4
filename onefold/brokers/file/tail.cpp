#include "onefold/brokers/file/tail.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "onefold/brokers/file/mark.h"
#include "onefold/error.h"

namespace onefold::file {
namespace {

struct Match {
  Incarnation incarnation;
  std::uint64_t next = 0;
  std::uint64_t mark = 0;
};

struct Findings {
  std::optional<Match> match;    ///< Where to go on.
  std::uint32_t generation = 0;  ///< The last one of all that begin like this file.
  std::uint64_t furthest = 0;    ///< How far one of them was read.
};

/// What the database knows about files that begin with `beginning`. Only one of which the mark is
/// found in `file` is this file; of several the latest counts, and then the one that was recognised
/// by the most bytes.
Findings look_for(const std::vector<Position>& positions, const OpenedFile& file,
                  std::string_view beginning, std::uint32_t generation_min) {
  const auto rank = [](const Incarnation& incarnation) {
    return std::tuple{incarnation.generation(), incarnation.bytes()};
  };
  Findings found;
  for (const Position& position : positions) {
    const auto incarnation = Incarnation::parse(position.partition->incarnation);
    if (!incarnation || !incarnation->matches(beginning)) continue;
    found.generation = std::max(found.generation, incarnation->generation());
    found.furthest = std::max(found.furthest, position.next.low);
    if (incarnation->generation() < generation_min) continue;
    if (found.match && rank(*incarnation) <= rank(found.match->incarnation)) continue;
    if (!bears(file, position.next.low, position.mark)) continue;
    found.match = Match{*incarnation, position.next.low, position.mark};
  }
  return found;
}

}  // namespace

Tail::Tail(OpenedFile file, std::string source, SourceContext context, Splitter splitter,
           const Tail* predecessor)
    : file_{std::move(file)},
      source_{std::move(source)},
      context_{std::move(context)},
      splitter_{std::move(splitter)},
      announced_{predecessor != nullptr} {
  if (predecessor != nullptr) rival_ = predecessor->incarnation_;
}

std::optional<Element> Tail::next() {
  for (;;) {
    const std::optional<Element> element = splitter_.next();
    if (element && !partition_ && identify()) continue;
    if (element) return element;
    if (!fill()) return std::nullopt;
  }
}

/// Reads on. Returns false at the end.
bool Tail::fill() {
  const std::uint64_t offset = splitter_.read_offset();
  const std::size_t count = file_.read(offset, splitter_.room());
  if (count == 0) return !at_end_for_now(offset);
  if (is_intact()) {
    splitter_.filled(count);
  } else {
    start_over("was written anew");
  }
  return true;
}

/// There is nothing at `offset`. Returns false if that is so because the file is no longer the one
/// that was read.
bool Tail::at_end_for_now(std::uint64_t offset) {
  const FileState state = file_.state();
  if (state.size < offset) {
    // Each time its size was smaller than what could be read of it.
    if (++shrinkings_ > 2) {
      throw Error{
          ErrorKind::bad_configuration,
          fmt::format("cannot read {}: it says that it has {} bytes, and has more; give the "
                      "path of a file on a disk, or copy it first",
                      file_.path(), state.size)};
    }
    start_over("was truncated");
    return false;
  }
  shrinkings_ = 0;
  if (state.modified == checked_) return true;
  checked_ = state.modified;
  if (is_intact()) return true;
  start_over("was written anew");
  return false;
}

/// Whether what was read still stands in the file: its beginning, what was handed out last, and
/// what waits for more. Costs little beside the reading of what comes next.
bool Tail::is_intact() const {
  const std::string_view recent = splitter_.recent();
  std::string now(recent.size(), '\0');
  if (file_.read(splitter_.read_offset() - recent.size(), now) != now.size() || now != recent) {
    return false;
  }
  if (!incarnation_) return true;
  return incarnation_->matches(file_.beginning()) && bears(file_, reached_.next, reached_.mark);
}

void Tail::start_over(std::string_view reason) {
  context_.notify(
      {Severity::info,
       fmt::format("{} {} after {} bytes of it had been read: it is read from its start",
                   file_.path(), reason, splitter_.read_offset())});
  if (incarnation_) former_ = incarnation_;
  rewind();
}

void Tail::rewind() {
  incarnation_.reset();
  partition_.reset();
  reached_ = {};
  splitter_.restart(Layout::unknown, 0);
}

/// Returns true if reading goes on elsewhere than at the start.
bool Tail::identify() {
  const std::string beginning = file_.beginning();
  const std::vector<Position> positions = context_.positions();
  std::uint32_t generation = former_ ? former_->generation() + 1 : 1;
  if (rival_ && rival_->matches(beginning)) {
    generation = std::max(generation, rival_->generation() + 1);
  }
  const Findings found = look_for(positions, file_, beginning, generation);
  if (found.match) {
    become(found.match->incarnation);
    reached_ = {found.match->next, found.match->mark};
    if (reached_.next == 0) return false;
    splitter_.restart(splitter_.layout(), reached_.next);
    return true;
  }
  announce_another(positions, found.generation > 0, found.furthest);
  become(Incarnation{beginning, std::max(generation, found.generation + 1)});
  return false;
}

void Tail::announce_another(const std::vector<Position>& positions, bool begins_alike,
                            std::uint64_t furthest) {
  // After `start_over` it has been said.
  if (announced_ || former_ || positions.empty()) return;
  announced_ = true;
  const std::uint64_t size = file_.state().size;
  const std::string text =
      begins_alike && size < furthest
          ? fmt::format(
                "{} has {} bytes, but {} were read before: it was truncated, and is read "
                "from its start",
                file_.path(), size, furthest)
          : fmt::format(
                "{} {}: it is read from its start; if the former one was not read to its "
                "end, run it under its new path too",
                file_.path(),
                begins_alike ? "begins like the file that was read before, but is another "
                               "one or was written anew"
                             : "is another file than the one that was read before");
  context_.notify({Severity::info, text});
}

void Tail::become(Incarnation incarnation) {
  incarnation_ = incarnation;
  partition_ = std::make_shared<const Partition>(
      Partition{.source = source_, .incarnation = incarnation.text(), .name = {}});
}

bool Tail::accept_rest() {
  if (!partition_ && identify()) return false;
  splitter_.restart(splitter_.layout(), splitter_.rest().element.next);
  return true;
}

Position Tail::position_of(const Element& element) {
  reached_ = {element.next, mark_of(element, file_)};
  return {.partition = partition_,
          .at = {0, element.at},
          .next = {0, element.next},
          .mark = reached_.mark};
}

bool Tail::is_same(const OpenedFile& other) const {
  // A file that only lost its name to another one may still be written to.
  return incarnation_ && !file_.state().linked && incarnation_->matches(other.beginning()) &&
         bears(other, reached_.next, reached_.mark);
}

}  // namespace onefold::file
