#include "onefold/brokers/file/file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "onefold/brokers/file/intake.h"
#include "onefold/brokers/file/standard_input.h"
#include "onefold/brokers/file/tail.h"
#include "onefold/error.h"

namespace onefold::file {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr SourceTraits log_traits{.kind = SourceClass::owned_log, .ordered = true};
constexpr SourceTraits input_traits{.kind = SourceClass::queue, .ordered = true};
/// How often a file that has come to its end is looked at. inotify would not see what another
/// machine writes to a network file system.
constexpr milliseconds look_interval{20};

class FileSource final : public Source {
 public:
  FileSource(Options options, SourceContext context);

  std::vector<Delivery> receive(std::size_t limit, milliseconds patience) override;
  /// The position in the database is the truth, and the worker has just committed it: a file
  /// remembers nothing.
  void acknowledge(std::span<const Settled> /*settled*/) override {}
  /// A file delivers again only what `reposition` goes back to.
  void release(std::span<const Delivery> /*deliveries*/, milliseconds /*delay*/) override {}
  void reposition() override;
  bool at_end() const override { return options_.follow ? drained_ : finished_; }
  SourceTraits traits() const override { return log_traits; }

 private:
  std::unique_ptr<Tail> open_path();
  std::unique_ptr<Tail> open_tail(OpenedFile file, const Tail* predecessor = nullptr);
  Batch collect_or_rewind(std::size_t limit);
  Batch collect(std::size_t limit);
  void drain(Tail& tail, Batch& batch);
  bool finish(Tail& tail, Batch& batch);
  bool rotate(Batch& batch);
  void report(const Rest& rest);
  void warn_if_stuck();

  Options options_;
  SourceContext context_;
  Intake intake_;
  std::unique_ptr<Tail> current_;
  /// The file that was at the path before. Its writer may not have noticed yet, and what was handed
  /// out of it may have to be handed out again, so it stays open until the next rotation.
  std::unique_ptr<Tail> retired_;
  bool drained_ = false;        ///< Everything that is there now has been handed out.
  bool finished_ = false;       ///< Nothing more is read, because the end of the file is the end.
  std::string reported_;        ///< The last problem, so that it is told once.
  std::uint64_t stuck_at_ = 0;  ///< Where reading stood at the last look, if within an element.
  bool warned_ = false;         ///< About this place.
};

FileSource::FileSource(Options options, SourceContext context)
    : options_{std::move(options)}, context_{std::move(context)}, intake_{options_} {
  current_ = open_path();
  if (current_) return;
  if (!options_.follow) {
    throw Error{ErrorKind::bad_configuration,
                fmt::format("cannot open {}: no such file; correct the path, or set follow = true "
                            "to wait for it",
                            options_.path)};
  }
  context_.notify({Severity::info, fmt::format("{} is not there yet: waiting", options_.path)});
}

std::unique_ptr<Tail> FileSource::open_path() {
  auto file = OpenedFile::open(options_.path);
  return file ? open_tail(std::move(*file)) : nullptr;
}

std::unique_ptr<Tail> FileSource::open_tail(OpenedFile file, const Tail* predecessor) {
  return std::make_unique<Tail>(std::move(file), options_.name, context_,
                                Splitter{options_.limits.event_bytes_max}, predecessor);
}

std::vector<Delivery> FileSource::receive(std::size_t limit, milliseconds patience) {
  if (limit == 0) return {};
  if (finished_) {
    // The caller asks in a loop: returning at once would keep a core busy.
    std::this_thread::sleep_for(patience);
    return {};
  }
  const auto deadline = steady_clock::now() + patience;
  for (;;) {
    Batch batch = collect_or_rewind(limit);
    const auto left = deadline - steady_clock::now();
    if (!batch.empty() || finished_ || left <= left.zero()) return batch.release();
    std::this_thread::sleep_for(std::min<steady_clock::duration>(left, look_interval));
  }
}

/// What was collected before a failure must not be skipped by those who go on with this source.
Batch FileSource::collect_or_rewind(std::size_t limit) {
  try {
    return collect(limit);
  } catch (...) {
    reposition();
    throw;
  }
}

Batch FileSource::collect(std::size_t limit) {
  Batch batch{limit};
  if (retired_) drain(*retired_, batch);
  if (!current_) current_ = open_path();
  while (current_ && !batch.full()) {
    drain(*current_, batch);
    if (batch.full()) break;
    if (!options_.follow) {
      finished_ = finish(*current_, batch);
      break;
    }
    if (rotate(batch)) continue;
    if (!batch.full()) warn_if_stuck();
    break;
  }
  drained_ = !batch.full();
  return batch;
}

void FileSource::drain(Tail& tail, Batch& batch) {
  while (!batch.full()) {
    const auto element = tail.next();
    if (!element) return;
    batch.add([&](Delivery& delivery) {
      intake_.deliver(*element, delivery);
      intake_.place(delivery, tail.position_of(*element));
    });
  }
}

/// The end of the file is final: hands out a last line without line end, or reports what is left.
/// Returns false if the batch was full before that.
bool FileSource::finish(Tail& tail, Batch& batch) {
  while (!batch.full()) {
    const Rest rest = tail.rest();
    if (rest.ending == Ending::last_line && intake_.is_complete(rest.element)) {
      Delivery delivery;
      intake_.deliver(rest.element, delivery);
      if (tail.accept_rest()) {
        intake_.place(delivery, tail.position_of(rest.element));
        batch.add([&](Delivery& added) { added = std::move(delivery); });
        return true;
      }
      drain(tail, batch);
      continue;
    }
    if (rest.ending != Ending::clean) report(rest);
    return true;
  }
  return false;
}

/// Goes on with the file that is now at the path. Returns false if that is still the same one.
bool FileSource::rotate(Batch& batch) {
  if (current_->file().is_at(options_.path).value_or(true)) return false;
  auto file = OpenedFile::open(options_.path);
  if (!file) return false;
  // What was written between the last look and the rotation.
  drain(*current_, batch);
  if (batch.full()) return false;
  if (current_->is_same(*file)) {
    current_->adopt(std::move(*file));
    return true;
  }
  if (!finish(*current_, batch)) return false;
  context_.notify({Severity::info,
                   fmt::format("{} was replaced by another file: the former one is finished, the "
                               "new one is read from its start",
                               options_.path)});
  retired_ = std::move(current_);
  current_ = open_tail(std::move(*file), retired_.get());
  return true;
}

/// An array that has no end for more than one look, because its writer is slow, or because it is no
/// array at all. Lines need no such warning: the next line end is always one.
void FileSource::warn_if_stuck() {
  const Rest rest = current_->rest();
  const std::uint64_t place = rest.ending == Ending::cut_short ? rest.element.next : 0;
  if (place == 0 || place != stuck_at_) {
    stuck_at_ = place;
    warned_ = false;
    return;
  }
  if (std::exchange(warned_, true)) return;
  context_.notify({Severity::warning, describe_stuck(rest, options_.path)});
}

void FileSource::report(const Rest& rest) {
  std::string text = describe(rest, options_.path);
  if (text == reported_) return;
  reported_ = std::move(text);
  context_.notify({Severity::problem, reported_});
}

void FileSource::reposition() {
  if (retired_) retired_->rewind();
  if (current_) current_->rewind();
  drained_ = finished_ = false;
}

/// What decides whether two events are the same, and nothing else: it is compared at every start.
std::string identity_text(const Options& options) {
  if (options.format == Format::cloudevents) return "cloudevents";
  return fmt::format("json: id {}{}, source {}", options.identity.id,
                     options.identity.id_type == IdType::integer ? " (integer)" : "",
                     options.identity.source);
}

std::string attributes_text(const Options& options) {
  if (options.format == Format::cloudevents) return "cloudevents";
  return fmt::format("type {}, subject {}", options.identity.type, options.identity.subject);
}

std::string defect_of(const Options& options) {
  if (options.path.empty()) return "it has no path; give one, or \"-\" for standard input";
  if (options.format != Format::json) return {};
  if (options.path == "-" && options.identity.id == id_from_position) {
    return "standard input has no positions of which ids could be made; use another identity rule";
  }
  return identity_defect(options.identity);
}

Decode decoder_of(const Options& options) {
  return [intake = std::make_shared<Intake>(options)](std::string_view bytes, Delivery& delivery) {
    const std::optional<Position> position = delivery.position;
    Element element;
    element.bytes = bytes;
    intake->deliver(element, delivery);
    if (position) intake->place(delivery, *position);
  };
}

}  // namespace

SourceFactory source(Options options) {
  const std::string defect = defect_of(options);
  if (!defect.empty()) {
    throw Error{ErrorKind::bad_configuration,
                fmt::format("the source {} cannot be used: {}", options.name, defect)};
  }
  SourceFactory factory;
  factory.name = options.name;
  factory.identity = identity_text(options);
  factory.attributes = attributes_text(options);
  if (!options.id_prefix.empty()) factory.id_prefixes.push_back(options.id_prefix);
  factory.decoder = [options] { return decoder_of(options); };
  if (options.path == "-") {
    factory.traits = input_traits;
    factory.open = [options](SourceContext context) {
      return open_standard_input(STDIN_FILENO, options, std::move(context));
    };
  } else {
    factory.traits = log_traits;
    factory.open = [options](SourceContext context) -> std::unique_ptr<Source> {
      return std::make_unique<FileSource>(options, std::move(context));
    };
  }
  return factory;
}

}  // namespace onefold::file
