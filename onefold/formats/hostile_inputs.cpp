#include "onefold/formats/hostile_inputs.h"

namespace onefold::hostile {
namespace {

std::string letters(std::size_t size) {
  return std::string(size, 'x');
}

}  // namespace

std::vector<Input> ids() {
  return {
      {"B12 empty id", "\"\"", "ID_MISSING"},
      {"B12 null id", "null", "ID_MISSING"},
      {"B12 id of spaces", "\"  \"", "ID_MISSING"},
      {"B12 id of white space", R"("\t\r\n ")", "ID_MISSING"},
      {"id of 1 byte", "\"x\"", ""},
      {"id of 512 bytes", '"' + letters(512) + '"', ""},
      {"id of 513 bytes", '"' + letters(513) + '"', "ID_TOO_LONG"},
      {"id of 512 characters in 1024 bytes",
       '"' +
           [] {
             std::string text;
             for (int count = 0; count < 512; ++count) text += "\u00e9";
             return text;
           }() +
           '"',
       "ID_TOO_LONG"},
      {"id of 1,000,000 bytes", '"' + letters(1'000'000) + '"', "ID_TOO_LONG"},
      {"B29 number", "1", "ID_TYPE"},
      {"B29 number beyond 2^53", "5000000001443512100", "ID_TYPE"},
      {"B29 fraction", "1.0", "ID_TYPE"},
      {"B29 exponent", "1e0", "ID_TYPE"},
      {"B29 true", "true", "ID_TYPE"},
      {"B29 false", "false", "ID_TYPE"},
      {"array", "[\"x\"]", "ID_TYPE"},
      {"object", "{}", "ID_TYPE"},
      {"B29 number in a string", "\"1\"", ""},
      {"B11 NUL", R"("x\u0000y")", "ID_NUL"},
      {"B11 only NUL", R"("\u0000")", "ID_NUL"},
      {"B11 the text of an escape", R"("x\\u0000y")", ""},
      {"B11 lone surrogate", R"("\ud83d")", "BAD_ESCAPE"},
      {"invalid UTF-8", "\"\xff\"", "BAD_UTF8"},
      {"line breaks", R"("a\r\nb")", ""},
      {"a tab", R"("a\tb")", ""},
      {"direction override", "\"a\u202eb\"", ""},
      {"terminal escape", R"("\u001b[31m")", ""},
      {"percent sign", R"("a%00b")", ""},
      {"a space behind", R"("evt-1 ")", ""},
      {"a noncharacter", "\"\uFFFE\"", ""},
      {"SQL", R"("'); DROP TABLE inbox;--")", ""},
  };
}

std::string_view code_of(const Delivery& delivery) {
  return std::string_view{delivery.defect}.substr(0, delivery.defect.find(':'));
}

}  // namespace onefold::hostile
