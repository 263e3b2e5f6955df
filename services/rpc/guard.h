#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/server_context.h>
#include <prometheus/collectable.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/access/caller.h"
#include "services/access/method_access.h"
#include "services/access/policy_file.h"
#include "services/common/memory_limit.h"
#include "services/rpc/caller_limits.h"
#include "services/rpc/change_limits.h"
#include "services/rpc/refusal_pace.h"

namespace muster::rpc {

// Checks every call against the policy and the limits of its caller. Thread-safe.
class Guard {
 public:
  // The caller that a header `Bearer TOKEN` names; UNAUTHENTICATED: none, and why. Unless `proves`,
  // only tokens that were proved before are taken. Thread-safe.
  using TokenCheck =
      std::function<absl::StatusOr<std::string>(absl::string_view header, bool proves)>;

  // `policy`, unless null, must outlive it; null: everybody may do everything. `tokens`, unless
  // null, reads the header `authorization` of callers by TLS who show no certificate. `memory`,
  // unless null, must outlive it.
  explicit Guard(const access::PolicyFile* policy, const CallerLimitOptions& limits = {},
                 TokenCheck tokens = nullptr, MemoryLimit* memory = nullptr,
                 const SteadyClock* clock = TheSteadyClock())
      : policy_(policy),
        tokens_(std::move(tokens)),
        memory_(memory),
        limits_(limits, clock),
        refusals_(clock),
        changes_(limits.changes_per_minute) {}

  // Who calls, with its rights by the present policy. `proves`: a token's signature is checked,
  // which takes time; else, for the log of a call that is refused in any case, a token counts only
  // if it was proved before.
  std::shared_ptr<access::Caller> CallerOf(const grpc::ServerContextBase& context,
                                           bool proves = true) const;
  // As access::MethodAccess::Admit; a method that does not say what it asks for (its status is an
  // error) lets nobody in. For a method that asks for `write`, also ChangeLimits::Enter. Sets
  // caller.goes_first.
  absl::Status Admit(const absl::StatusOr<access::MethodAccess>& method, access::Caller& caller,
                     const google::protobuf::Message& request,
                     const access::PlaceOf& place_of) const;
  // Counts `refusal`, which Admit returned, once it is the answer; returns it.
  absl::Status Refused(const access::Caller& caller, absl::Status refusal) const;
  // Admit, and Refused, for a method of gRPC's own (standard_methods.h) that any role may call.
  absl::Status AdmitWithAnyRole(const access::Caller& caller, absl::string_view method) const;
  // While memory is short new calls are answered UNAVAILABLE (NO_MEMORY) before they are parsed, so
  // that their callers go to another replica, or wait. Excepted are the process's own calls, and
  // operators' calls of methods for which IsSpared is true.
  bool IsMemoryShort() const { return memory_ != nullptr && memory_->IsNear(); }
  absl::Status NoMemory() const;
  // Whether a method, judged by its own name, reads or removes a single thing: it costs little, and
  // may be what helps.
  static bool IsSpared(absl::string_view method);
  static constexpr size_t kMaxSparedBytes = 4'096;  // of its request
  static bool IsOperator(const access::Caller& caller) {
    return caller.rights->Of(access::Verb::kOperate).everywhere();
  }
  // As CallerLimits::Enter, but the process itself has no limits. A caller whose proof is not
  // believed takes no place and is told that, never of a limit, which would pass.
  absl::StatusOr<CallerLimits::Place> Enter(const access::Caller& caller, CallerLimits::Kind kind,
                                            int64_t request_bytes = 0) const;
  // The calls that are at work, and those that wait in line.
  CallerLimits& limits() const { return limits_; }
  // The calls that were refused as their caller has too much.
  RefusalPace& refusals() const { return refusals_; }
  // Whether the policy gives the caller other rights by now.
  bool IsOutdated(const access::Caller& caller) const;
  // The status with which watches of such callers end: OUT_OF_RANGE (POLICY_CHANGED), as one that
  // sees more or less by now has to begin with a snapshot.
  static absl::Status Outdated();

  struct Stats {
    int64_t unauthenticated = 0;
    int64_t denied = 0;
    int64_t not_visible = 0;  // answered NOT_FOUND, whatever there is
    int64_t no_memory = 0;
  };
  Stats stats() const;
  CallerLimits::Stats limited() const { return limits_.stats(); }
  int64_t waiting() const { return limits_.waiting(); }
  int64_t too_many_changes() const { return changes_.refused(); }
  // Null: none.
  const access::PolicyFile* policy() const { return policy_; }
  // The process's limit in bytes; 0: none is known.
  int64_t memory_limit() const { return memory_ == nullptr ? 0 : memory_->bytes(); }

 private:
  // Counts what an organization asks for, but not what is reported of its Nodes, nor what follows
  // from its wishes.
  absl::Status EnterChanges(const access::MethodAccess& method, access::Caller& caller) const;
  // Counts the refusal by its kind, and returns it.
  absl::Status Counted(absl::Status refusal) const;

  const access::PolicyFile* const policy_;
  const TokenCheck tokens_;
  MemoryLimit* const memory_;
  mutable CallerLimits limits_;
  mutable RefusalPace refusals_;
  mutable ChangeLimits changes_;
  mutable std::atomic<int64_t> unauthenticated_ = 0;
  mutable std::atomic<int64_t> denied_ = 0;
  mutable std::atomic<int64_t> not_visible_ = 0;
  mutable std::atomic<int64_t> no_memory_ = 0;
};

// `muster_policy_*`, `muster_denied_calls_total`, `muster_limited_calls_total`,
// `muster_waiting_calls`, `muster_memory_limit_bytes` of a guard that has a policy, which must
// outlive it.
std::shared_ptr<prometheus::Collectable> MakePolicyCollector(const Guard& guard);

}  // namespace muster::rpc
