#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "onefold/runtime/test_careful_world.h"

namespace onefold::test {

/// Adds 10 for each event, and dies of those in `poison`, after that.
class CarefulTest : public testing::TestWithParam<SourceClass> {
 protected:
  CarefulTest() {
    world.consumer.batch_max = 100;
    world.consumer.handlers.clear();
    world.consumer.on("payment", [this](const Event& event, Context& context) {
      Answer answer = add_ten(event, context);
      if (poison.contains(event.id)) throw faults::Crash{};
      if (look_inside) look_inside(event);
      return answer;
    });
  }

  static std::string name(int number) { return "e" + std::to_string(number); }
  void add_events(int count, int first = 0) {
    for (int i = first; i < first + count; ++i) world.broker.add(payment(name(i)));
  }
  /// In careful mode from now on, as after deaths.
  void be_careful(int size, const std::optional<Key>& suspect = {}, const char* source = "orders") {
    const auto runs = world.model->runs();
    const RunId dead = runs->begin({.consumer = world.adopt(), .source = source});
    ASSERT_TRUE(runs->bury(dead, {.careful_size = size, .suspect = suspect, .how = "killed"}));
  }
  Key key_of(const std::string& id) {
    for (const InboxRecord& row : world.model->records()->inbox({}).records) {
      if (row.event_id == id) return row.key;
    }
    ADD_FAILURE() << id << " is not in the inbox";
    return {};
  }
  /// Nothing is left of what was learnt.
  void expect_calm() {
    EXPECT_EQ(world.caution().size, 0);
    EXPECT_TRUE(world.caution().suspects.empty());
    EXPECT_TRUE(world.open_runs().empty());
  }

  CarefulWorld world{GetParam()};
  std::set<std::string> poison;
  std::function<void(const Event&)> look_inside;
};

}  // namespace onefold::test
