#include "onefold/daemon/config_reading.h"

#include <algorithm>
#include <filesystem>
#include <tuple>

namespace onefold {
namespace {

ConfigPlace place_of(const toml::source_region& region) {
  return {region.path ? *region.path : std::string{}, region.begin.line, region.begin.column};
}

}  // namespace

void ConfigReading::problem(const ConfigPlace& place, std::string text, std::string hint) {
  problems_.push_back({place, std::move(text), std::move(hint)});
}

void ConfigReading::problem(const toml::node& node, std::string text, std::string hint) {
  problem(place(node), std::move(text), std::move(hint));
}

void ConfigReading::problem(const toml::key& key, std::string text, std::string hint) {
  problem(place(key), std::move(text), std::move(hint));
}

std::vector<ConfigProblem> ConfigReading::take() {
  // What stands in no file comes first: it holds for all of them.
  const auto order = [this](const ConfigPlace& place) {
    const auto file = files_.find(place.file);
    return std::tuple{file == files_.end() ? 0 : file->second + 1, place.line, place.column};
  };
  std::ranges::stable_sort(problems_, {},
                           [&](const ConfigProblem& each) { return order(each.place); });
  return std::exchange(problems_, {});
}

void ConfigReading::next_file(const std::string& name) {
  if (files_.empty()) folder_ = std::filesystem::path{name}.parent_path().string();
  files_.emplace(name, files_.size());
}

ConfigPlace ConfigReading::place(const toml::node& node) const {
  const Note* found = note(node);
  if (found != nullptr && !found->variable.empty()) {
    return {"environment variable " + found->variable, 0, 0};
  }
  return place_of(node.source());
}

ConfigPlace ConfigReading::place(const toml::key& key) {
  return place_of(key.source());
}

void ConfigReading::set_by(const toml::node& node, std::string variable) {
  notes_[&node].variable = std::move(variable);
  notes_[&node].whole = true;
}

bool ConfigReading::whole(const toml::node& node) const {
  const Note* found = note(node);
  return found != nullptr && found->whole;
}

bool ConfigReading::unknown(const toml::node& node) const {
  const Note* found = note(node);
  return found != nullptr && found->unknown;
}

const ConfigReading::Note* ConfigReading::note(const toml::node& node) const {
  const auto found = notes_.find(&node);
  return found == notes_.end() ? nullptr : &found->second;
}

}  // namespace onefold
