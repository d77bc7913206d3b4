#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "onefold/daemon/config.h"
#include "onefold/daemon/config_sample.h"

namespace onefold {
namespace {

struct Broken {
  const char* name;
  std::size_t line;  ///< Which line of `good` is replaced.
  const char* replacement;
  const char* where;  ///< "line:column" of the one problem that is expected.
  const char* text;   ///< A part of its text.
  const char* hint;   ///< A part of its hint; empty: any.
};

std::ostream& operator<<(std::ostream& out, const Broken& broken) {
  return out << broken.name;
}

class BrokenConfig : public testing::TestWithParam<Broken> {};

TEST_P(BrokenConfig, IsOneProblemWithItsPlaceAndHint) {
  const Broken& broken = GetParam();
  const LoadedConfig loaded = parse_config(with_line(broken.line, broken.replacement), "a.toml");
  ASSERT_EQ(loaded.problems.size(), 1U) << shown(loaded);
  const ConfigProblem& problem = loaded.problems.front();
  EXPECT_EQ(to_string(problem.place, "a.toml"), std::string{"a.toml:"} + broken.where)
      << shown(loaded);
  EXPECT_NE(problem.text.find(broken.text), std::string::npos) << shown(loaded);
  EXPECT_NE(problem.hint.find(broken.hint), std::string::npos) << shown(loaded);
}

constexpr Broken roots[] = {
    {"UnknownRootKey", 1, "config_version = 1\nbatch = 3", "2:1",
     "unknown key \"batch\" in the file",
     "the keys here are config_version, state_folder, store, source, consumer"},
    {"NewerVersion", 1, "config_version = 2", "1:18", "config_version = 1 only", "update this one"},
    {"VersionAsText", 1, "config_version = \"1\"", "1:18", "config_version = 1 only",
     "write config_version = 1"},
    {"MissingVersion", 1, "", "1:1", "needs the key \"config_version\"", "config_version = 1"},
    {"SyntaxError", 3, "url = sqlite:shop.db", "3:7", "this is not TOML", "put text in quotes"},
    {"OpenString", 3, "url = \"sqlite:shop.db", "3:22", "this is not TOML",
     "is the closing quote missing?"},
    {"OpenLiteralString", 3, "url = 'sqlite:shop.db", "3:22", "this is not TOML",
     "is the closing quote missing?"},
    {"BracketsTooMany", 4, "[[[source.orders]]]", "4:3", "this is not TOML", "toml.io"},
    {"HandlerTwiceInOneBracket", 14,
     "[consumer.billing.handler]\nname = \"a\"\n[consumer.billing.handler]", "16:1",
     "this is not TOML", "write [[consumer.billing.handler]], with two brackets"},
    {"DuplicateKey", 3, "url = \"sqlite:a\"\nurl = \"sqlite:b\"", "4:7", "this is not TOML", ""},
    {"DuplicateTable", 4, "[source.orders]\nkind = \"stdin\"\n[source.orders]", "6:1",
     "this is not TOML", ""},
};

constexpr Broken stores[] = {
    {"UnknownStore", 3, "url = \"oracle:shop\"", "3:7",
     "must begin with sqlite:", "sqlite:shop.db"},
    {"UrlLikeAWebAddress", 3, "url = \"sqlite://shop.db\"", "3:7", "without //", "sqlite:shop.db"},
    {"NoPath", 3, "url = \"sqlite:\"", "3:7", "path after sqlite: is missing", "sqlite:shop.db"},
    {"InMemory", 3, "url = \"sqlite::memory:\"", "3:7", "ordinary file", "sqlite:shop.db"},
    {"MissingUrl", 3, "", "2:1", "[store] needs the key \"url\"", "sqlite:shop.db"},
    {"MistypedUrlKey", 3, "url = \"sqlite:a\"\nulr = \"sqlite:b\"", "4:1", "unknown key \"ulr\"",
     "did you mean \"url\"?"},
    {"UrlAsNumber", 3, "url = 5", "3:7", "\"url\" must be a string, not an integer", ""},
};

constexpr Broken sources[] = {
    {"SourceName", 4,
     "[source.\"Or ders\"]\nkind = \"stdin\"\nformat = \"cloudevents\"\n"
     "[source.orders]",
     "4:9", "source name \"Or ders\" is not usable", "a-z"},
    {"UnknownKind", 5, "kind = \"files\"", "5:8", "must be \"file\" or \"stdin\"",
     "did you mean \"file\"?"},
    {"MissingPath", 6, "", "4:1", "needs the key \"path\"", "path = \"orders.jsonl\""},
    {"EmptyPath", 6, "path = \"\"", "6:8", "must not be empty", ""},
    {"DashPath", 6, "path = \"-\"", "6:8", "is not a file", "kind = \"stdin\""},
    {"UnknownFormat", 7, "format = \"jason\"", "7:10", "must be \"cloudevents\" or \"json\"",
     "did you mean \"json\"?"},
    {"MissingFormat", 7, "", "4:1", "needs the key \"format\"", ""},
    {"MissingIdentity", 8, "", "4:1", "needs the key \"identity\"", "event_id"},
    {"MissingIdentityType", 8, "identity = { id = \"/event_id\", source = \"literal:shop\" }",
     "8:12", "needs the key \"type\"", "identity = {"},
    {"BadIdentityPointer", 8,
     "identity = { id = \"event_id\", source = \"literal:shop\", type = \"/type\" }", "8:19", "id",
     "/event_id"},
    {"LiteralId", 8,
     "identity = { id = \"literal:x\", source = \"literal:shop\", type = \"/type\" }", "8:19", "id",
     "the JSON Pointer of the event's id"},
    {"LiteralTime", 8,
     "identity = { id = \"/id\", source = \"/s\", type = \"/type\", time = \"literal:x\" }", "8:64",
     "identity.time", "the JSON Pointer of the event's time"},
    {"UnknownIdentityKey", 8,
     "identity = { id = \"/id\", source = \"literal:shop\", type = \"/type\", subjet = \"/s\" }",
     "8:67", "unknown key \"subjet\"", "did you mean \"subject\"?"},
    {"UnknownIdType", 8,
     "identity = { id = \"/id\", source = \"literal:a\", type = \"/t\", id_type = \"int\" }",
     "8:71", "must be \"string\" or \"integer\"", ""},
    {"EmptyPrefix", 8,
     "identity = { id = \"/id\", source = \"literal:a\", type = \"/t\", id_prefix = \"\" }", "8:73",
     "1 to 64 printable bytes", "evt_"},
    {"FollowAsText", 9, "follow = \"yes\"", "9:10", "must be true or false, not a string", ""},
    {"UnknownSourceKey", 9, "folow = true", "9:1", "unknown key \"folow\" in [source.orders]",
     "did you mean \"follow\"?"},
};

constexpr Broken consumers[] = {
    {"UnknownSource", 11, "sources = [\"order\"]", "11:12", "there is no [source.order]",
     "did you mean \"orders\"?"},
    {"SourceTwice", 11, "sources = [\"orders\", \"orders\"]", "11:22", "stands here twice", ""},
    {"NoSources", 11, "sources = []", "11:11", "must not be empty", ""},
    {"SourceAsNumber", 11, "sources = [7]", "11:12", "must hold strings only, not an integer", ""},
    {"MissingSources", 11, "", "10:1", "needs the key \"sources\"", "sources = [\"orders\"]"},
    {"BatchZero", 12, "batch_max = 0", "12:13", "between 1 and 10000, not 0", ""},
    {"BatchTooLarge", 12, "batch_max = 10001", "12:13", "between 1 and 10000, not 10001", ""},
    {"BatchNegative", 12, "batch_max = -5", "12:13", "between 1 and 10000, not -5", ""},
    {"BatchFraction", 12, "batch_max = 5.0", "12:13", "must be an integer, not a number", ""},
    {"BatchAsText", 12, "batch_max = \"500\"", "12:13", "must be an integer, not a string", ""},
    {"MistypedBatch", 12, "batchmax = 500", "12:1", "unknown key \"batchmax\" in",
     "did you mean \"batch_max\"?"},
    {"AttemptsZero", 12, "retry.attempts = 0", "12:18", "between 1 and 1000", ""},
    {"AttemptsMoved", 12, "attempts = 3", "12:1", "unknown key \"attempts\"", ""},
    {"FactorText", 12, "retry.factor = \"2\"", "12:16", "must be a number", ""},
    {"JitterTooLarge", 12, "retry.jitter = 1.5", "12:16", "between 0 and 1", ""},
    {"LongestTooShort", 12, "retry = { initial = \"2s\", max = \"1s\" }", "12:33",
     "is shorter than the first one", "raise \"max\""},
    {"UnknownClass", 12, "retry.permanent = [\"constraints\"]", "12:20", "knows ",
     "did you mean \"constraint\"?"},
    {"WindowTooSmall", 12, "breaker.window = 25", "12:18", "25 failures cannot be among 25",
     "must be less than"},
    {"FailuresTooMany", 12, "breaker.failures = 50", "12:20", "50 failures cannot be among 50",
     "must be less than"},
    {"EntityTwice", 20,
     "entity = \"/b\"\n[consumer.billing.order]\nentity = \"/a\"\npolicy = \"none\"", "20:10",
     "has an \"entity\" of its own", "remove it here"},
    {"OrderOfVersions", 12, "order = { entity = \"/a\", policy = \"latest\" }", "12:35",
     "must be \"none\"", ""},
    {"OrderWithoutPolicy", 12, "order.entity = \"/a\"", "12:1", "needs the key \"policy\"",
     "policy = \"none\""},
    {"UnknownKeyRule", 13, "key = \"business\"", "13:7",
     "\"key\" must be \"event\", or a name with pointers", "payment_id"},
    {"UnknownUnsupported", 13, "unsupported = \"ignor\"", "13:15",
     "must be \"dead-letter\" or \"ignore\"", "did you mean \"ignore\"?"},
    {"UnknownConflict", 13, "on_conflict = \"overwrite\"", "13:15", "must be \"dead-letter\"", ""},
    {"UnknownClaim", 13, "claim = \"last\"", "13:9",
     "must be \"auto\", \"first\" or \"optimistic\"", ""},
    {"ConsumerName", 10,
     "[consumer.\"Bill\"]\nsources = [\"orders\"]\nhandler = [{ name = \"h\", type = \"*\", sql = "
     "\"DELETE FROM t\" }]\n[consumer.billing]",
     "10:11", "is not usable", ""},
};

constexpr Broken handlers[] = {
    {"HandlerName", 15, "name = \"Credit!\"", "15:8", "handler name \"Credit!\" is not usable", ""},
    {"MissingName", 15, "", "14:1", "needs the key \"name\"", "name = \"credit\""},
    {"StarInside", 16, "type = \"payment.*.received\"", "16:8", "only stand at the end",
     "payment.*"},
    {"TwoStars", 16, "type = \"payment.**\"", "16:8", "only stand at the end", ""},
    {"EmptyType", 16, "type = \"\"", "16:8", "must not be empty", "\"*\""},
    {"MissingType", 16, "", "14:1", "needs the key \"type\"", "payment.received"},
    {"VersionZero", 17, "version = 0", "17:11", "between 1 and 2147483647", ""},
    {"VersionTooLarge", 17, "version = 2147483648", "17:11", "between 1 and 2147483647", ""},
    {"BadEntity", 17, "entity = \"account\"", "17:10", "is no JSON Pointer", "/order/id"},
    {"UnknownHandlerKey", 17, "expect_row = 1", "17:1",
     "unknown key \"expect_row\" in the handler \"credit\"", "did you mean \"expect_rows\"?"},
    {"BadPointer", 18, "params = { account = { at = \"account\", type = \"int64\" } }", "18:29",
     "is no JSON Pointer", "begins with a slash"},
    {"BadPointerEscape", 18, "params = { account = { at = \"/a~2\", type = \"int64\" } }", "18:29",
     "is no JSON Pointer", ""},
    {"UnknownFieldType", 18, "params = { account = { at = \"/account\", type = \"int\" } }",
     "18:48", "\"int\" is not a type of parameters", "the types here are int64, text"},
    {"MistypedFieldType", 18, "params = { account = { at = \"/account\", type = \"decimel\" } }",
     "18:48", "\"decimel\" is not a type", "did you mean \"decimal\"?"},
    {"MissingFieldType", 18, "params = { account = { at = \"/account\" } }", "18:22",
     "needs the key \"type\"", "int64"},
    {"ParameterAsText", 18, "params = { account = \"/account\" }", "18:22",
     "must be a table, not a string", "account = { at"},
    {"UnknownParameterKey", 18,
     "params = { account = { at = \"/account\", type = \"int64\", requird = false } }", "18:57",
     "unknown key \"requird\"", "did you mean \"required\"?"},
    {"UnusedParameter", 18,
     "params = { account = { at = \"/a\", type = \"int64\" }, amount = { at = \"/b\", type = "
     "\"int64\" } }",
     "18:53", "no statement uses the parameter \"amount\"", ":amount"},
    {"BuiltInParameter", 18,
     "params = { account = { at = \"/a\", type = \"int64\" }, data = { at = \"/b\", type = "
     "\"json\" } }",
     "18:53", "is built in", "another name"},
    {"ParameterName", 18,
     "params = { account = { at = \"/a\", type = \"int64\" }, \"a-b\" = { at = \"/b\", type = "
     "\"int64\" } }",
     "18:53", "cannot be the name of a parameter", ""},
    {"UndefinedParameter", 19,
     "sql = [\"DELETE FROM a WHERE b = :account\", \"DELETE FROM a WHERE b = :acount\"]", "19:44",
     "statement 2 uses :acount", "did you mean \"account\"?"},
    {"SeveralStatements", 19,
     "sql = [\"DELETE FROM a WHERE b = :account; DELETE FROM c\", \"DELETE FROM b\"]", "19:8",
     "statement 1: there are several statements", ""},
    {"NoStatement", 19, "sql = [\"INSERT INTO a VALUES (:account)\", \"-- nothing\"]", "19:43",
     "statement 2: there is no statement", ""},
    {"EmptySql", 19, "sql = []\n#", "19:7", "\"sql\" must not be empty", ""},
    {"Commit", 19, "sql = [\"INSERT INTO a VALUES (:account)\", \"COMMIT\"]", "19:43",
     "COMMIT cannot be used in a handler", ""},
    {"PragmaInLineTwo", 19, "sql = [\"INSERT INTO a VALUES (:account)\", '''\n  PRAGMA foo''']",
     "19:43", "PRAGMA cannot be used", ""},
    {"OpenQuote", 19, "sql = [\"INSERT INTO a VALUES (:account)\", \"DELETE FROM a WHERE b = 'c\"]",
     "19:43", "a quote (') has no end", ""},
    {"QuestionMark", 19,
     "sql = [\"INSERT INTO a VALUES (:account)\", \"DELETE FROM a WHERE b = ?\"]", "19:43",
     "write parameters as :name, not with ?", ""},
    {"ExpectTooFew", 20, "expect_rows = [1]", "20:15", "has 1 count, but \"sql\" has 2 statements",
     "\"any\""},
    {"ExpectNumberForTwo", 20, "expect_rows = 1", "20:15", "must be an array here", ""},
    {"ExpectNegative", 20, "expect_rows = [1, -1]", "20:19", "an integer from 0, or \"any\"", ""},
    {"ExpectWord", 20, "expect_rows = [1, \"many\"]", "20:19", "an integer from 0, or \"any\"", ""},
    {"SameNameTwice", 20,
     "[[consumer.billing.handler]]\nname = \"credit\"\ntype = \"*\"\nsql = \"DELETE FROM a\"",
     "21:8", "another handler named \"credit\"", "each needs its own"},
};

INSTANTIATE_TEST_SUITE_P(Root, BrokenConfig, testing::ValuesIn(roots),
                         [](const auto& each) { return std::string{each.param.name}; });
INSTANTIATE_TEST_SUITE_P(Store, BrokenConfig, testing::ValuesIn(stores),
                         [](const auto& each) { return std::string{each.param.name}; });
INSTANTIATE_TEST_SUITE_P(Source, BrokenConfig, testing::ValuesIn(sources),
                         [](const auto& each) { return std::string{each.param.name}; });
INSTANTIATE_TEST_SUITE_P(Consumer, BrokenConfig, testing::ValuesIn(consumers),
                         [](const auto& each) { return std::string{each.param.name}; });
INSTANTIATE_TEST_SUITE_P(Handler, BrokenConfig, testing::ValuesIn(handlers),
                         [](const auto& each) { return std::string{each.param.name}; });

}  // namespace
}  // namespace onefold
