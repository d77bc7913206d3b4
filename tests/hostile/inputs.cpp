#include "tests/hostile/inputs.h"

#include <string_view>
#include <utility>

namespace onefold::hostile_rows {
namespace {

using namespace std::string_literals;

/// An id as JSON writes it, and what must become of it.
struct Id {
  const char* name;
  std::string json;
  std::string code;
  std::string id;
};

std::string quoted(const std::string& text) {
  return '"' + text + '"';
}

std::string repeated(std::string_view text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

Id accepted(const char* name, const std::string& text) {
  return {name, quoted(text), "", text};
}

std::vector<Id> missing() {
  return {
      {"H01_EmptyId", "\"\"", "ID_MISSING", ""},
      {"H01_NullId", "null", "ID_MISSING", ""},
      {"H01_IdOfSpaces", "\"   \"", "ID_MISSING", ""},
      {"H01_IdOfLineBreaks", R"("\r\n\t")", "ID_MISSING", ""},
  };
}

std::vector<Id> lengths() {
  return {
      accepted("H02_IdOf1Byte", "x"),
      accepted("H02_IdOf512Bytes", std::string(512, 'x')),
      accepted("H02_IdOf256CharactersIn512Bytes", repeated("\u00e9", 256)),
      {"H02_IdOf513Bytes", quoted(std::string(513, 'x')), "ID_TOO_LONG", ""},
      {"H02_IdOf257CharactersIn514Bytes", quoted(repeated("\u00e9", 257)), "ID_TOO_LONG", ""},
      // 3,072 characters as they are written, 512 bytes as they are read.
      {"H02_IdOf512BytesInEscapes", quoted(repeated(R"(\u0079)", 512)), "", std::string(512, 'y')},
      {"H02_IdOf1MegaByte", quoted(std::string(1'000'000, 'x')), "ID_TOO_LONG", ""},
  };
}

std::vector<Id> spellings() {
  return {
      accepted("H04_UpperCase", "Evt-1"),
      accepted("H04_LowerCase", "evt-1"),
      accepted("H04_ASpaceBehind", "evt-1 "),
      accepted("H04_ASpaceBefore", " evt-1"),
      accepted("H04_Composed", "\u00e9"),
      accepted("H04_Decomposed", "e\u0301"),
      accepted("H04_FullWidth", "\uff45vt-1"),
      accepted("H04_UuidInUpperCase", "123E4567-E89B-12D3-A456-426614174000"),
      accepted("H04_UuidInLowerCase", "123e4567-e89b-12d3-a456-426614174000"),
      accepted("H04_UuidInBraces", "{123e4567-e89b-12d3-a456-426614174000}"),
      accepted("H04_Ulid", "01ARZ3NDEKTSV4RRFFQ69G5FAV"),
      accepted("H04_UlidInLowerCase", "01arz3ndektsv4rrffq69g5fav"),
      accepted("H04_UlidBeyond128Bits", "81ARZ3NDEKTSV4RRFFQ69G5FAV"),
  };
}

std::vector<Id> control_characters() {
  return {
      {"H05_Zero", R"("a\u0000b")", "ID_NUL", ""},
      {"H05_OnlyZero", R"("\u0000")", "ID_NUL", ""},
      {"H05_LineBreak", R"("a\r\nb")", "", "a\r\nb"},
      {"H05_Tab", R"("a\tb")", "", "a\tb"},
      accepted("H05_DirectionOverride", "a\u202eb"),
      {"H05_DirectionOverrideEscaped", R"("b\u202ea")", "", "b\u202ea"},
      {"H05_TerminalEscape", R"("\u001b[31mred\u001b[0m\u0007")", "", "\x1b[31mred\x1b[0m\x07"},
      {"H05_Backspaces", R"("abc\b\b\bxyz\u007f")", "", "abc\b\b\bxyz\x7f"},
      {"H05_ControlOfLatin1", R"("\u0085\u009b31m")", "", "\u0085\u009b31m"},
      accepted("H05_ZeroInPercent", "a%00b"),
      {"H05_ZeroInText", R"("a\\u0000b")", "", R"(a\u0000b)"},
      accepted("H05_ZeroWidth", "a\u200bb"),
      {"H05_ControlCharacterNotEscaped", "\"a\tb\"", "BAD_JSON", ""},
      {"H05_ZeroNotEscaped", "\"a\0b\""s, "BAD_JSON", ""},
  };
}

std::vector<Id> encodings() {
  return {
      {"H06_InvalidUtf8", "\"a\xff\"", "BAD_UTF8", ""},
      {"H06_Latin1", "\"caf\xe9\"", "BAD_UTF8", ""},
      {"H06_CutUtf8", "\"\xe2\x82\"", "BAD_UTF8", ""},
      {"H06_OverlongSlash", "\"\xc0\xaf\"", "BAD_UTF8", ""},
      {"H06_OverlongZero", "\"\xc0\x80\"", "BAD_UTF8", ""},
      {"H06_SurrogateInUtf8", "\"\xed\xa0\x80\"", "BAD_UTF8", ""},
      {"H06_PairOfSurrogatesInUtf8", "\"\xed\xa0\xbd\xed\xb8\x80\"", "BAD_UTF8", ""},
      {"H06_BeyondUnicode", "\"\xf4\x90\x80\x80\"", "BAD_UTF8", ""},
      {"H06_LoneHighSurrogate", R"("\uD800")", "BAD_ESCAPE", ""},
      {"H06_LoneLowSurrogate", R"("\uDC00")", "BAD_ESCAPE", ""},
      {"H06_SurrogatesSwapped", R"("\uDE00\uD83D")", "BAD_ESCAPE", ""},
      {"H06_TwoHighSurrogates", R"("\uD83D\uD83D")", "BAD_ESCAPE", ""},
      {"H06_SurrogatePair", R"("\uD83D\uDE00")", "", "\U0001F600"},
      {"H06_UnknownEscape", R"("\x41")", "BAD_ESCAPE", ""},
      {"H06_CutEscape", R"("\u00")", "BAD_ESCAPE", ""},
      {"H06_EscapeThatIsNoHex", R"("\u00g0")", "BAD_ESCAPE", ""},
      accepted("H06_Noncharacter", "\uFFFE"),
      {"H06_NoncharacterEscaped", R"("b\uFFFE")", "", "b\uFFFE"},
      accepted("H06_ByteOrderMarkInside", "\uFEFFa"),
  };
}

std::vector<Id> types() {
  return {
      {"H07_Integer", "1", "ID_TYPE", ""},
      accepted("H07_IntegerAsText", "1"),
      {"H07_Fraction", "1.0", "ID_TYPE", ""},
      accepted("H07_FractionAsText", "1.0"),
      {"H07_Exponent", "1e0", "ID_TYPE", ""},
      {"H07_True", "true", "ID_TYPE", ""},
      accepted("H07_TrueAsText", "true"),
      accepted("H07_NullAsText", "null"),
      {"H07_Beyond53Bits", "9007199254740993", "ID_TYPE", ""},
      {"H07_Array", "[\"a\"]", "ID_TYPE", ""},
      {"H07_EmptyArray", "[]", "ID_TYPE", ""},
      {"H07_Object", "{}", "ID_TYPE", ""},
  };
}

std::vector<Id> injections() {
  return {
      accepted("H30_Sql", "'); DROP TABLE onefold_inbox;--"),
      accepted("H30_SqlOr", "1' OR '1'='1"),
      accepted("H30_Format", "%s%n%x {} {0} {{payload.x}}"),
      accepted("H30_Parameter", ":event_id"),
      accepted("H30_Like", "100%_"),
      accepted("H30_Path", "../../etc/passwd"),
      accepted("H30_Shell", "$(reboot) `reboot` | reboot"),
  };
}

std::vector<Id> ids() {
  std::vector<Id> all;
  for (const auto& group : {missing(), lengths(), spellings(), control_characters(), encodings(),
                            types(), injections()}) {
    all.insert(all.end(), group.begin(), group.end());
  }
  return all;
}

/// What is no acceptable JSON value, in the place of one: for H16 and its neighbours.
std::vector<std::pair<std::string, std::pair<std::string, std::string>>> values() {
  std::vector<std::pair<std::string, std::pair<std::string, std::string>>> all;
  const auto bad = [&](const char* name, std::string text, const char* code = "BAD_JSON") {
    all.emplace_back(name, std::pair{std::move(text), code});
  };
  bad("H06_BadUtf8InData", "\"\xff\"", "BAD_UTF8");
  bad("H06_LoneSurrogateInData", R"("\ud83d")", "BAD_ESCAPE");
  bad("H13_Depth100000", std::string(100'000, '[') + std::string(100'000, ']'), "TOO_DEEP");
  bad("H13_ObjectsOfDepth10000", repeated("{\"a\":", 10'000) + "1" + std::string(10'000, '}'),
      "TOO_DEEP");
  bad("H13_Depth65", std::string(64, '[') + std::string(64, ']'), "TOO_DEEP");
  bad("H13_Depth64", std::string(63, '[') + std::string(63, ']'), "");
  bad("H14_StringOf1MebiByte", quoted(std::string(1 << 20, 'x')), "TOO_LARGE");
  bad("H14_NumberOf1024Digits", std::string(1024, '7'), "");
  bad("H14_NumberOf1025Digits", std::string(1025, '7'), "NUMBER_TOO_LONG");
  bad("H14_NumberOf1000000Digits", std::string(1'000'000, '7'), "NUMBER_TOO_LONG");
  bad("H14_NumberOfZeros", "0." + std::string(100'000, '0') + "1", "NUMBER_TOO_LONG");
  bad("H14_LargeExponent", "1e999999999", "");
  bad("H16_NaN", "NaN");
  bad("H16_Infinity", "Infinity");
  bad("H16_MinusInfinity", "-Infinity");
  bad("H16_LineComment", "1 // one");
  bad("H16_Comment", "1 /* one */");
  bad("H16_TrailingCommaInArray", "[1,]");
  bad("H16_TrailingCommaInObject", "{\"a\":1,}");
  bad("H16_DoubleComma", "[1,,2]");
  bad("H16_LeadingComma", "[,1]");
  bad("H16_MissingComma", "[1 2]");
  bad("H16_MissingColon", "{\"a\" 1}");
  bad("H16_DoubleColon", "{\"a\"::1}");
  bad("H16_MissingValue", "{\"a\":}");
  bad("H16_MissingName", "{:1}");
  bad("H16_NumberAsName", "{1:1}");
  bad("H16_BareName", "{a:1}");
  bad("H16_SingleQuotes", "'a'");
  bad("H16_LeadingZero", "01");
  bad("H16_MinusLeadingZero", "-01");
  bad("H16_Plus", "+1");
  bad("H16_PointFirst", ".5");
  bad("H16_PointLast", "1.");
  bad("H16_OnlyMinus", "-");
  bad("H16_EmptyExponent", "1e");
  bad("H16_SignedEmptyExponent", "1e+");
  bad("H16_TwoExponents", "1e1e1");
  bad("H16_Hex", "0x10");
  bad("H16_FullWidthDigit", "\uff11");
  bad("H16_Separator", "1_000");
  bad("H16_True", "True");
  bad("H16_CutTrue", "tru");
  bad("H16_Undefined", "undefined");
  bad("H16_FormFeed", "\f1");
  bad("H16_NoBreakSpace", "\u00a0"s + "1");
  bad("H16_ByteOrderMarkInside", "\uFEFF"s + "1");
  bad("H16_Zero", "\0"s);
  bad("H16_ZeroBehind", "1\0"s);
  bad("H16_DuplicateMember", R"({"a":1,"a":2})", "DUPLICATE_KEY");
  bad("H16_DuplicateMemberEscaped", R"({"a":1,"\u0061":2})", "DUPLICATE_KEY");
  bad("H16_DuplicateEmptyMember", R"({"":1,"":2})", "DUPLICATE_KEY");
  return all;
}

std::string plain(const std::string& id, const std::string& more = "") {
  return R"({"type":"t","id":)" + id + more + "}";
}

std::string event(const std::string& id, const std::string& more = "") {
  return R"({"specversion":"1.0","source":"shop","type":"t","id":)" + id + more + "}";
}

bool is_paired(const std::string& code) {
  return code != "BAD_JSON";
}

/// The rows that do not depend on the format.
template <typename Write>
std::vector<Row> shared_rows(Write write) {
  std::vector<Row> rows;
  for (const Id& each : ids()) {
    rows.push_back({each.name, write(each.json, ""), each.code, each.id, is_paired(each.code)});
  }
  for (const auto& [name, value] : values()) {
    const auto& [text, code] = value;
    rows.push_back({name, write(quoted(name), ",\"data\":" + text), code, code.empty() ? name : "",
                    is_paired(code)});
  }
  const auto text = [&](const char* name, std::string bytes, const char* code,
                        bool paired = false) {
    rows.push_back({name, std::move(bytes), code, "", paired});
  };
  const std::string good = write("\"whole\"", "");
  text("H13_AMillionBrackets", std::string(1'000'000, '['), "TOO_DEEP");
  text("H14_AMillionMembers", "{" + repeated("\"a\":1,", 1'000'000) + "\"b\":1}", "TOO_LARGE",
       true);
  text("H14_Spaces", good + std::string(1 << 20, ' ') + "x", "TOO_LARGE");
  text("H16_TrailingGarbage", good + "x", "BAD_JSON");
  text("H16_TrailingBracket", good + "}", "BAD_JSON");
  text("H16_TrailingComma", good + ",", "BAD_JSON");
  text("H16_TwoDocuments", good + good, "BAD_JSON");
  text("H16_TwoDocumentsWithSpace", good + " " + good, "BAD_JSON");
  text("H16_CutDocument", good.substr(0, good.size() - 1), "BAD_JSON");
  text("H16_CutString", good.substr(0, good.size() - 2), "BAD_JSON");
  text("H16_OpenEscape", R"({"id":"a\)", "BAD_JSON");
  text("H16_OnlyABrace", "{", "BAD_JSON");
  text("H16_OnlyAQuote", "\"", "BAD_JSON");
  text("H16_ByteOrderMarkFirst", "\uFEFF" + good, "BAD_JSON");
  text("H16_Utf16", "{\0\"\0i\0d\0\"\0"s, "BAD_JSON");
  text("H16_NoObject", "\"a\"", "NOT_AN_OBJECT", true);
  text("H16_Null", "null", "NOT_AN_OBJECT", true);
  text("H16_Array", "[" + good + "]", "NOT_AN_OBJECT", true);
  text("H18_Avro", "Obj\x01\x04\x14" + "avro.codec\x08null"s, "BAD_JSON");
  text("H18_Protobuf", "\x08\x96\x01\x12\x07testing"s, "BAD_UTF8");
  text("H18_Gzip", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"s, "BAD_UTF8");
  text("H18_Xml", "<event id=\"a\"/>", "BAD_JSON");
  text("H18_Form", "id=a&type=t", "BAD_JSON");
  return rows;
}

}  // namespace

std::vector<Row> json_rows() {
  std::vector<Row> rows = shared_rows(plain);
  rows.push_back(
      {"H01_NoId", R"({"type":"t","ID":"a","Id":"b","event_id":"c"})", "ID_MISSING", ""});
  rows.push_back({"H01_IdInAnotherPlace", R"({"type":"t","data":{"id":"a"}})", "ID_MISSING", ""});
  rows.push_back({"H01_NoType", R"({"id":"no type"})", "TYPE_MISSING", ""});
  rows.push_back({"H16_TwoIds", R"({"type":"t","id":"a","id":"b"})", "DUPLICATE_KEY", ""});
  rows.push_back(
      {"H16_TwoIdsOneEscaped", R"({"type":"t","id":"a","\u0069d":"b"})", "DUPLICATE_KEY", ""});
  // The source is a constant of the configuration, whatever the body says.
  rows.push_back({"H19_ForgedSource",
                  R"({"type":"t","id":"forged","source":"bank","tenant":"other"})", "", "forged"});
  return rows;
}

std::vector<Row> cloudevents_rows() {
  std::vector<Row> rows = shared_rows(event);
  const auto row = [&](const char* name, const std::string& bytes, const char* code,
                       const char* id = "") { rows.push_back({name, bytes, code, id}); };
  const auto other = [&](const char* name, const std::string& members, const char* code) {
    row(name, R"({"id":"x","source":"shop","type":"t",)" + members + "}", code);
  };
  row("H01_NoId", R"({"specversion":"1.0","source":"shop","type":"t"})", "ID_MISSING");
  row("H01_NoSource", R"({"specversion":"1.0","id":"x","type":"t"})", "SOURCE_MISSING");
  row("H01_NoType", R"({"specversion":"1.0","id":"x","source":"shop"})", "TYPE_MISSING");
  row("H06_AnyBytesInBase64", event("\"binary\"", R"(,"data_base64":"AP/+7aCA")"), "", "binary");
  other("H17_NoVersion", R"("data":1)", "SPECVERSION");
  other("H17_Version03", R"("specversion":"0.3")", "SPECVERSION");
  other("H17_Version11", R"("specversion":"1.1")", "SPECVERSION");
  other("H17_VersionAsNumber", R"("specversion":1.0)", "SPECVERSION");
  other("H17_VersionWithSpace", R"("specversion":"1.0 ")", "SPECVERSION");
  row("H17_TwoData", event("\"x\"", R"(,"data":1,"data_base64":"AA==")"), "ENVELOPE_CONFLICT");
  row("H17_BadBase64", event("\"x\"", R"(,"data_base64":"A===")"), "ATTRIBUTE_TYPE");
  row("H17_Base64ForUrls", event("\"x\"", R"(,"data_base64":"-_8=")"), "ATTRIBUTE_TYPE");
  // Percent signs are a matter of headers; here they are what they look like.
  row("H17_Percent", event("\"a%20b%C3%A9\"", R"(,"subject":"%00")"), "", "a%20b%C3%A9");
  row("H17_HeaderSpelling", event("\"x\"", R"(,"ce-id":"y")"), "ATTRIBUTE_TYPE");
  row("H17_UpperCaseAttribute", event("\"x\"", R"(,"TraceParent":"y")"), "ATTRIBUTE_TYPE");
  row("H17_NestedAttribute", event("\"x\"", R"(,"trace":{"a":1})"), "ATTRIBUTE_TYPE");
  row("H17_TimeWithoutZone", event("\"x\"", R"(,"time":"2026-11-30T14:00:00")"), "TIME_FORMAT");
  row("H17_TimeThatIsNone", event("\"x\"", R"(,"time":"2026-02-30T25:61:00Z")"), "TIME_FORMAT");
  row("H18_UnknownContentType",
      event("\"avro\"", R"(,"datacontenttype":"application/avro","data_base64":"T2JqAQ==")"), "",
      "avro");
  row("H18_BytesThatClaimToBeJson",
      event("\"claim\"", R"(,"datacontenttype":"application/json","data_base64":"T2JqAQ==")"), "",
      "claim");
  row("H19_ForgedSource", event("\"forged\"", R"(,"tenant":"other")"), "", "forged");
  return rows;
}

}  // namespace onefold::hostile_rows
