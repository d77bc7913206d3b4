#include <algorithm>
#include <utility>

#include "onefold/stores/memory/database.h"

namespace onefold::memory {
namespace {

class MemoryRuns final : public Runs {
 public:
  explicit MemoryRuns(std::shared_ptr<Database> database) : database_{std::move(database)} {}

  RunId begin(const RunStart& start) override {
    const RunId id = ++committed().last_run;
    RunRecord run;
    run.id = id;
    run.start = start;
    committed().runs.emplace(id, std::move(run));
    return id;
  }
  std::vector<RunRecord> open(ConsumerId consumer, std::string_view source) override {
    std::vector<RunRecord> found;
    for (const auto& [id, run] : committed().runs) {
      if (run.start.consumer == consumer && run.start.source == source) found.push_back(run);
    }
    return found;
  }
  bool bury(RunId id, const Burial& burial) override {
    const auto found = committed().runs.find(id);
    if (found == committed().runs.end()) return false;
    const RunStart start = found->second.start;
    committed().runs.erase(found);
    if (burial.careful_size > 0) {
      committed().careful[{start.consumer, start.source}] = burial.careful_size;
    }
    if (!burial.suspect) return true;
    auto& [consumer, suspect] = committed().suspects[*burial.suspect];
    consumer = start.consumer;
    suspect = {*burial.suspect, suspect.deaths + 1, burial.how};
    return true;
  }
  Caution caution(ConsumerId consumer, std::string_view source) override {
    Caution caution;
    const auto careful = committed().careful.find({consumer, std::string{source}});
    if (careful != committed().careful.end()) caution.size = careful->second;
    for (const auto& [key, entry] : committed().suspects) {
      if (entry.first == consumer) caution.suspects.push_back(entry.second);
    }
    return caution;
  }
  void hold(RunId id, int size, const std::optional<Key>& in_hand) override {
    const auto found = committed().runs.find(id);
    if (found == committed().runs.end()) return;
    found->second.size = size;
    found->second.in_hand = in_hand;
  }
  void relax(ConsumerId consumer, std::string_view source, std::span<const Key> settled) override {
    committed().careful.erase({consumer, std::string{source}});
    for (const Key& key : settled) committed().suspects.erase(key);
  }
  void end(RunId id) override { committed().runs.erase(id); }

 private:
  Committed& committed() { return database_->committed; }
  std::shared_ptr<Database> database_;
};

}  // namespace

std::unique_ptr<Runs> keep_runs(std::shared_ptr<Database> database) {
  return std::make_unique<MemoryRuns>(std::move(database));
}

}  // namespace onefold::memory
