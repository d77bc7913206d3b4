#include "onefold/brokers/file/tail.h"

#include <fmt/format.h>

#include <tuple>
#include <utility>

namespace onefold::file {
namespace {

struct Match {
  Incarnation incarnation;
  std::uint64_t next = 0;
};

/// The stored position of the file that begins with `beginning`. The incarnation that was
/// recognised by the most bytes is the surest; of its generations the last one counts.
std::optional<Match> find_match(const std::vector<Position>& positions, std::string_view beginning,
                                std::uint32_t generation_min) {
  const auto rank = [](const Incarnation& incarnation) {
    return std::tuple{incarnation.bytes(), incarnation.generation()};
  };
  std::optional<Match> best;
  for (const Position& position : positions) {
    const auto incarnation = Incarnation::parse(position.partition->incarnation);
    if (!incarnation || incarnation->generation() < generation_min) continue;
    if (best && rank(*incarnation) <= rank(best->incarnation)) continue;
    if (incarnation->matches(beginning)) best = Match{*incarnation, position.next.low};
  }
  return best;
}

}  // namespace

Tail::Tail(OpenedFile file, std::string source, SourceContext context, Splitter splitter,
           bool announced)
    : file_{std::move(file)},
      source_{std::move(source)},
      context_{std::move(context)},
      splitter_{std::move(splitter)},
      announced_{announced} {}

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
  if (count == 0) {
    waited_ = true;
    if (file_.size() >= offset) return false;
    start_over();
    return true;
  }
  if (waited_ && incarnation_ && !incarnation_->matches(file_.beginning())) {
    // Truncated, and grown beyond what was read before anybody looked.
    start_over();
    return true;
  }
  waited_ = false;
  splitter_.filled(count);
  return true;
}

void Tail::start_over() {
  context_.notify({Severity::info,
                   fmt::format("{} was truncated after {} bytes of it had been read: it is read "
                               "from its start",
                               file_.path(), splitter_.read_offset())});
  if (incarnation_) former_ = incarnation_;
  rewind();
}

void Tail::rewind() {
  incarnation_.reset();
  partition_.reset();
  splitter_.restart(Layout::unknown, 0);
  waited_ = false;
}

/// Returns true if reading goes on elsewhere than at the start.
bool Tail::identify() {
  const std::string beginning = file_.beginning();
  const std::vector<Position> positions = context_.positions();
  std::uint32_t generation = former_ ? former_->generation() + 1 : 1;
  const auto match = find_match(positions, beginning, generation);
  if (match && match->next <= file_.size()) {
    become(match->incarnation);
    if (match->next == 0) return false;
    splitter_.restart(splitter_.layout(), match->next);
    return true;
  }
  if (match) {
    generation = match->incarnation.generation() + 1;
    announce(
        fmt::format("{} has {} bytes, but {} were read before: it was truncated, and is read "
                    "from its start",
                    file_.path(), file_.size(), match->next));
  } else if (!positions.empty() && !former_) {
    announce(
        fmt::format("{} is another file than the one that was read before: it is read from "
                    "its start; if the former one was not read to its end, run it under its "
                    "new path too",
                    file_.path()));
  }
  become(Incarnation{beginning, generation});
  return false;
}

void Tail::become(Incarnation incarnation) {
  incarnation_ = incarnation;
  partition_ = std::make_shared<const Partition>(
      Partition{.source = source_, .incarnation = incarnation.text(), .name = {}});
}

void Tail::announce(std::string text) {
  if (!announced_) context_.notify({Severity::info, std::move(text)});
  announced_ = true;
}

bool Tail::accept_rest() {
  if (!partition_ && identify()) return false;
  splitter_.restart(splitter_.layout(), splitter_.rest().element.next);
  return true;
}

Position Tail::position_of(const Element& element) const {
  return {.partition = partition_, .at = {0, element.at}, .next = {0, element.next}};
}

bool Tail::is_same(const OpenedFile& other) const {
  return incarnation_ && incarnation_->matches(other.beginning());
}

}  // namespace onefold::file
