#include <utility>

#include "onefold/stores/memory/memory.h"
#include "tests/conformance/store_contract.h"

namespace onefold::conformance {
namespace {

constexpr int few_sources = 3;

class MemoryDatabase final : public Database {
 public:
  explicit MemoryDatabase(bool late_errors)
      : model_{memory::open_model({.sources_max = few_sources, .late_errors = late_errors})} {
    model_->housekeeping()->migrate();
  }
  Store& store() override { return *model_; }
  void reopen() override {
    // What is committed survives in another model, as it survives in a file.
    const auto committed = model_->snapshot();
    model_->restore(committed);
  }
  std::vector<std::string> audit() override { return model_->audit(); }

 private:
  std::unique_ptr<memory::Model> model_;
};

std::unique_ptr<Database> memory_database() {
  return std::make_unique<MemoryDatabase>(false);
}
std::unique_ptr<Database> pipelined_memory_database() {
  return std::make_unique<MemoryDatabase>(true);
}

}  // namespace

std::vector<StoreUnderTest> all_stores() {
  return {
      {"memory", memory_database, few_sources, /*one_thread=*/true, /*interleaves=*/true},
      {"memory_pipelined", pipelined_memory_database, few_sources, true, true},
  };
}

std::vector<StoreUnderTest> interleaving_stores() {
  std::vector<StoreUnderTest> stores = all_stores();
  std::erase_if(stores, [](const StoreUnderTest& store) { return !store.interleaves; });
  return stores;
}

std::string name_of(const testing::TestParamInfo<StoreUnderTest>& info) {
  return info.param.name;
}

}  // namespace onefold::conformance
