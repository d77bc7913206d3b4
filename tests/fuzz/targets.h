#pragma once

#include <string_view>

/// What is fuzzed: each function reads any bytes, and aborts the process if a property of what they
/// are read with does not hold. The same functions read the committed corpora in every test run.
namespace onefold::fuzz {

/// JSON text: the parser, the decoder, typed fields and fingerprints.
void json(std::string_view bytes);
/// One structured CloudEvent.
void cloudevents(std::string_view bytes);
/// A configuration file.
void config(std::string_view bytes);
/// A handler's statement. SQLite is the judge.
void sql(std::string_view bytes);
/// A file of events. Its first three bytes say how it is read.
void splitter(std::string_view bytes);

}  // namespace onefold::fuzz
