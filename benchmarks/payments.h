#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "onefold/evidence.h"

namespace onefold::bench {

inline constexpr int account_count = 10'000;
inline constexpr const char* insert_sql =
    "INSERT INTO payment (id, account, amount) VALUES (:event_id, :account, :amount)";
inline constexpr const char* update_sql =
    "UPDATE account SET balance = balance + :amount WHERE id = :account";

struct Payment {
  Key key;
  std::string id;
  std::int64_t account = 0;
  std::int64_t amount = 0;
};

/// Identifiers as of version 4, the worst case: every key falls on another page; or in the order of
/// time as of version 7, the best.
class Payments {
 public:
  explicit Payments(bool ordered) : ordered_{ordered} {}
  std::vector<Payment> next(std::size_t count, std::int32_t scope) {
    std::vector<Payment> batch(count);
    for (Payment& each : batch) {
      each.key.scope = scope;
      for (auto& byte : each.key.bytes) byte = static_cast<std::uint8_t>(random_());
      if (ordered_) {
        ++count_;
        for (std::size_t i = 0; i < 6; ++i) {
          each.key.bytes[i] = static_cast<std::uint8_t>(count_ >> (40 - 8 * i));
        }
      }
      each.id = text_of(each.key);
      each.account = static_cast<std::int64_t>(random_() % account_count);
      each.amount = static_cast<std::int64_t>(random_() % 1000);
    }
    std::ranges::sort(batch, {}, &Payment::key);
    return batch;
  }

 private:
  static std::string text_of(const Key& key) {
    static constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (std::size_t i = 0; i < key.bytes.size(); ++i) {
      if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
      text += digits[key.bytes[i] >> 4U];
      text += digits[key.bytes[i] & 0xfU];
    }
    return text;
  }
  bool ordered_;
  std::uint64_t count_ = 0;
  std::mt19937_64 random_{1};
};

/// What is known of each before its handler runs, and all that is known in the end.
inline std::vector<Evidence> evidence_of(const std::vector<Payment>& batch) {
  std::vector<Evidence> evidence(batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    evidence[i].key = batch[i].key;
    evidence[i].event_source = "shop";
    evidence[i].event_id = batch[i].id;
    evidence[i].event_type = "payment.received";
    evidence[i].handled_by = "credit@1";
    std::ranges::copy(batch[i].key.bytes, evidence[i].fingerprint.rbegin());
    evidence[i].recorded_at =
        std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
  }
  return evidence;
}

/// Seconds by the wall, and of our processor time: the second says more on a busy machine.
struct Spent {
  double wall = 0;
  double processor = 0;

  void add(const auto& work) {
    const auto wall_start = std::chrono::steady_clock::now();
    const double processor_start = processor_now();
    work();
    processor += processor_now() - processor_start;
    wall += std::chrono::duration<double>(std::chrono::steady_clock::now() - wall_start).count();
  }

 private:
  static double processor_now() {
    timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }
};

}  // namespace onefold::bench
