#pragma once

#include <functional>
#include <memory>

#include "onefold/lab/choice.h"
#include "onefold/store.h"

namespace onefold::lab {

/// What a store tells and asks the lab.
struct CommitScript {
  std::function<Act()> fate;          ///< How this COMMIT ends.
  std::function<void()> has_changed;  ///< Something has been committed.
};

/// The store, with COMMITs that end as the script says. Both must outlive it.
class FallibleStore final : public Store {
 public:
  FallibleStore(Store& store, const CommitScript& script) : store_{store}, script_{script} {}
  StoreTraits traits() const override { return store_.traits(); }
  std::unique_ptr<Session> connect() override;
  std::unique_ptr<Housekeeping> housekeeping() override;
  std::unique_ptr<Records> records() override;
  std::unique_ptr<Decisions> decisions() override;
  std::unique_ptr<Replays> replays() override;
  std::unique_ptr<Runs> runs() override;

 private:
  Store& store_;
  const CommitScript& script_;
};

}  // namespace onefold::lab
