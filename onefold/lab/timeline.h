#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "onefold/lab/world.h"

namespace onefold::lab {

/// A schedule to be read: a line for each step, a column for each worker, one for the database, one
/// for the broker.
class Timeline {
 public:
  explicit Timeline(World& world);
  /// `facts` are what is true in the database at the start, sorted.
  Timeline(std::vector<std::string> workers, std::vector<std::string> facts);

  /// What the next lines say belongs to this step.
  void begin(int step);
  void note(std::size_t worker, const std::string& text);
  void note_all(const std::string& text);
  void note_broker(const std::string& text);
  /// Notes what has become true in the database since this was last called.
  void note_database(World& world);
  /// The same of a database of another kind. A fact "NAME: VALUE" replaces the one of its name.
  void note_facts(std::vector<std::string> facts);
  /// Notes what the broker has handed out.
  void note_handed(World& world, std::size_t worker, const std::vector<std::size_t>& handed);
  void note_settled(World& world, const std::vector<std::size_t>& settled);
  /// A choice other than the default one, for the cause.
  void note_cause(const std::string& text) { causes_.push_back(text); }

  std::string text() const;
  std::string cause() const;

 private:
  struct Line {
    int step;
    std::vector<std::string> columns;
  };
  static void append(std::string& column, const std::string& text);

  std::size_t workers_;
  std::vector<std::string> heads_;
  std::vector<Line> lines_;
  std::vector<std::string> causes_;
  std::vector<std::string> facts_;  ///< As last seen.
};

}  // namespace onefold::lab
