#include "services/rpc/guard.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/common/cause.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"
#include "services/rpc/call_info.h"
#include "services/rpc/metric_family.h"

namespace muster::rpc {
namespace {

class PolicyCollector final : public prometheus::Collectable {
 public:
  explicit PolicyCollector(const Guard& guard) : guard_(guard) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    std::vector<prometheus::MetricFamily> families;
    AddPolicy(families);
    AddCalls(families);
    return families;
  }

 private:
  void AddPolicy(std::vector<prometheus::MetricFamily>& families) const {
    prometheus::MetricFamily info =
        Gauges("muster_policy_info",
               "1, with the first 12 digits of the SHA-256 of the policy file that counts; empty: "
               "there is none.");
    AddSample(info, {{"hash", guard_.policy()->current()->hash()}}, 1);
    const access::PolicyFile::Stats stats = guard_.policy()->stats();
    prometheus::MetricFamily reloads =
        Counters("muster_policy_reloads_total",
                 "Times that the policy file was taken, the first included, or changed into what "
                 "cannot be used, so that the last stayed.");
    AddSample(reloads, {{"result", "taken"}}, stats.taken);
    AddSample(reloads, {{"result", "refused"}}, stats.refused);
    prometheus::MetricFamily refused = Gauge(
        "muster_policy_refused",
        "1: the policy file that is there now cannot be used, and the last that could counts on; "
        "else 0.",
        stats.refused_now ? 1 : 0);
    for (auto* family : {&info, &reloads, &refused}) families.push_back(std::move(*family));
  }

  void AddCalls(std::vector<prometheus::MetricFamily>& families) const {
    const Guard::Stats calls = guard_.stats();
    prometheus::MetricFamily denied =
        Counters("muster_denied_calls_total",
                 "Calls that the policy did not let in, by what they were answered: NOT_FOUND is "
                 "said of what the caller may not see, whether it exists or not.");
    AddSample(denied, {{"code", "UNAUTHENTICATED"}}, calls.unauthenticated);
    AddSample(denied, {{"code", "PERMISSION_DENIED"}}, calls.denied);
    AddSample(denied, {{"code", "NOT_FOUND"}}, calls.not_visible);
    const CallerLimits::Stats over = guard_.limited();
    prometheus::MetricFamily limited =
        Counters("muster_limited_calls_total",
                 "Calls that were refused because their caller had as much as one caller may have "
                 "(calls or watches under way, bytes of their requests, calls a second, changes a "
                 "minute), all callers together as many watches as a server takes, or the process "
                 "nearly all of its memory.");
    AddSample(limited, {{"limit", "calls"}}, over.too_many_calls);
    AddSample(limited, {{"limit", "watches"}}, over.too_many_watches);
    AddSample(limited, {{"limit", "request_bytes"}}, over.too_many_bytes);
    AddSample(limited, {{"limit", "calls_per_second"}}, over.too_fast);
    AddSample(limited, {{"limit", "changes_per_minute"}}, guard_.too_many_changes());
    AddSample(limited, {{"limit", "memory"}}, calls.no_memory);
    prometheus::MetricFamily waiting =
        Gauges("muster_waiting_calls",
               "Calls that wait in line until others of the same caller are answered, or have been "
               "at work for half a second: while others call, too, only so many calls of one "
               "caller are begun before (--max_running_calls_per_caller).");
    AddSample(waiting, {}, guard_.waiting());
    prometheus::MetricFamily memory =
        Gauges("muster_memory_limit_bytes",
               "Memory that the process may take (--memory_limit, or its control group's): above "
               "nine tenths of it nothing new is taken. 0: none is known.");
    AddSample(memory, {}, guard_.memory_limit());
    for (auto* family : {&denied, &limited, &waiting, &memory})
      families.push_back(std::move(*family));
  }

  const Guard& guard_;
};

}  // namespace

std::shared_ptr<access::Caller> Guard::CallerOf(const grpc::ServerContextBase& context,
                                                bool proves) const {
  auto caller = std::make_shared<access::Caller>();
  const Peer peer = PeerOf(context);
  caller->principal = PrincipalOf(peer);
  if (tokens_ && peer.encrypted && peer.ids.empty()) {
    const absl::string_view header = ReadHeader(context, "authorization");
    if (!header.empty()) {
      absl::StatusOr<std::string> shown = tokens_(header, proves);
      caller->unproven = shown.status();
      if (shown.ok()) caller->principal = *std::move(shown);
    }
  }
  if (policy_ != nullptr) {
    caller->rights = policy_->current()->RightsOf(caller->principal);
  } else {
    static const auto& all =
        *new std::shared_ptr<const access::Rights>(new access::Rights(access::Rights::All()));
    caller->rights = all;
  }
  return caller;
}

absl::Status Guard::Admit(const absl::StatusOr<access::MethodAccess>& method,
                          access::Caller& caller, const google::protobuf::Message& request,
                          const access::PlaceOf& place_of) const {
  RETURN_IF_ERROR(caller.unproven);
  if (!method.ok()) {
    return error::WithCause(absl::PermissionDeniedError("Nobody may call this method."),
                            method.status().message());
  }
  caller.goes_first = method->only_reports();
  RETURN_IF_ERROR(method->Admit(caller, request, place_of));
  return EnterChanges(*method, caller);
}

absl::Status Guard::Refused(const access::Caller& caller, absl::Status refusal) const {
  if (absl::IsNotFound(refusal)) {
    not_visible_.fetch_add(1, std::memory_order_relaxed);
    return error::WithCause(std::move(refusal), absl::StrCat("The policy does not let `",
                                                             caller.principal, "` see it."));
  }
  // Else it has changed too much.
  const bool by_policy = absl::IsUnauthenticated(refusal) || absl::IsPermissionDenied(refusal);
  return by_policy ? Counted(std::move(refusal)) : refusal;
}

absl::Status Guard::EnterChanges(const access::MethodAccess& method, access::Caller& caller) const {
  const auto& verbs = method.verbs();
  if (std::find(verbs.begin(), verbs.end(), access::Verb::kWrite) == verbs.end())
    return absl::OkStatus();
  ASSIGN_OR_RETURN(caller.pace, changes_.Enter(access::AccountOf(caller)));
  return absl::OkStatus();
}

absl::Status Guard::AdmitWithAnyRole(const access::Caller& caller, absl::string_view method) const {
  if (!caller.unproven.ok()) return Counted(caller.unproven);
  if (!caller.rights->none()) return absl::OkStatus();
  return Counted(access::Refusal(caller, method, ": it takes a role, whichever."));
}

absl::Status Guard::Counted(absl::Status refusal) const {
  (absl::IsUnauthenticated(refusal) ? unauthenticated_ : denied_)
      .fetch_add(1, std::memory_order_relaxed);
  return refusal;
}

bool Guard::IsSpared(absl::string_view method) {
  // The past is read from the journal, as far back as it is asked for.
  return (absl::StartsWith(method, "Get") && method != "GetPast") ||
         absl::StartsWith(method, "Delete") || method == "Ping";
}

absl::Status Guard::NoMemory() const {
  no_memory_.fetch_add(1, std::memory_order_relaxed);
  return error::Make(absl::StatusCode::kUnavailable,
                     "The server is near the limit of its memory and takes nothing new.",
                     {.reason = "NO_MEMORY", .retry_after = absl::Seconds(1)});
}

absl::StatusOr<CallerLimits::Place> Guard::Enter(const access::Caller& caller,
                                                 CallerLimits::Kind kind,
                                                 int64_t request_bytes) const {
  if (!caller.unproven.ok()) return Counted(caller.unproven);
  if (caller.principal == access::kSelf) return CallerLimits::Place();
  return limits_.Enter(caller.principal, kind, request_bytes);
}

bool Guard::IsOutdated(const access::Caller& caller) const {
  return policy_ != nullptr && !(*policy_->current()->RightsOf(caller.principal) == *caller.rights);
}

absl::Status Guard::Outdated() {
  return error::Make(absl::StatusCode::kOutOfRange,
                     "The policy has changed, and with it what you may see: take a snapshot again.",
                     {.reason = "POLICY_CHANGED"});
}

Guard::Stats Guard::stats() const {
  return {.unauthenticated = unauthenticated_,
          .denied = denied_,
          .not_visible = not_visible_,
          .no_memory = no_memory_};
}

std::shared_ptr<prometheus::Collectable> MakePolicyCollector(const Guard& guard) {
  return std::make_shared<PolicyCollector>(guard);
}

}  // namespace muster::rpc
