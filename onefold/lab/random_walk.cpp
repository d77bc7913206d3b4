#include "onefold/lab/random_walk.h"

#include <algorithm>

namespace onefold::lab {
namespace {
constexpr int depth = 3;              ///< Of PCT: so many orderings have to be right.
constexpr std::uint32_t rarity = 12;  ///< One choice of so many is a fault.
}  // namespace

RandomWalk::RandomWalk(std::uint64_t seed, std::size_t workers, int steps_expected)
    : random_{seed}, switched_on_{below(1U << 20U)}, by_priority_{below(2) == 0} {
  for (const Act act : {Act::rest, Act::step, Act::commit, Act::acknowledge}) {
    switched_on_ |= 1U << static_cast<unsigned>(act);
  }
  for (std::size_t worker = 0; worker < workers; ++worker) {
    priorities_.push_back(lowest_ + 1 + below(1'000'000));
  }
  for (int change = 1; change < depth; ++change) {
    changes_.push_back(
        static_cast<int>(below(static_cast<std::uint32_t>(std::max(1, steps_expected)))));
  }
}

std::size_t RandomWalk::by_priority(std::span<const Option> options) {
  const auto priority = [this](const Option& option) {
    return option.act == Act::step ? priorities_[static_cast<std::size_t>(option.who)] : 0;
  };
  auto first = std::ranges::max_element(options, {}, priority);
  if (std::ranges::find(changes_, step_) != changes_.end()) {
    priorities_[static_cast<std::size_t>(std::max(0, first->who))] = --lowest_;
    first = std::ranges::max_element(options, {}, priority);
  }
  return static_cast<std::size_t>(first - options.begin());
}

std::size_t RandomWalk::choose(std::span<const Option> options) {
  std::vector<std::size_t> steps;
  std::vector<std::size_t> faults;
  for (std::size_t place = 0; place < options.size(); ++place) {
    const Act act = options[place].act;
    if (act == Act::step || place == 0) {
      steps.push_back(place);
    } else if (is_on(act)) {
      faults.push_back(place);
    }
  }
  ++step_;
  std::size_t choice = 0;
  if (!faults.empty() && below(rarity) == 0) {
    choice = faults[below(static_cast<std::uint32_t>(faults.size()))];
  } else if (options.front().act == Act::step) {
    choice = by_priority_ ? by_priority(options)
                          : steps[below(static_cast<std::uint32_t>(steps.size()))];
  }
  schedule_.push_back(static_cast<std::uint8_t>(choice));
  return choice;
}

}  // namespace onefold::lab
