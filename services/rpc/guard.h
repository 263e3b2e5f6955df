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

namespace muster::rpc {

// Holds every call against the policy. Thread-safe.
class Guard {
 public:
  // Whom a header `Bearer TOKEN` names; UNAUTHENTICATED: nobody, and why. Unless it `proves` only what is known already is asked.
  // Thread-safe.
  using TokenCheck =
      std::function<absl::StatusOr<std::string>(absl::string_view header, bool proves)>;

  // `policy`, unless null, must outlive it; null: everybody may do everything. `tokens`, unless null, reads the header
  // `authorization` of callers by TLS who show no certificate. `memory`, unless null, must outlive it.
  explicit Guard(const access::PolicyFile* policy, const CallerLimitOptions& limits = {},
                 TokenCheck tokens = nullptr, MemoryLimit* memory = nullptr,
                 const SteadyClock* clock = TheSteadyClock())
      : policy_(policy),
        tokens_(std::move(tokens)),
        memory_(memory),
        limits_(limits, clock),
        changes_(limits.changes_per_minute) {}

  // By the policy as it is now. A token is proved if `proves`, which is not free; else, of a call that is refused already, it names its
  // caller for the log if it was proved before.
  std::shared_ptr<access::Caller> CallerOf(const grpc::ServerContextBase& context,
                                           bool proves = true) const;
  // access::MethodAccess::Admit; a method that does not say what it asks for lets nobody in. One that takes a role with `write`:
  // ChangeLimits::Enter, too.
  absl::Status Admit(const absl::StatusOr<access::MethodAccess>& method, access::Caller& caller,
                     const google::protobuf::Message& request,
                     const access::PlaceOf& place_of) const;
  // What Admit refused a caller with, once it is the answer: it is counted.
  absl::Status Refused(const access::Caller& caller, absl::Status refusal) const;
  // Admit, and Refused, of a method of gRPC's own (standard_methods.h) that takes a role, whichever.
  absl::Status AdmitWithAnyRole(const access::Caller& caller, absl::string_view method) const;
  // While memory is short nothing new is taken, but from the process itself: calls are answered UNAVAILABLE (NO_MEMORY) before they are
  // parsed, so that their callers go to another replica, or wait. But operators may call what IsSpared.
  bool IsMemoryShort() const { return memory_ != nullptr && memory_->IsNear(); }
  absl::Status NoMemory() const;
  // Whether a method, by its own name, looks at one thing or frees what one takes: it costs little, and may be what helps.
  static bool IsSpared(absl::string_view method);
  static constexpr size_t kMaxSparedBytes = 4'096;  // of its request
  static bool IsOperator(const access::Caller& caller) {
    return caller.rights->Of(access::Verb::kOperate).everywhere();
  }
  // CallerLimits::Enter; a process does not hold up itself. Who is not believed takes no place and is told so, whatever others have
  // under way: what he hears is no limit that passes.
  absl::StatusOr<CallerLimits::Place> Enter(const access::Caller& caller,
                                            CallerLimits::Kind kind) const;
  // Whose calls are at work, and which wait in line.
  CallerLimits& limits() const { return limits_; }
  // Whether the policy has other rights for it by now.
  bool IsOutdated(const access::Caller& caller) const;
  // With which watches of such callers end: OUT_OF_RANGE (POLICY_CHANGED), since who sees more or less by now has to take a snapshot.
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
  // Of the process, in bytes; 0: none is known.
  int64_t memory_limit() const { return memory_ == nullptr ? 0 : memory_->bytes(); }

 private:
  // What an organization asks for is counted; what is reported of its Nodes, and what follows from its wishes, is not.
  absl::Status EnterChanges(const access::MethodAccess& method, access::Caller& caller) const;
  // Counts who is not let in.
  absl::Status Counted(absl::Status refusal) const;

  const access::PolicyFile* const policy_;
  const TokenCheck tokens_;
  MemoryLimit* const memory_;
  mutable CallerLimits limits_;
  mutable ChangeLimits changes_;
  mutable std::atomic<int64_t> unauthenticated_ = 0;
  mutable std::atomic<int64_t> denied_ = 0;
  mutable std::atomic<int64_t> not_visible_ = 0;
  mutable std::atomic<int64_t> no_memory_ = 0;
};

// `muster_policy_*`, `muster_denied_calls_total`, `muster_limited_calls_total`, `muster_waiting_calls`, `muster_memory_limit_bytes` of a
// guard that has a policy,
// which must outlive it.
std::shared_ptr<prometheus::Collectable> MakePolicyCollector(const Guard& guard);

}  // namespace muster::rpc
