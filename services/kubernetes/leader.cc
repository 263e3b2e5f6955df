#include "services/kubernetes/leader.h"

#include <time.h>

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "services/common/log.h"
#include "services/common/status_macros.h"
#include "services/kubernetes/api/json.h"
#include "services/kubernetes/core/text.h"

namespace muster::kubernetes {
namespace {

// Runs on while the process is stopped, and while the machine sleeps; nobody sets it.
absl::Duration Uptime() {
  timespec now = {};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return absl::DurationFromTimespec(now);
}

}  // namespace

Leader::Leader(Client* client, Options options) : client_(*client), options_(std::move(options)) {}

Leader::~Leader() { Stop(); }

absl::Duration Leader::Now() const { return options_.uptime ? options_.uptime() : Uptime(); }

bool Leader::Leads() const {
  MutexLock lock(mutex_);
  return renewed_ && Now() - *renewed_ < options_.renew_deadline;
}

bool Leader::MayWrite() const {
  MutexLock lock(mutex_);
  return Now() - begun_ < options_.renew_deadline;
}

absl::Duration Leader::Begin() {
  MutexLock lock(mutex_);
  return begun_ = Now();
}

absl::Status Leader::Write(const Json& lease, bool exists, absl::Duration begin) {
  const auto written = exists ? client_.Replace(options_.path(), lease)
                              : client_.Create(options_.collection(), lease);
  RETURN_IF_ERROR(written.status());
  MutexLock lock(mutex_);
  renewed_ = begin;
  return absl::OkStatus();
}

Json Leader::NewLease() const {
  Json metadata = {{"name", options_.lease}, {"namespace", options_.name_space}};
  if (!annotations_.is_null()) metadata["annotations"] = annotations_;
  return {{"apiVersion", "coordination.k8s.io/v1"},
          {"kind", "Lease"},
          {"metadata", std::move(metadata)}};
}

absl::Status Leader::Try() {
  const absl::Duration begin = Begin();
  auto found = client_.Get(options_.path());
  if (!found.ok() && !absl::IsNotFound(found.status())) return found.status();
  const bool exists = found.ok();
  Json lease = exists ? *std::move(found) : NewLease();
  if (exists) annotations_ = MemberOf(lease, "metadata", "annotations");
  Json& spec = lease["spec"];
  if (!spec.is_object()) spec = Json::object();
  const std::string holder = TextOf(MemberOf(spec, "holderIdentity"));
  const bool ours = holder == options_.identity;
  if (!holder.empty() && !ours) {
    // By our clock, from when we saw it change: clocks of others may say what they will.
    const std::string version = TextOf(MemberOf(lease["metadata"], "resourceVersion"));
    if (version != seen_.version)
      seen_ = {version, begin, absl::Seconds(NumberOf(MemberOf(spec, "leaseDurationSeconds")))};
  } else if (exists) {
    seen_ = {};
  } else if (!seen_.version.empty()) {
    // Its holder may have renewed it until now, and works on until it looks.
    seen_.version.clear();
    seen_.at = begin;
  }
  if (begin - seen_.at < seen_.valid)
    return absl::AbortedError(exists ? "another holds the lease"
                                     : "another held the lease that is gone");
  if (!ours && options_.may_take) RETURN_IF_ERROR(options_.may_take());
  const std::string now = MicroTime(absl::Now());
  if (!ours) {
    spec["acquireTime"] = now;
    spec["leaseTransitions"] = NumberOf(MemberOf(spec, "leaseTransitions")) + (exists ? 1 : 0);
  }
  spec["holderIdentity"] = options_.identity;
  spec["leaseDurationSeconds"] =
      absl::ToInt64Seconds(absl::Ceil(options_.lease_duration, absl::Seconds(1)));
  spec["renewTime"] = now;
  RETURN_IF_ERROR(Write(lease, exists, begin));
  seen_ = {};
  return absl::OkStatus();
}

bool Leader::Acquire() {
  const auto ended = [this] {
    return stopper_.stopped() || (options_.given_up && options_.given_up());
  };
  bool told = false;
  while (true) {
    const absl::Status status = Try();
    if (status.ok()) {
      if (ended()) break;
      log::Info("leading", {{"lease", options_.lease}, {"identity", options_.identity}});
      return true;
    }
    if (!std::exchange(told, true) || !absl::IsAborted(status))
      log::Info("waiting for the lease", {{"lease", options_.lease}, {"why", status}});
    const absl::Duration pause = options_.retry_period * absl::Uniform(random_, 0.8, 1.2);
    if (ended() || !stopper_.Sleep(pause)) return false;
  }
  // Stopped while it was being taken.
  GiveBack();
  return false;
}

void Leader::Hold(std::function<void()> lost) {
  lost_ = std::move(lost);
  MutexLock lock(mutex_);
  // Under the lock: a Stop that comes later sees the thread, and waits for it.
  if (!stopper_.stopped()) thread_ = std::thread([this] { Renew(); });
}

void Leader::Renew() {
  while (stopper_.Sleep(options_.retry_period)) {
    if (!Leads()) break;
    const absl::Status status = Try();
    if (status.ok()) continue;
    log::Warn("the lease was not renewed", {{"error", status}});
    // Another's: it was taken from us while we were frozen.
    if (!Leads() || (absl::IsAborted(status) && ErrorOf(status).code == 0)) break;
  }
  {
    MutexLock lock(mutex_);
    if (stopper_.stopped()) return;
    renewed_.reset();
  }
  log::Error("the lease is lost", {{"lease", options_.lease}});
  lost_();
}

void Leader::GiveBack() {
  {
    MutexLock lock(mutex_);
    if (!renewed_) return;
    renewed_.reset();
  }
  Begin();
  auto lease = client_.Get(options_.path());
  if (!lease.ok()) return;
  Json& spec = (*lease)["spec"];
  if (TextOf(MemberOf(spec, "holderIdentity")) != options_.identity) return;
  spec.erase("holderIdentity");
  spec["leaseDurationSeconds"] = 1;
  spec["renewTime"] = MicroTime(absl::Now());
  (void)client_.Replace(options_.path(), *lease);
}

void Leader::Stop() {
  {
    MutexLock lock(mutex_);
    if (stopper_.stopped()) return;
    stopper_.Stop();
  }
  if (thread_.joinable()) thread_.join();
  GiveBack();
}

}  // namespace muster::kubernetes
