#pragma once

#include <string>
#include <vector>

/// Hostile inputs, and what each must lead to. The numbers in the names are explained in README.md.
namespace onefold::hostile_rows {

struct Row {
  std::string name;   ///< "H02_IdOf513Bytes".
  std::string bytes;  ///< One event; no line break outside of what a line may hold.
  std::string code;   ///< Of the defect with which it is set aside; empty: it is applied.
  std::string id;     ///< If it is applied: the id that is stored, byte for byte.
  /// Brackets and quotes are paired, so that it can stand among the elements of an array.
  bool paired = true;
};

/// Plain JSON objects. Identity: id "/id", source "literal:shop", type "/type".
std::vector<Row> json_rows();
/// Structured CloudEvents.
std::vector<Row> cloudevents_rows();

}  // namespace onefold::hostile_rows
