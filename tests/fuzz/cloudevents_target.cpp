#include <algorithm>
#include <string>

#include "onefold/formats/decoder.h"
#include "onefold/formats/fingerprint.h"
#include "tests/fuzz/deliveries.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/targets.h"

namespace onefold::fuzz {
namespace {

void check_headers(const Headers& headers) {
  for (const auto& [name, value] : headers) {
    require(name.starts_with("ce-") && name.size() > 3, "an extension is named ce-NAME");
    require(std::all_of(name.begin() + 3, name.end(),
                        [](char byte) {
                          return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9');
                        }),
            "an extension's name is plain");
    require(value.find('\0') == std::string::npos, "no extension holds U+0000");
  }
}

/// The order of members, white space and escapes mean nothing.
void check_rewritten(const Delivery& delivery, Decoder& decoder) {
  JsonDocument document;
  require(document.parse(delivery.raw), "an event is JSON");
  Delivery again;
  const std::string text = rewritten(document.root(), seed_of(delivery.raw));
  if (text.size() > DecodeLimits{}.event_bytes_max) return;
  decoder.decode(text, again);
  require(again.defect.empty(), "an event that is written anew is an event");
  Headers one = delivery.event.headers;
  Headers other = again.event.headers;
  std::ranges::sort(one);
  std::ranges::sort(other);
  require(one == other, "with the same extensions");
  const Event& a = delivery.event;
  const Event& b = again.event;
  require(a.id == b.id && a.source == b.source && a.type == b.type && a.subject == b.subject &&
              a.time == b.time && a.content_type == b.content_type,
          "with the same attributes");
  require(a.data.has_value() == b.data.has_value(), "with data or without");
  // Structured data of a type that is not JSON counts by its bytes, which were written anew.
  const auto data = document.root().member("data");
  const bool by_bytes = data && data->kind() != JsonKind::string && !is_json(a.content_type);
  Fingerprinter fingerprinter;
  require(by_bytes || fingerprinter.of(a) == fingerprinter.of(b), "with the same fingerprint");
}

}  // namespace

void cloudevents(std::string_view bytes) {
  static const auto used = open_cloudevents_decoder();
  Delivery reused;
  reused.event.headers.emplace_back("left", "over");
  reused.event.data = "left over";
  used->decode(bytes, reused);
  require_sound(reused, bytes);
  Delivery fresh;
  open_cloudevents_decoder()->decode(bytes, fresh);
  require(same(fresh, reused), "nothing of an earlier event is left");
  if (!reused.defect.empty()) return;
  check_headers(reused.event.headers);
  check_rewritten(reused, *used);
}

}  // namespace onefold::fuzz
