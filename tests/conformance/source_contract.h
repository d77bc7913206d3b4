#pragma once

#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "onefold/source.h"

/// What every source promises (onefold/source.h, onefold/brokers/README.md). A broker takes part by
/// one entry in `sources()`.
namespace onefold::contract {

/// A broker with one subscription, from the outside. Everything is gone on destruction.
class SourceRig {
 public:
  virtual ~SourceRig() = default;
  /// Publishes plain JSON texts, in this order, as the last ones there will be. Their identity is
  /// {id: "/id", source: "literal:shop", type: "/type"}.
  virtual void publish(const std::vector<std::string>& texts) = 0;
  /// Of the subscription "orders".
  virtual SourceFactory factory() = 0;
};

struct SourceCase {
  std::string name;
  SourceTraits traits;
  std::unique_ptr<SourceRig> (*make)();
};
std::ostream& operator<<(std::ostream& out, const SourceCase& source);

/// All sources there are.
const std::vector<SourceCase>& sources();
/// Those whose truth is the position in the database.
std::vector<SourceCase> owned_logs();

}  // namespace onefold::contract
