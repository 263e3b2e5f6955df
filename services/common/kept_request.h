#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/faults.h"
#include "services/common/state.h"

// Exactly once for those who repeat: a request that bears an id leaves its answer behind, in the
// transaction of its change, so that the same again is answered the same and done once. Who uses
// it: services/rpc/write.h.
namespace muster {

// What was answered to a request. A row of each service; no watch shows it (internal_kind.h).
struct KeptRequest {
  static constexpr char kKind[] = "_kept_request";
  std::string request_id = {};
  std::string method = {};  // the full name of the request's message
  std::string digest = {};  // of method and request without its id
  int32_t code = 0;         // absl::StatusCode
  std::string answer = {};  // the response's bytes; with an error google.rpc.Status'
  absl::Time create_time = absl::UnixEpoch();
  std::string later = {};  // see services/common/state.h

  std::string Key() const { return request_id; }
  bool operator==(const KeptRequest&) const = default;
};

// How long an answer is kept: longer than anybody repeats a call.
inline constexpr absl::Duration kRequestKeep = absl::Hours(24);
// The least that an operator may set, and what an answer is kept for however many there are:
// whoever repeats a call by itself has given up by then.
inline constexpr absl::Duration kMinRequestKeep = absl::Minutes(15);
// The most that all kept answers may take of memory, so that no caller fills it: some 100,000 of
// a usual size.
inline constexpr size_t kMaxKeptBytes = 128 << 20;
// What one takes beside its own strings: rows, keys and indexes of a lane's two states.
inline constexpr size_t kKeptRowBytes = 1'000;
inline constexpr size_t kMaxRequestIdBytes = 64;
// Answers beyond their time that go with each new one, so that they become fewer and no decision
// takes long.
inline constexpr size_t kForgottenAtOnce = 4;

// How answers are kept: `keep` long. When they would take more than `max_bytes` the oldest go
// before their time, but none before kMinRequestKeep.
struct KeepPolicy {
  absl::Duration keep = kRequestKeep;
  size_t max_bytes = kMaxKeptBytes;
};

// OK when `policy.keep` is at least kMinRequestKeep; INVALID_ARGUMENT (INVALID_FIELD request_keep).
absl::Status CheckKeepPolicy(const KeepPolicy& policy);

// About what a kept answer takes of memory.
size_t BytesOf(const KeptRequest& kept);

// Kept answers by time. Part of a State, which hands its changes on.
class KeptByTime {
 public:
  using Ids = absl::btree_set<std::pair<absl::Time, std::string>>;

  void Reindex(const KeptRequest* before, const KeptRequest* after) {
    if (before != nullptr) {
      ids_.erase({before->create_time, before->request_id});
      bytes_ -= BytesOf(*before);
    }
    if (after != nullptr) {
      ids_.insert({after->create_time, after->request_id});
      bytes_ += BytesOf(*after);
    }
  }
  // Oldest first.
  const Ids& ids() const { return ids_; }
  // BytesOf all of them.
  size_t bytes() const { return bytes_; }
  bool operator==(const KeptByTime& other) const {
    return ids_ == other.ids_ && bytes_ == other.bytes_;
  }

 private:
  Ids ids_;
  size_t bytes_ = 0;
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

// Keeps the answer and forgets a few whose time is over, or as many as it needs the room of. State
// provides `const KeptByTime& kept() const`. With an error, which is RequestIdsExhausted, the
// caller has to roll back.
template <class State>
absl::Status Keep(StagedState<State>& staged, KeptRequest answered, const KeepPolicy& policy) {
  const absl::Time now = answered.create_time;
  // One whose time is over may be there still: what a later release said of that is not said of this.
  staged.template Delete<KeptRequest>(answered.request_id);
  staged.Put(std::move(answered));
  const KeptByTime& all = staged.state().kept();
  for (size_t forgotten = 0;; ++forgotten) {
    const auto [time, request_id] = *all.ids().begin();
    const bool is_over = now - time >= policy.keep;
    const bool is_full = all.bytes() > policy.max_bytes;
    if (!is_full && (!is_over || forgotten >= kForgottenAtOnce)) return absl::OkStatus();
    if (now - time < kMinRequestKeep) return RequestIdsExhausted(time + kMinRequestKeep - now);
    staged.template Delete<KeptRequest>(request_id);
  }
}

// A fault unless the id is empty (none) or 1 to 64 printable ASCII characters without spaces.
void ValidateRequestId(absl::string_view request_id, error::Faults& faults);

// OK when the answer was given to this very request; INVALID_ARGUMENT, REQUEST_ID_REUSED.
absl::Status CheckSameRequest(const KeptRequest& kept, absl::string_view method,
                              absl::string_view digest);

}  // namespace muster
