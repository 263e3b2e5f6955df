#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/lifecycle/core/snapshot.h"
#include "services/lifecycle/core/state.h"

// Who reconciles. Two rows say it: the heartbeat, which is outside the journal, beat by beat; and
// the journal's `Lease` (types.h), written on a takeover, which every plan is held against. Who may
// take and renew the first, when it is over, and what shows that a replica can commit is decided
// here; services/lifecycle/store/lease_store.h and services/lifecycle/reconcile/lease_holder.h carry it out.
namespace muster::lifecycle {

// Its times are of the database's clock, which may be set ahead and back.
struct Heartbeat {
  std::string holder = {};
  int64_t epoch = 0;  // at least 1; grows with every change of holder
  absl::Time write_time = absl::UnixEpoch();
  absl::Time expire_time = absl::UnixEpoch();

  bool operator==(const Heartbeat&) const = default;
};

// Whether anybody may take it: its end has come, or it was written in the future beyond doubt,
// further ahead than it is long. So nobody waits for more than twice its length, however far the
// clock was set back.
bool IsOver(const Heartbeat& row, absl::Time now);

// What the row becomes when `holder` beats for `ttl`; nullopt: another replica has it. Who still
// has it keeps its epoch, unless its time was over: somebody may have reconciled meanwhile. `led`:
// the newest epoch that the journal knows.
std::optional<Heartbeat> Beat(const std::optional<Heartbeat>& row, int64_t led,
                              absl::string_view holder, absl::Duration ttl, absl::Time now);
// What it becomes when `holder` gives it up; nullopt: it does not have it.
std::optional<Heartbeat> Release(const std::optional<Heartbeat>& row, absl::string_view holder,
                                 absl::Time now);

// A change of the journal's lease and its undoing: shows that changes can be committed, and leaves
// the row as it was.
absl::Status RewriteLease(StagedState<State>& staged);

// What one replica knows of its right to lead. A lease lasts from the last proof that its holder
// can commit, not from the last beat: who cannot commit is rid of it a `ttl` later. Proofs are the
// ends of its own plans, and of probes: empty commands that go the whole way of every command, so
// that a quiet fleet writes nothing; once plans fail in a way that an empty command does not show,
// probes write as well. Its times are of a steady clock. Not thread-safe.
class LeaseKeeper {
 public:
  explicit LeaseKeeper(absl::Duration ttl) : ttl_(ttl) {}

  // --- proofs ---
  // Whether the next probe is to call RewriteLease.
  bool probe_writes() const { return failing_; }
  void ProbeEnded(const absl::Status& status, absl::Duration submitted, bool wrote);
  // A command that writes ended so.
  void CommandEnded(const absl::Status& status, absl::Duration submitted);

  // --- beats ---
  enum class Step {
    kWait,    // nothing shows that it may ask
    kBeat,    // asks for the lease, for as long as Ask says
    kGiveUp,  // it leads and cannot commit: it leads no more, and releases what it has
  };
  Step Next(absl::Duration now);
  // For how long it asks now: until a ttl after the proof.
  absl::Duration Ask(absl::Duration now) {
    asked_until_ = proven_ + ttl_;
    return asked_until_ - now;
  }

  enum class Verdict {
    kNothing,   // all is as before
    kTakeOver,  // is to commit TakeLease under the epoch, and then to say TookOver
    kStepDown,  // another replica leads, or it cannot know any more
  };
  // What the beat that began at `asked` came to: the epoch, 0 (another has it), or an error.
  // `incarnation`: the history that the replica knows. In another history than it took over in the
  // journal's lease is another, too.
  Verdict Answered(const absl::StatusOr<int64_t>& epoch, absl::Duration asked,
                   absl::string_view incarnation);
  void TookOver(int64_t epoch) {
    epoch_ = epoch;
    refused_ = false;
  }
  // A plan was refused as a stale leader's: the journal's lease is not what was taken over.
  void Refused() { refused_ = true; }
  // It ends.
  void StepDown() { epoch_ = 0; }

  // Under which it leads; 0: it does not.
  int64_t epoch() const { return epoch_; }

  // --- whether anybody leads ---
  // Whether some replica had the lease at `now`; nullopt: that could not be seen. What beats were answered need not be told.
  void Saw(std::optional<bool> is_held, absl::Duration now) {
    free_ = is_held == false;
    if (is_held == true) held_ = std::max(held_, now);
  }
  // Leaderless: longer than a handover takes nobody had it, as far as was seen. Who cannot look does not know.
  LoopFacts Facts(absl::Duration now) const {
    return {.leaderless = epoch_ == 0 && free_ && now - held_ > ttl_,
            .can_commit = !failing_ && !probe_failed_};
  }

 private:
  const absl::Duration ttl_;
  absl::Duration proven_ = -absl::InfiniteDuration();  // since when a proof was under way
  bool failing_ = false;                               // the last that wrote was not committed
  bool probe_failed_ = false;                          // the last one
  absl::Duration asked_until_ = -absl::InfiniteDuration();
  absl::Duration good_until_ = -absl::InfiniteDuration();
  int64_t epoch_ = 0;
  bool free_ = false;                                // nobody had the lease, when last looked at
  absl::Duration held_ = -absl::InfiniteDuration();  // when somebody was last seen to have it
  std::string incarnation_;                          // of its last beat that was answered
  bool refused_ = false;
};

}  // namespace muster::lifecycle
