#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "onefold/brokers/file/file.h"
#include "onefold/brokers/file/splitter.h"

/// How fast a file of events is read: cut into elements alone, and as deliveries with the decoded
/// event. The events have about 150 bytes.
namespace onefold {
namespace {

std::string event_of(std::int64_t number) {
  const std::string digits = std::to_string(10'000'000 + number);
  return R"({"event_id":"evt_018f3b2c-7a1d-7c3e-8b4f-0000)" + digits +
         R"(","type":"payment.received","account_id":)" + digits +
         R"(,"amount":"12.50","currency":"EUR","note":"a payment"})";
}

enum class Kind { lines, array };

/// A file of `count` events that vanishes at the end.
class EventFile {
 public:
  EventFile(Kind kind, std::int64_t count)
      : path_{std::filesystem::temp_directory_path() /
              ("onefold-benchmark-" + std::to_string(::getpid()))} {
    std::ofstream out{path_, std::ios::binary};
    if (kind == Kind::array) out << '[';
    for (std::int64_t i = 0; i < count; ++i) {
      if (kind == Kind::array && i > 0) out << ',';
      out << event_of(i) << '\n';
    }
    if (kind == Kind::array) out << ']';
    if (!out.flush()) throw std::runtime_error{"the temporary folder is full"};
  }
  ~EventFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  EventFile(EventFile&&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

double peak_megabytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

void report(benchmark::State& state, std::int64_t count) {
  state.SetItemsProcessed(state.iterations() * count);
  state.counters["peak_rss_mb"] = peak_megabytes();
}

void cut(benchmark::State& state, Kind kind) {
  const EventFile file{kind, state.range(0)};
  std::int64_t count = 0;
  for (auto _ : state) {
    const int descriptor = ::open(file.path().c_str(), O_RDONLY | O_CLOEXEC);
    file::Splitter splitter{1 << 20};
    for (bool more = true; more;) {
      while (splitter.next()) ++count;
      const auto room = splitter.room();
      const auto got = ::read(descriptor, room.data(), room.size());
      more = got > 0;
      if (more) splitter.filled(static_cast<std::size_t>(got));
    }
    ::close(descriptor);
  }
  if (count != state.iterations() * state.range(0)) state.SkipWithError("events are missing");
  report(state, state.range(0));
}

void receive(benchmark::State& state, Kind kind) {
  const EventFile file{kind, state.range(0)};
  const SourceFactory factory =
      file::source({.path = file.path(),
                    .format = file::Format::json,
                    .identity = {.id = "/event_id", .source = "literal:shop", .type = "/type"}});
  std::int64_t count = 0;
  for (auto _ : state) {
    const auto source = factory.open(
        {.positions = [] { return std::vector<Position>{}; }, .notify = [](const Notice&) {}});
    while (!source->at_end()) {
      const auto deliveries = source->receive(500, std::chrono::milliseconds{0});
      benchmark::DoNotOptimize(deliveries.data());
      for (const Delivery& delivery : deliveries) count += delivery.defect.empty() ? 1 : 0;
    }
  }
  if (count != state.iterations() * state.range(0)) state.SkipWithError("events are missing");
  report(state, state.range(0));
}

constexpr std::int64_t million = 1'000'000;
BENCHMARK_CAPTURE(cut, lines, Kind::lines)->Arg(million)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(cut, array, Kind::array)->Arg(million)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(receive, array, Kind::array)->Arg(million)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(receive, lines, Kind::lines)
    ->Arg(million)
    ->Arg(10 * million)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace onefold
