#include <benchmark/benchmark.h>

#include <string>
#include <string_view>

#include "onefold/formats/decoder.h"
#include "onefold/formats/fields.h"
#include "onefold/formats/fingerprint.h"
#include "onefold/runtime/key_rule.h"

/// What one core does to an event before any database sees it. The goal is 500,000 events/s for
/// "decode and key" of an event of 150 bytes.
namespace {

constexpr std::string_view plain_event =
    R"({"event_id":"evt_8f14e45f-ceea-467f-a0e6-b1a5a1c1d001","type":"payment.received",)"
    R"("account_id":4711,"amount":1999,"currency":"EUR","note":"order 52"})";

constexpr std::string_view cloud_event =
    R"({"specversion":"1.0","id":"evt-000000004711","source":"/shop","type":"payment.received",)"
    R"("time":"2026-11-30T14:00:00Z","data":{"account_id":4711,"amount":19}})";

std::unique_ptr<onefold::Decoder> open(const std::string& format) {
  if (format == "cloudevents") return onefold::open_cloudevents_decoder();
  return onefold::open_json_decoder({.id = "/event_id", .source = "literal:shop", .type = "/type"});
}

std::string_view sample(const std::string& format) {
  return format == "cloudevents" ? cloud_event : plain_event;
}

void count_events(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations());
}

void parse(benchmark::State& state, const std::string& format) {
  onefold::JsonDocument document;
  for (auto _ : state) benchmark::DoNotOptimize(document.parse(sample(format)));
  count_events(state);
}

void decode(benchmark::State& state, const std::string& format) {
  const auto decoder = open(format);
  onefold::Delivery delivery;
  for (auto _ : state) {
    decoder->decode(sample(format), delivery);
    benchmark::DoNotOptimize(delivery.event.id.data());
  }
  if (!delivery.defect.empty()) state.SkipWithError(delivery.defect.c_str());
  count_events(state);
}

void decode_into_new_deliveries(benchmark::State& state, const std::string& format) {
  const auto decoder = open(format);
  for (auto _ : state) {
    onefold::Delivery delivery;
    decoder->decode(sample(format), delivery);
    benchmark::DoNotOptimize(delivery.event.id.data());
  }
  count_events(state);
}

void decode_and_key(benchmark::State& state, const std::string& format) {
  const auto decoder = open(format);
  const onefold::KeyRule rule;
  onefold::Delivery delivery;
  for (auto _ : state) {
    decoder->decode(sample(format), delivery);
    benchmark::DoNotOptimize(rule.of_id(delivery.event.id).bytes);
  }
  count_events(state);
}

void decode_key_and_fingerprint(benchmark::State& state, const std::string& format) {
  const auto decoder = open(format);
  const onefold::KeyRule rule;
  onefold::Fingerprinter fingerprinter;
  onefold::Delivery delivery;
  for (auto _ : state) {
    decoder->decode(sample(format), delivery);
    benchmark::DoNotOptimize(rule.of_id(delivery.event.id).bytes);
    benchmark::DoNotOptimize(fingerprinter.of(delivery.event));
  }
  count_events(state);
}

void fingerprint(benchmark::State& state, const std::string& format) {
  onefold::Delivery delivery;
  open(format)->decode(sample(format), delivery);
  onefold::Fingerprinter fingerprinter;
  for (auto _ : state) benchmark::DoNotOptimize(fingerprinter.of(delivery.event));
  count_events(state);
}

void key(benchmark::State& state, const std::string& id) {
  const onefold::KeyRule rule{{"evt_"}};
  for (auto _ : state) benchmark::DoNotOptimize(rule.of_id(id).bytes);
  count_events(state);
}

void two_fields(benchmark::State& state) {
  onefold::Delivery delivery;
  open("json")->decode(plain_event, delivery);
  for (auto _ : state) {
    const onefold::Fields fields{delivery.event};
    benchmark::DoNotOptimize(fields.int64("/account_id") + fields.int64("/amount"));
  }
  count_events(state);
}

BENCHMARK_CAPTURE(parse, json, "json");
BENCHMARK_CAPTURE(parse, cloudevents, "cloudevents");
BENCHMARK_CAPTURE(decode, json, "json");
BENCHMARK_CAPTURE(decode, cloudevents, "cloudevents");
BENCHMARK_CAPTURE(decode_into_new_deliveries, json, "json");
BENCHMARK_CAPTURE(decode_into_new_deliveries, cloudevents, "cloudevents");
BENCHMARK_CAPTURE(key, uuid, "8f14e45f-ceea-467f-a0e6-b1a5a1c1d001");
BENCHMARK_CAPTURE(key, uuid_behind_a_prefix, "evt_8f14e45f-ceea-467f-a0e6-b1a5a1c1d001");
BENCHMARK_CAPTURE(key, ulid, "01ARZ3NDEKTSV4RRFFQ69G5FAV");
BENCHMARK_CAPTURE(key, hashed, "order-000000004711");
BENCHMARK_CAPTURE(fingerprint, json, "json");
BENCHMARK_CAPTURE(fingerprint, cloudevents, "cloudevents");
BENCHMARK_CAPTURE(decode_and_key, json, "json");
BENCHMARK_CAPTURE(decode_and_key, cloudevents, "cloudevents");
BENCHMARK_CAPTURE(decode_key_and_fingerprint, json, "json");
BENCHMARK_CAPTURE(decode_key_and_fingerprint, cloudevents, "cloudevents");
BENCHMARK(two_fields);

}  // namespace
