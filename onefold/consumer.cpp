#include "onefold/consumer.h"

namespace onefold {

Consumer& Consumer::on(std::string type, Handler handle) {
  std::string handler_name = type;
  return on(HandlerSpec{.name = std::move(handler_name),
                        .type = std::move(type),
                        .version = 1,
                        .entity = {},
                        .handle = std::move(handle)});
}

Consumer& Consumer::on(HandlerSpec spec) {
  handlers.push_back(std::move(spec));
  return *this;
}

bool matches(std::string_view pattern, std::string_view type) noexcept {
  if (pattern.ends_with('*')) return type.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern == type;
}

}  // namespace onefold
