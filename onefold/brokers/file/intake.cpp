#include "onefold/brokers/file/intake.h"

#include <fmt/format.h>

#include <utility>

namespace onefold::file {

Intake::Intake(const Options& options)
    : decoder_{options.format == Format::json ? open_json_decoder(options.identity, options.limits)
                                              : open_cloudevents_decoder(options.limits)},
      document_{options.limits.json},
      event_bytes_max_{options.limits.event_bytes_max},
      id_from_position_{options.format == Format::json && options.identity.id == id_from_position} {
}

void Intake::deliver(const Element& element, Delivery& delivery) {
  if (element.fault == Fault::none) {
    decoder_->decode(element.bytes, delivery);
    return;
  }
  delivery.raw = element.bytes;
  if (element.fault == Fault::too_large) {
    delivery.raw += fmt::format("\n[cut: {} bytes, sha256 {}]", element.size, element.digest);
  }
  delivery.defect =
      element.fault == Fault::too_large
          ? fmt::format("TOO_LARGE: {} bytes at offset {}, the limit is {}; the first {} are kept",
                        element.size, element.at, event_bytes_max_, element.bytes.size())
          : fmt::format("BAD_JSON: {} bytes at offset {} stand outside of the arrays", element.size,
                        element.at);
}

void Intake::place(Delivery& delivery, Position position) const {
  if (id_from_position_ && delivery.defect.empty()) {
    // The name of the source is a part: two files with the same bytes are two logs.
    delivery.event.id = fmt::format("{}:{}:{}", position.partition->source,
                                    position.partition->incarnation, position.at.low);
  }
  delivery.position = std::move(position);
}

bool Intake::is_complete(const Element& element) {
  return element.fault == Fault::none && document_.parse(element.bytes);
}

std::string describe(const Rest& rest, const std::string& path) {
  switch (rest.ending) {
    case Ending::clean:
      break;
    case Ending::last_line:
      return fmt::format(
          "{}: the last line, {} bytes at offset {}, has no line end and is not a complete JSON "
          "value: it was left unread; complete or remove it, then run again",
          path, rest.element.size, rest.element.at);
    case Ending::cut_short:
      return fmt::format(
          "{}: the file ends within the element at offset {}, after {} bytes of it: it was left "
          "unread; bring the whole file, then run again",
          path, rest.element.at, rest.element.size);
    case Ending::open_array:
      return fmt::format(
          "{}: the file ends at offset {} without the closing bracket of its array: all elements "
          "before were read, but more may be missing; bring the whole file, then run again",
          path, rest.element.at);
  }
  return {};
}

std::string describe_stuck(const Rest& rest, const std::string& path) {
  if (rest.stray) {
    return fmt::format(
        "{}: {} bytes at offset {} stand outside of the arrays of which this file is made: nothing "
        "is read before the next array begins; if these are lines, give them a file of their own",
        path, rest.element.size, rest.element.at);
  }
  return fmt::format(
      "{}: the element at offset {} has not ended after {} bytes: nothing is read before it does",
      path, rest.element.at, rest.element.size);
}

}  // namespace onefold::file
