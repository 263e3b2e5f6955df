#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "services/common/released_pool.h"
#include "services/quota/core/state.h"

// The decisions of quota. Pure but for the staged state; a refused command leaves
// nothing on it.
namespace muster::quota {

// "Let there be this limit." There is one already: ALREADY_EXISTS. Overrides that have lapsed are
// left out.
struct CreateQuota {
  QuotaKey key = {};
  int64_t limit = 0;
  std::vector<LimitOverride> overrides = {};
};
absl::Status Decide(StagedState<State>& staged, const CreateQuota& command, absl::Time now);

// "The limit of this key is so." A wrong etag: ABORTED, unless nothing would change; a missing
// Quota without `allow_missing`, or with an etag: NOT_FOUND. What is not given stays; a new Quota
// gets `first_*` for it. Overrides that have lapsed are left out.
struct UpdateQuota {
  QuotaKey key = {};
  std::optional<int64_t> limit = {};
  std::string etag = {};  // empty: any
  bool allow_missing = false;
  std::optional<std::vector<LimitOverride>> overrides = {};
  int64_t first_limit = 0;
  std::vector<LimitOverride> first_overrides = {};
};
absl::Status Decide(StagedState<State>& staged, const UpdateQuota& command, absl::Time now);

// "There is no limit." Holdings stay.
struct DeleteQuota {
  std::string name = {};
  std::string etag = {};
  bool allow_missing = false;
};
absl::Status Decide(StagedState<State>& staged, const DeleteQuota& command, absl::Time now);

// Time has passed: writes the Quotas whose limit in force has changed, without the overrides that
// have lapsed; at most kMaxApplied. Returns how many. Deciding the same again changes nothing.
struct ApplyOverrides {};
size_t Decide(StagedState<State>& staged, const ApplyOverrides& command, absl::Time now);

// "The holding of this pool is `nodes`."
struct SyncHolding {
  std::string quota = {};
  std::string pool_uid = {};
  int64_t nodes = 0;
  int64_t generation = 0;
  std::string pool = {};
  bool release = false;
  bool must_fit = false;  // see OrError
  bool at_least = false;  // a holding that is larger stays so
};

// What an operator may set.
struct Policy {
  absl::Duration released_keep = kReleasedKeep;  // how long the uid of a released pool is refused
};

enum class Verdict { kUnder, kOver, kNotSet };

// How the pool stands after a request. A growth that did not fit is an answer, not an error.
struct HoldingOutcome {
  Verdict verdict = Verdict::kUnder;
  int64_t nodes = 0;
  int64_t limit = 0;
  int64_t held = 0;
  int64_t revision = 0;
  bool refused = false;  // a growth was asked for and not granted
  Holders holders = {};  // for kOver: the pools beside this one
};
// An older generation than the last one answered: ABORTED; one too far beyond it: INVALID_ARGUMENT
// (generation.h). Every answered request leaves its generation behind, the refused ones too: a late
// older request must not get what a newer one no longer wants. A release is remembered by the
// pool's uid, even if there is no holding: from then on all requests for that uid but releases are
// refused, under whatever key (FAILED_PRECONDITION, POOL_RELEASED). What the pool holds under other
// keys needs releases of its own.
absl::StatusOr<HoldingOutcome> Decide(StagedState<State>& staged, const SyncHolding& command,
                                      absl::Time now, const Policy& policy = {});

// What Decide and OrError would answer to the commands, one after the other (no holding twice),
// with nothing changed. `revision` is the state's. Copies what is held under the keys that are
// named.
std::vector<absl::StatusOr<HoldingOutcome>> Check(const State& state,
                                                  absl::Span<const SyncHolding> commands,
                                                  absl::Time now, int64_t revision);

// Turns an answer into what the caller gets: with `must_fit` a growth that was not granted is an
// error (error::QuotaExceeded, error::QuotaNotSet). What was decided stands all the same.
absl::StatusOr<HoldingOutcome> OrError(const SyncHolding& command,
                                       absl::StatusOr<HoldingOutcome> answer);

// The Quota's etag, made of all that it says and of when it was written: another history in which
// it says something else has another one.
std::string EtagOf(const Quota& quota);

}  // namespace muster::quota
