#include "tests/conformance/store_contract.h"

#include "onefold/stores/memory/memory.h"

namespace onefold::conformance {

void insert(Transaction& transaction, const std::string& name, std::int64_t amount) {
  transaction.statements().change(insert_cell, {{"name", name}, {"amount", amount}});
}

std::int64_t add(Transaction& transaction, const std::string& name, std::int64_t amount) {
  return transaction.statements().change(update_cell, {{"name", name}, {"amount", amount}});
}

std::optional<std::int64_t> amount_of(Transaction& transaction, const std::string& name) {
  const Rows rows = transaction.statements().query(select_cell, {{"name", name}});
  if (rows.empty()) return std::nullopt;
  return std::get<std::int64_t>(rows.at(0).at(0));
}

Evidence evidence(Key key, std::string_view id, Fingerprint fingerprint) {
  return {.key = key,
          .outcome = Outcome::applied,
          .waiting = false,
          .event_source = "shop",
          .event_id = id,
          .event_type = "payment.received",
          .event_time = at_second(1),
          .entity = "account 7",
          .handled_by = "credit@1",
          .fingerprint = fingerprint,
          .result = {},
          .recorded_at = at_second(2)};
}

Claim claim(Transaction& transaction, const Evidence& wanted, ClaimMode mode) {
  return transaction.ledger().claim({&wanted, 1}, mode).at(0);
}

std::vector<ClaimState> states_of(const std::vector<Claim>& claims) {
  std::vector<ClaimState> states;
  for (const Claim& claim : claims) states.push_back(claim.state);
  return states;
}

Position position(std::uint64_t next, std::string incarnation, std::string name) {
  return {std::make_shared<const Partition>(
              Partition{"orders", std::move(incarnation), std::move(name)}),
          {0, next - 1},
          {0, next}};
}

Timestamp at_second(int second) {
  return Timestamp{std::chrono::seconds{second}};
}

Rival::Rival(const StoreUnderTest& store, std::function<void()> unit) : unit_{std::move(unit)} {
  if (!store.one_thread) {
    running_ = std::async(std::launch::async, unit_);
    return;
  }
  try {
    unit_();
  } catch (const memory::Blocked&) {
    blocked_ = true;
  }
}

bool Rival::waits() {
  if (!running_.valid()) return blocked_;
  // Long enough for a call that does not wait to be noticed; a slow machine only hides the defect.
  return running_.wait_for(std::chrono::milliseconds{30}) == std::future_status::timeout;
}

void Rival::finish() {
  if (running_.valid()) {
    running_.get();
  } else if (blocked_) {
    unit_();
  }
}

void StoreContract::SetUp() {
  if (!has_server(GetParam())) return;
  database_ = GetParam().create();
  consumer_ = adopt("billing");
  session_ = store().connect();
  scope_ = session_->scope({consumer_, {}, "shop", "uuid"}).value();
}

void StoreContract::TearDown() {
  session_.reset();
  database_.reset();
}

void StoreContract::reopen() {
  session_.reset();
  database_->reopen();
  session_ = store().connect();
}

ConsumerId StoreContract::adopt(const std::string& name) {
  return housekeeping()->adopt({name, "identity = uuid\n", ClaimMode::claim_first}, {});
}

Key StoreContract::key(int number) const {
  Key key{scope_, {}};
  key.bytes.back() = static_cast<std::uint8_t>(number);
  return key;
}

void StoreContract::commit(const std::function<void(Transaction&)>& unit) {
  const auto transaction = session().begin();
  unit(*transaction);
  ASSERT_EQ(transaction->commit(), CommitResult::committed);
}

void StoreContract::roll_back(const std::function<void(Transaction&)>& unit) {
  unit(*session().begin());
}

std::optional<std::int64_t> StoreContract::committed_amount(const std::string& name) {
  std::optional<std::int64_t> amount;
  roll_back([&](Transaction& transaction) { amount = amount_of(transaction, name); });
  return amount;
}

}  // namespace onefold::conformance
