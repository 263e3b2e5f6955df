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

// Decides which replica reconciles. Two rows say which: the heartbeat, outside the journal, written
// at every beat; and the journal's `Lease` (types.h), written at a takeover, which every plan is
// held against. Decided here is who may take and renew the heartbeat, when it is over, and what
// shows that a replica can commit; store/lease_store.h and reconcile/lease_holder.h carry it out.
namespace muster::lifecycle {

// Its times are of the database's clock, which may be set ahead and back.
struct Heartbeat {
  std::string holder = {};
  int64_t epoch = 0;  // at least 1; grows with every change of holder
  absl::Time write_time = absl::UnixEpoch();
  absl::Time expire_time = absl::UnixEpoch();

  bool operator==(const Heartbeat&) const = default;
};

// True when any replica may take the heartbeat: it has expired, or its write time lies further in
// the future than it lasts, so that the clock must have been set back. So nobody waits for more
// than twice its length, however far that was.
bool IsOver(const Heartbeat& row, absl::Time now);

// The row after `holder` has renewed its lease for `ttl`; nullopt: another replica has the lease. A
// holder keeps its epoch unless the heartbeat was over, because another may have reconciled
// meanwhile. `led`: the newest epoch that the journal knows.
std::optional<Heartbeat> RenewLease(const std::optional<Heartbeat>& row, int64_t led,
                                    absl::string_view holder, absl::Duration ttl, absl::Time now);
// The row after `holder` gave the lease up; nullopt: `holder` does not have it.
std::optional<Heartbeat> Release(const std::optional<Heartbeat>& row, absl::string_view holder,
                                 absl::Time now);

// Whether the journal's lease was taken over in this history of the database. If not, nobody may
// lead, though a row of before the history was replaced names its holder still: TakeLease has not
// raised the generations above those of the part that was lost.
bool IsTakenIn(const State& state, absl::string_view incarnation);

// Changes the journal's lease and changes it back: its commit shows that writes get through, and
// the row is as it was.
absl::Status RewriteLease(StagedState<State>& staged);

// What one replica knows of its right to lead. A lease lasts for a `ttl` from the last proof that
// its holder can commit, not from the last beat: a replica that cannot commit loses it. Proofs are
// the replica's own plans that were committed, and probes: commands that take the way of plans but
// are empty, so that a quiet fleet writes nothing. Once a command that writes has failed, probes
// write as well (RewriteLease). Times are of a steady clock. Not thread-safe.
class LeaseKeeper {
 public:
  explicit LeaseKeeper(absl::Duration ttl) : ttl_(ttl) {}

  // --- proofs ---
  // Whether the next probe is to call RewriteLease.
  bool probe_writes() const { return failing_; }
  void ProbeEnded(const absl::Status& status, absl::Duration submitted, bool wrote);
  // A command that writes, submitted at `submitted`, ended with `status`.
  void CommandEnded(const absl::Status& status, absl::Duration submitted);

  // --- beats ---
  enum class Step {
    kWait,    // no proof is recent enough to ask for the lease
    kRenew,   // ask for the lease, for as long as Ask says
    kGiveUp,  // it led and cannot commit: it leads no more, and is to release the lease
  };
  Step Next(absl::Duration now);
  // For how long it asks now: until a ttl after the proof.
  absl::Duration Ask(absl::Duration now) {
    asked_until_ = proven_ + ttl_;
    return asked_until_ - now;
  }

  enum class Verdict {
    kNothing,   // all is as before
    kTakeOver,  // commit TakeLease under the epoch, then call TookOver
    kStepDown,  // another replica leads, or it cannot know any more
  };
  // Takes in how the beat that began at `asked` ended: with the epoch, 0 (another replica has the
  // lease), or an error. `incarnation`: the journal's history as the replica knows it. After a
  // change of history it has to take over anew, because the journal's lease may be another one.
  Verdict Answered(const absl::StatusOr<int64_t>& epoch, absl::Duration asked,
                   absl::string_view incarnation);
  void TookOver(int64_t epoch) {
    epoch_ = epoch;
    refused_ = false;
  }
  // A plan that was submitted under `epoch` was refused as a stale leader's. If it still leads
  // under that, the journal's lease is not what was taken over. A plan of a lead that is over says
  // nothing of the next one: it may have waited in the lane for longer than the takeover took.
  void Refused(int64_t epoch) { refused_ |= epoch == epoch_; }
  // It ends.
  void StepDown() { epoch_ = 0; }

  // Under which it leads; 0: it does not.
  int64_t epoch() const { return epoch_; }

  // --- whether anybody leads ---
  // Takes in whether some replica had the lease at `now`; nullopt: that could not be seen. Answered
  // takes this in by itself.
  void Saw(std::optional<bool> is_held, absl::Duration now) {
    free_ = is_held == false;
    if (is_held == true) held_ = std::max(held_, now);
  }
  // Leaderless: as far as was seen, no replica has had the lease for longer than a ttl. Never true
  // while the last look failed.
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
