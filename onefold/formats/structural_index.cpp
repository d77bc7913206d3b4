#include "onefold/formats/structural_index.h"

#include <simdjson.h>

#include <algorithm>
#include <new>

namespace onefold {

static_assert(StructuralIndex::padding_bytes >= simdjson::SIMDJSON_PADDING);

struct StructuralIndex::Engine {
  std::unique_ptr<simdjson::internal::dom_parser_implementation> parser;
};

StructuralIndex::StructuralIndex() : engine_{std::make_unique<Engine>()} {}
StructuralIndex::~StructuralIndex() = default;

StructuralIndex::Finding StructuralIndex::read(std::string_view padded_text) {
  if (padded_text.empty()) return Finding::empty;
  auto& parser = engine_->parser;
  if (!parser || parser->capacity() < padded_text.size()) {
    const std::size_t capacity = std::max<std::size_t>(4096, padded_text.size() * 2);
    // Nesting is counted by the user of the tokens: the engine needs no room for it.
    if (simdjson::get_active_implementation()->create_dom_parser_implementation(
            capacity, 1, parser) != simdjson::SUCCESS) {
      throw std::bad_alloc{};
    }
  }
  switch (parser->stage1(reinterpret_cast<const std::uint8_t*>(padded_text.data()),
                         padded_text.size(), simdjson::stage1_mode::regular)) {
    case simdjson::SUCCESS:
      return Finding::fine;
    case simdjson::UTF8_ERROR:
      return Finding::bad_utf8;
    case simdjson::UNCLOSED_STRING:
      return Finding::unclosed_string;
    case simdjson::UNESCAPED_CHARS:
      return Finding::control_character;
    default:
      return Finding::empty;
  }
}

std::span<const std::uint32_t> StructuralIndex::starts() const noexcept {
  const auto& parser = engine_->parser;
  return {parser->structural_indexes.get(), parser->n_structural_indexes};
}

}  // namespace onefold
