// Explores the tests' worlds and prints what was seen: lab_explore [SECONDS [WORLD...]].

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "tests/lab/worlds.h"

int main(int count, char** arguments) {
  namespace lab = onefold::lab;
  const int seconds = count > 1 ? std::stoi(arguments[1]) : 60;
  const std::vector<std::string> names(arguments + std::min(count, 2), arguments + count);
  std::vector<lab::WorldSpec> worlds = lab::worlds::all();
  std::erase_if(worlds, [&](const lab::WorldSpec& world) {
    return !names.empty() && std::ranges::find(names, world.name) == names.end();
  });
  int violations = 0;
  for (const lab::WorldSpec& world : worlds) {
    const lab::Report report = lab::explore({&world, 1}, {.schedules_max = 100'000'000,
                                                          .time_max = std::chrono::seconds{seconds},
                                                          .cheap_first = true});
    std::cout << report.summary() << std::flush;
    if (!report.violation) continue;
    ++violations;
    std::cout << report.violation->what << '\n' << report.violation->timeline << '\n';
  }
  return violations == 0 ? 0 : 1;
}
