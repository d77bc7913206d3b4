#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "onefold/event.h"
#include "onefold/formats/decoder.h"
#include "onefold/formats/json.h"

namespace onefold {

/// What all decoders do: one delivery is filled from one JSON object. The first defect counts; what
/// comes after it is still read, so that a person sees whose event is broken.
class Envelope {
 public:
  explicit Envelope(DecodeLimits limits) : limits_{limits}, document_{limits.json} {}

  /// Forgets the delivery's last event, but not its memory, and parses the bytes. Absent if they
  /// are no JSON object.
  std::optional<JsonValue> open(std::string_view bytes, Delivery& delivery);

  /// The defect's text is "CODE: why".
  void refuse(std::string_view defect);
  /// Null, absent and white space are no id (B12), and none is ever generated.
  void read_id(const std::optional<JsonValue>& value, IdType type, std::string& to);
  /// Assigns a string attribute. Null and absent leave it empty; `missing` is the defect if it must
  /// not be, and empty if it may.
  void read_text(const std::optional<JsonValue>& value, std::string_view missing, std::string& to);
  void read_time(const std::optional<JsonValue>& value, std::optional<Timestamp>& to);

 private:
  void check_id(const std::string& id);

  DecodeLimits limits_;
  JsonDocument document_;
  Delivery* delivery_ = nullptr;
};

}  // namespace onefold
