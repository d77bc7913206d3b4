// key = "event" | { payment = "/payment_id" } | { attempt = ["/order_id", "/attempt"] }, or an
// array of these. A name, because it is part of the stored key; pointers, because ids of events do
// not tell that two of them speak of one payment.

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "onefold/daemon/config_sections.h"
#include "onefold/daemon/nearest.h"
#include "onefold/formats/json.h"
#include "onefold/formats/text.h"

namespace onefold {
namespace {

/// Every key is one more row in the inbox, for every event.
constexpr std::size_t keys_max = 8;
constexpr std::size_t values_max = 8;

const std::vector<std::string>& attributes() {
  static const std::vector<std::string> all{"attr:id", "attr:source", "attr:type", "attr:subject"};
  return all;
}

class KeysReader {
 public:
  explicit KeysReader(const TableReader& reader)
      : reader_{reader},
        reading_{reader.reading()},
        example_{"for example: " + table_schema("consumer.*").find("key")->example} {}

  std::vector<KeySpec> read() {
    const toml::node* node = reader_.find("key");
    if (node == nullptr || reading_.unknown(*node)) return {};
    if (const auto* list = node->as_array()) {
      read_list(*list);
    } else {
      read_one(*node);
    }
    // The event alone is what an absent key means.
    if (keys_.size() == 1 && keys_.front().rule.empty()) keys_.clear();
    return std::move(keys_);
  }

 private:
  void read_list(const toml::array& list) {
    if (list.empty()) {
      reading_.problem(list, "\"key\" must not be empty",
                       R"(key = "event" is what holds without it)");
    }
    if (list.size() > keys_max) {
      reading_.problem(list,
                       "\"key\" has " + std::to_string(list.size()) +
                           " rules, and 8 is the most: each is one more row for every event",
                       "leave out those that another one implies");
      return;
    }
    for (const toml::node& each : list) read_one(each);
  }

  void read_one(const toml::node& node) {
    if (reading_.unknown(node)) return;
    if (const auto* table = node.as_table()) {
      read_rule(*table);
    } else if (const auto* text = node.as_string(); text != nullptr && text->get() == "event") {
      add(node, {});
    } else {
      reading_.problem(node,
                       "\"key\" must be \"event\", or a name with pointers" +
                           (text != nullptr ? ", not \"" + printable(text->get()) + "\""
                                            : ", not " + std::string{describe(node)}),
                       example_);
    }
  }

  void read_rule(const toml::table& table) {
    if (table.size() != 1) {
      reading_.problem(table,
                       table.empty() ? "this \"key\" has no rule"
                                     : "this \"key\" has several rules in one table",
                       table.empty() ? example_
                                     : R"(write a list, one table a rule: key = [{ a = "/a" }, )"
                                       R"({ b = "/b" }])");
      return;
    }
    const auto first = table.begin();  // What it points to lives in it.
    const auto& [name, node] = *first;
    check_name(name.str(), "name of the key", ConfigReading::place(name), reading_);
    if (name.str() == "event") {
      reading_.problem(name, "\"event\" is the name of the event's own identity",
                       "give the rule another name, such as \"payment\"");
    }
    KeySpec key{.rule = std::string{name.str()}, .values = {}};
    read_values(node, key);
    add(name, std::move(key));
  }

  void read_values(const toml::node& node, KeySpec& key) {
    const toml::array* list = node.as_array();
    if (list == nullptr) {
      read_value(node, key);
      return;
    }
    if (list->empty() || list->size() > values_max) {
      reading_.problem(node, "a rule needs 1 to 8 pointers", example_);
      return;
    }
    for (const toml::node& each : *list) read_value(each, key);
  }

  void read_value(const toml::node& node, KeySpec& key) {
    if (reading_.unknown(node)) return;
    const auto* text = node.as_string();
    if (text == nullptr) {
      reading_.problem(node, "a rule holds JSON Pointers, not " + std::string{describe(node)},
                       example_);
      return;
    }
    const std::string& value = text->get();
    if (std::ranges::find(key.values, value) != key.values.end()) {
      reading_.problem(node, "\"" + printable(value) + "\" stands twice in this rule",
                       "name each value once");
    } else if (value.starts_with("attr:")) {
      check_attribute(node, value);
    } else if (value.empty()) {
      reading_.problem(node, "the empty pointer is all of the data, which is no single value",
                       example_);
    } else {
      check_pointer(value, reading_.place(node), reading_);
    }
    key.values.push_back(value);
  }

  void check_attribute(const toml::node& node, const std::string& value) {
    if (std::ranges::find(attributes(), value) != attributes().end()) return;
    reading_.problem(node, "\"" + printable(value) + "\" is no attribute that can be a key",
                     nearest_hint(value, attributes(), "attributes"));
  }

  /// `where` is a node or a key.
  template <typename Where>
  void add(const Where& where, KeySpec key) {
    if (std::ranges::find(keys_, key.rule, &KeySpec::rule) != keys_.end()) {
      reading_.problem(where,
                       "\"" + (key.rule.empty() ? std::string{"event"} : printable(key.rule)) +
                           "\" stands twice in \"key\"",
                       "each rule needs its own name");
    }
    keys_.push_back(std::move(key));
  }

  const TableReader& reader_;
  ConfigReading& reading_;
  const std::string example_;
  std::vector<KeySpec> keys_;
};

}  // namespace

std::vector<KeySpec> read_keys(const TableReader& reader) {
  return KeysReader{reader}.read();
}

}  // namespace onefold
