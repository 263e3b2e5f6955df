#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/faults.h"
#include "services/common/interned.h"
#include "services/common/state.h"
#include "services/common/status_macros.h"

// Exactly once for callers who repeat: the answer to a request that bears an id is kept, in the
// transaction of its change, so that the same request again gets the same answer and is not carried
// out twice. Used by services/rpc/write.h.
namespace muster {

// The answer to a request. A row of each service; no watch shows it (internal_kind.h).
struct KeptRequest {
  static constexpr char kKind[] = "_kept_request";
  std::string request_id = {};
  std::string method = {};  // the full name of the request's message
  std::string digest = {};  // of method and request without its id
  int32_t code = 0;         // absl::StatusCode
  std::string answer = {};  // the response's bytes; with an error google.rpc.Status'
  absl::Time create_time = absl::UnixEpoch();
  std::string account =
      {};           // who has it kept: an organization, or a caller of several; empty: the platform
  Word later = {};  // see services/common/state.h

  const std::string& Key() const { return request_id; }
  size_t JournalBytes() const { return answer.size(); }
  bool operator==(const KeptRequest&) const = default;
};

// How long an answer is kept: longer than anybody repeats a call.
inline constexpr absl::Duration kRequestKeep = absl::Hours(24);
// The least that an operator may set, and how long an answer is kept however many there are:
// clients that repeat a call by themselves have given up by then.
inline constexpr absl::Duration kMinRequestKeep = absl::Minutes(15);
// The most that all kept answers may take of memory, so that no caller fills it: some 100,000 of
// a usual size.
inline constexpr size_t kMaxKeptBytes = 128 << 20;
// One account may take at most this fraction of it (a quarter), so that nobody takes the room of
// all.
inline constexpr size_t kKeptShare = 4;
// What an answer takes beside its own strings: rows, keys and indexes of a lane's two states.
inline constexpr size_t kKeptRowBytes = 1'000;
inline constexpr size_t kMaxRequestIdBytes = 64;
// How many answers beyond their time are forgotten with each new one: several, so that they become
// fewer, and few, so that no decision takes long.
inline constexpr size_t kForgottenAtOnce = 4;

// How answers are kept: for `keep`. When all would take more than `max_bytes`, the oldest go before
// their time; when an account's would take more than its share, the oldest of that account. But
// none goes before kMinRequestKeep.
struct KeepPolicy {
  absl::Duration keep = kRequestKeep;
  size_t max_bytes = kMaxKeptBytes;
};

// OK when `policy.keep` is at least kMinRequestKeep; INVALID_ARGUMENT (INVALID_FIELD request_keep).
absl::Status CheckKeepPolicy(const KeepPolicy& policy);

// About how much memory a kept answer takes.
size_t BytesOf(const KeptRequest& kept);

// Kept answers by time. Part of a State, which hands its changes on.
class KeptByTime {
 public:
  using Ids = absl::btree_set<std::pair<absl::Time, std::string>>;
  struct Kept {
    Ids ids = {};      // oldest first
    size_t bytes = 0;  // BytesOf all of them
    bool operator==(const Kept&) const = default;

    void Add(const KeptRequest& kept) {
      ids.insert({kept.create_time, kept.request_id});
      bytes += BytesOf(kept);
    }
    void Remove(const KeptRequest& kept) {
      ids.erase({kept.create_time, kept.request_id});
      bytes -= BytesOf(kept);
    }
  };

  void Reindex(const KeptRequest* before, const KeptRequest* after);
  const Ids& ids() const { return all_.ids; }
  size_t bytes() const { return all_.bytes; }
  const Kept& all() const { return all_; }
  // Of one account; null: nothing is kept for it. The platform has none.
  const Kept* Of(const std::string& account) const;
  bool operator==(const KeptByTime&) const = default;

 private:
  Kept all_;
  absl::btree_map<std::string, Kept> by_account_;
};

// Null when there is no answer to a request of this id, or it is older than `keep`.
template <class State>
const KeptRequest* FindKept(const State& state, absl::string_view request_id, absl::Time now,
                            absl::Duration keep) {
  const KeptRequest* kept = state.template table<KeptRequest>().Find(request_id);
  return kept == nullptr || now - kept->create_time >= keep ? nullptr : kept;
}

// RESOURCE_EXHAUSTED, REQUEST_IDS_EXHAUSTED: no room to keep another answer for so long.
absl::Status RequestIdsExhausted(absl::Duration retry_after);

namespace internal {

// Forgets the oldest of what `kept()` has, which may be null, until that takes no more than `most`.
template <class State, class KeptNow>
absl::Status MakeRoom(StagedState<State>& staged, KeptNow kept, size_t most, absl::Time now) {
  for (const KeptByTime::Kept* full = kept(); full != nullptr && full->bytes > most;
       full = kept()) {
    const auto [time, request_id] = *full->ids.begin();
    if (now - time < kMinRequestKeep) return RequestIdsExhausted(time + kMinRequestKeep - now);
    staged.template Delete<KeptRequest>(request_id);
  }
  return absl::OkStatus();
}

}  // namespace internal

// Keeps the answer, and forgets a few whose time is over, or as many as it needs for room. State
// provides `const KeptByTime& kept() const`. The only error is RequestIdsExhausted; the caller then
// has to roll back.
template <class State>
absl::Status Keep(StagedState<State>& staged, KeptRequest answered, const KeepPolicy& policy) {
  const absl::Time now = answered.create_time;
  const std::string account = answered.account;
  // An answer whose time is over may still be there: its `later` fields must not pass to this one.
  staged.template Delete<KeptRequest>(answered.request_id);
  staged.Put(std::move(answered));
  const KeptByTime& all = staged.state().kept();
  for (size_t forgotten = 0; forgotten < kForgottenAtOnce; ++forgotten) {
    const auto [time, request_id] = *all.ids().begin();
    if (now - time < policy.keep) break;
    staged.template Delete<KeptRequest>(request_id);
  }
  RETURN_IF_ERROR(internal::MakeRoom(
      staged, [&] { return all.Of(account); }, policy.max_bytes / kKeptShare, now));
  return internal::MakeRoom(
      staged, [&] { return &all.all(); }, policy.max_bytes, now);
}

// A fault unless the id is empty (none) or 1 to 64 printable ASCII characters without spaces.
void ValidateRequestId(absl::string_view request_id, error::Faults& faults);

// OK if the answer was given to this very request; else INVALID_ARGUMENT, REQUEST_ID_REUSED.
absl::Status CheckSameRequest(const KeptRequest& kept, absl::string_view method,
                              absl::string_view digest);

}  // namespace muster
