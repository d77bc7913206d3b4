#include "onefold/cli/progress.h"

#include <cstddef>
#include <string>

#include "onefold/cli/terminal.h"

namespace onefold::cli {
namespace {

constexpr std::chrono::milliseconds interval{100};

}  // namespace

Progress::Progress()
    : shown_{can_show_progress()}, started_{std::chrono::steady_clock::now()}, last_{started_} {}

Progress::~Progress() {
  show_progress({});
}

void Progress::show(const Totals& totals) {
  if (!shown_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < interval) return;
  const double seconds = std::chrono::duration<double>(now - last_).count();
  const auto received = totals.received();
  const double rate = static_cast<double>(received - last_received_) / seconds;
  rate_ = rate_ == 0 ? rate : 0.8 * rate_ + 0.2 * rate;
  last_ = now;
  last_received_ = received;
  show_progress(summary(totals) + "  " + grouped(static_cast<std::int64_t>(rate_)) + "/s");
}

std::string summary(const Totals& totals) {
  std::string text = grouped(totals.received()) + " received";
  std::string separator = ": ";
  for (std::size_t i = 0; i < outcome_count; ++i) {
    const auto outcome = static_cast<Outcome>(i);
    if (totals[outcome] == 0) continue;
    text += separator + grouped(totals[outcome]) + " " + to_string(outcome);
    separator = ", ";
  }
  return text;
}

}  // namespace onefold::cli
