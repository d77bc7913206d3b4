#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "onefold/event.h"
#include "onefold/formats/json.h"

namespace onefold {

struct DecodeLimits {
  std::size_t event_bytes_max = 1 << 20;  ///< Of one event as it came.
  std::size_t id_bytes_max = 512;
  JsonLimits json = {};
};

/// Turns the bytes of one delivery into an event. Used by one thread.
class Decoder {
 public:
  virtual ~Decoder() = default;
  /// Fills `delivery.event` from `bytes`, or `delivery.defect` with "CODE: why" and whatever could
  /// be read of the event. Sets `delivery.raw` in both cases. Never throws for what the bytes
  /// contain.
  ///
  /// Codes besides those of `JsonDocument`: TOO_LARGE, NOT_AN_OBJECT, ID_MISSING (also null or
  /// empty, B12), ID_TOO_LONG, ID_TYPE (only strings are ids, B29), ID_RANGE, ID_NUL (B11),
  /// SOURCE_MISSING, TYPE_MISSING, ATTRIBUTE_TYPE, TIME_FORMAT, SPECVERSION, ENVELOPE_CONFLICT.
  virtual void decode(std::string_view bytes, Delivery& delivery) = 0;
};

/// CloudEvents 1.0, JSON format, one structured event. Extension attributes become headers named
/// `ce-NAME` with their canonical string. `data` keeps its bytes; `data_base64` is decoded.
std::unique_ptr<Decoder> open_cloudevents_decoder(DecodeLimits limits = {});

enum class IdType { string, integer };

/// Where a plain JSON object carries its identity. A rule is a JSON Pointer ("/event_id") or a
/// constant ("literal:shop"); an empty rule means absent.
struct IdentityRule {
  /// A pointer; or `id_from_bytes`, for events that have no id and never differ in a byte when they
  /// are repeated; or `id_from_position`, for logs that only grow: the source that reads the log
  /// fills it in. There is no generated identity.
  std::string id = {};
  std::string source = {};  ///< Required.
  std::string type = {};    ///< Required.
  std::string subject = {};
  std::string time = {};            ///< RFC 3339 text.
  IdType id_type = IdType::string;  ///< integer: an exact 64-bit integer token, kept as its digits.
};

/// The id is the SHA-256 of the event's bytes, in hexadecimal digits.
inline constexpr std::string_view id_from_bytes = "body-hash";
/// The id is the name of the source, and the incarnation and offset of the event in its log.
inline constexpr std::string_view id_from_position = "position";

/// Why a rule cannot be used, naming the field; empty if it can.
std::string identity_defect(const IdentityRule& rule);

/// Plain JSON objects; the whole object is the event's data.
std::unique_ptr<Decoder> open_json_decoder(const IdentityRule& rule, DecodeLimits limits = {});

}  // namespace onefold
