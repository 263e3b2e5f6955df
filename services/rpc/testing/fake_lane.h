#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "services/common/kept_request.h"
#include "services/common/state.h"

// For the tests of this folder: a state of one kind of row, and a lane of it without a database.
namespace muster::rpc {

struct Fruit {
  static constexpr char kKind[] = "fruit";
  std::string name = {};
  int64_t weight = 0;
  const std::string& Key() const { return name; }
  size_t JournalBytes() const { return name.size(); }
  bool operator==(const Fruit&) const = default;
};

class Orchard : public StateBase<Orchard, Fruit, KeptRequest> {
 public:
  void Reindex(const Fruit*, const Fruit*) {}
  void Reindex(const KeptRequest* before, const KeptRequest* after) {
    kept_.Reindex(before, after);
  }
  const KeptByTime& kept() const { return kept_; }

 private:
  KeptByTime kept_;
};

// As storage::CommitLane, on the caller's thread. `lost`: the commit fails with this;
// `lost_answer`: it succeeds, and the caller is told this all the same.
template <class State>
class FakeLane {
 public:
  using Decide = absl::AnyInvocable<absl::Status(StagedState<State>&, absl::Time)>;
  using Done = absl::AnyInvocable<void(const absl::Status&, int64_t)>;
  using ReadDone = absl::AnyInvocable<void(const absl::Status&, const State*, int64_t)>;

  void Submit(Decide decide, Done done, absl::Time = absl::InfiniteFuture()) {
    {  // the first try does not get through
      StagedState<State> staged(state, revision);
      decide(staged, now).IgnoreError();
      staged.RollBack();
    }
    StagedState<State> staged(state, revision);
    absl::Status status = decide(staged, now);
    if (status.ok()) status = lost;
    if (!status.ok()) staged.RollBack();
    revision = staged.revision();
    done(status.ok() ? lost_answer : status, revision);
  }
  void Read(ReadDone done, absl::Time = absl::InfiniteFuture()) {
    done(lost, lost.ok() ? &state : nullptr, revision);
  }

  template <class F>
  auto Peek(F f) const {
    if (before_peek) before_peek();
    return f(state, revision);
  }

  State state;
  int64_t revision = 0;
  absl::Time now = absl::FromUnixSeconds(1'760'000'000);
  absl::Status lost = {};
  absl::Status lost_answer = {};
  std::function<void()> before_peek = {};
};

}  // namespace muster::rpc
