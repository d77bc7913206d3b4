#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <sstream>

#include "tests/conformance/store_contract.h"

namespace onefold::conformance {
namespace {

/// One call of a random sequence. `number` picks the key, the row or the offset; `variant` the
/// rest.
struct Step {
  enum Kind {
    claim,
    probe,
    record,
    set_aside,
    conflict,
    insert,
    add,
    expect,
    query,
    advance,
    touch,
    savepoint,
    undo,
    commit,
    roll_back,
    kind_count
  };
  int kind = 0;
  int number = 0;
  int variant = 0;
};

std::ostream& operator<<(std::ostream& out, const Step& step) {
  constexpr std::array<const char*, Step::kind_count> names{
      "claim", "probe",   "record", "set_aside", "conflict", "insert", "add",      "expect",
      "query", "advance", "touch",  "savepoint", "undo",     "commit", "roll_back"};
  return out << names.at(static_cast<std::size_t>(step.kind)) << ' ' << step.number << ' '
             << step.variant;
}

constexpr int numbers = 4;

/// Plays a sequence on one store and writes down everything that a caller can see. Two stores that
/// behave alike write the same.
class Player {
 public:
  /// `round` keeps sequences on one database apart.
  Player(Store& store, int round) : records_{store.records()} {
    name_ = "consumer " + std::to_string(round);
    consumer_ = store.housekeeping()->adopt({name_, "a = b\n", ClaimMode::claim_first}, {});
    session_ = store.connect();
    scope_ = session_->scope({consumer_, {}, "shop", "uuid"}).value();
  }

  std::string play(const std::vector<Step>& steps) {
    for (const Step& step : steps) play(step);
    play({Step::commit, 0, 0});
    return seen_.str();
  }

 private:
  void play(const Step& step) {
    seen_ << step << ": ";
    if (!transaction_) {
      transaction_ = session_->begin();
      held_.clear();
      saved_.reset();
    }
    try {
      run(step);
    } catch (const Error& error) {
      seen_ << "error " << static_cast<int>(error.kind());
      if (step.kind == Step::commit) transaction_.reset();
    }
    seen_ << '\n';
    if (!transaction_) look();
  }

  /// A call that waits follows those that may be queued, so that stores which do so tell what
  /// happened here, too.
  void run(const Step& step) {
    Ledger& ledger = transaction_->ledger();
    Statements& sql = transaction_->statements();
    const Evidence wanted = proof(step);
    const std::string row = name_ + " row " + std::to_string(step.number);
    const std::vector<Parameter> change{{"name", row}, {"amount", std::int64_t{step.variant}}};
    switch (step.kind) {
      case Step::claim: {
        const Claim answer = conformance::claim(*transaction_, wanted);
        if (answer.state == ClaimState::fresh) held_.insert(step.number);
        write(answer);
        break;
      }
      case Step::probe:
        write(conformance::claim(*transaction_, wanted, ClaimMode::optimistic));
        break;
      case Step::record:
        if (held_.contains(step.number)) {
          ledger.record({&wanted, 1}, ClaimMode::claim_first);
        } else {
          ledger.record({&wanted, 1}, ClaimMode::optimistic);
        }
        amount_of(*transaction_, row);  // Waits: only now is known that it worked.
        held_.insert(step.number);
        break;
      case Step::set_aside:
      case Step::conflict:
        defer(step);
        break;
      case Step::insert:
        seen_ << sql.change(insert_cell, change);
        break;
      case Step::add:
        seen_ << sql.change(update_cell, change);
        break;
      case Step::expect:
        sql.execute(update_cell, change, 1);
        [[fallthrough]];
      case Step::query:
        seen_ << amount_of(*transaction_, row).value_or(-1);
        break;
      default:
        run_frame(step);
    }
  }

  void run_frame(const Step& step) {
    const Position reached = position(static_cast<std::uint64_t>(step.number) + 1, "first",
                                      std::to_string(step.variant % 2));
    switch (step.kind) {
      case Step::advance:
        transaction_->ledger().advance(consumer_, {&reached, 1});
        break;
      case Step::touch:
        transaction_->ledger().advance(consumer_, {});
        break;
      case Step::savepoint:
        transaction_->savepoint();
        saved_ = held_;
        break;
      case Step::undo:
        if (!saved_) break;
        transaction_->rollback_to_savepoint();
        held_ = *saved_;
        break;
      case Step::commit:
        seen_ << static_cast<int>(transaction_->commit().result);
        transaction_.reset();
        break;
      default:
        transaction_.reset();
    }
  }

  void defer(const Step& step) {
    const bool conflict = step.kind == Step::conflict;
    if (!conflict && !held_.contains(step.number)) return;
    Delivery delivery;
    delivery.raw = "raw " + std::to_string(step.variant);
    Deferral deferral;
    deferral.key = key(step);
    // The runtime makes another fingerprint a conflict: it never sets two dead ones aside.
    deferral.fingerprint = {static_cast<std::uint8_t>(conflict ? step.variant : 9)};
    deferral.consumer = consumer_;
    deferral.delivery = &delivery;
    deferral.reason = conflict ? DeferralReason::conflict : DeferralReason::dead;
    deferral.recorded_at = at_second(step.variant);
    transaction_->ledger().defer({&deferral, 1});
  }

  /// Everything that is committed.
  void look() {
    for (int number = 0; number < numbers; ++number) {
      const auto record = records_->evidence(key({0, number, 0}));
      if (!record) continue;
      seen_ << "  inbox " << number << ' ' << to_string(record->outcome) << ' ' << record->waiting
            << ' ' << record->result << ' ' << record->handled_by << ' '
            << int{record->fingerprint[0]} << '\n';
    }
    DeferredFilter mine;
    mine.consumer = name_;
    for (const DeferredRecord& row : records_->deferred(mine)) {
      seen_ << "  deferred " << int{row.key.bytes.back()} << ' ' << row.reason << ' ' << row.count
            << ' ' << row.raw << ' ' << row.last_at.time_since_epoch().count() << '\n';
    }
    std::map<Partition, Offset> positions;
    for (const Position& position : session_->positions(consumer_, "orders")) {
      positions.emplace(*position.partition, position.next);
    }
    for (const auto& [partition, next] : positions) {
      seen_ << "  position " << partition.name << ' ' << next.low << '\n';
    }
  }

  Key key(const Step& step) const {
    Key key{scope_, {}};
    key.bytes.back() = static_cast<std::uint8_t>(step.number);
    return key;
  }
  Evidence proof(const Step& step) {
    Evidence proof = evidence(key(step), "e", {static_cast<std::uint8_t>(step.variant)});
    constexpr std::array outcomes{Outcome::applied, Outcome::stale, Outcome::dead};
    proof.outcome = outcomes.at(static_cast<std::size_t>(step.variant) % outcomes.size());
    proof.waiting = proof.outcome == Outcome::dead;
    if (proof.waiting) proof.handled_by = {};
    result_ = "result " + std::to_string(step.variant);
    proof.result = result_;
    return proof;
  }
  void write(const Claim& claim) {
    seen_ << static_cast<int>(claim.state) << ' ' << int{claim.fingerprint[0]} << ' '
          << claim.recorded_at.time_since_epoch().count();
  }

  std::unique_ptr<Records> records_;
  std::string name_;
  ConsumerId consumer_ = 0;
  std::unique_ptr<Session> session_;
  std::int32_t scope_ = 0;
  std::unique_ptr<Transaction> transaction_;
  std::set<int> held_;                  ///< Keys that the open transaction has inserted.
  std::optional<std::set<int>> saved_;  ///< The same, at the savepoint.
  std::string result_;
  std::ostringstream seen_;
};

/// Random sequences of calls on the reference model and on each store show the same.
class Equivalence : public testing::TestWithParam<StoreUnderTest> {};
INSTANTIATE_TEST_SUITE_P(Stores, Equivalence, testing::ValuesIn(all_stores()), name_of);

TEST_P(Equivalence, RandomSequencesShowTheSameAsOnTheModel) {
  if (!has_server(GetParam())) return;
  const auto model = all_stores().front().create();
  const auto tested = GetParam().create();
  int round = 0;
  const bool alike = rc::check([&] {
    const auto step =
        rc::gen::construct<Step>(rc::gen::inRange(0, int{Step::kind_count}),
                                 rc::gen::inRange(0, numbers), rc::gen::inRange(0, 4));
    const auto steps = *rc::gen::container<std::vector<Step>>(step);
    ++round;
    RC_ASSERT(Player(tested->store(), round).play(steps) ==
              Player(model->store(), round).play(steps));
  });
  EXPECT_TRUE(alike) << "the sequence and both views are in the output above";
}

}  // namespace
}  // namespace onefold::conformance
