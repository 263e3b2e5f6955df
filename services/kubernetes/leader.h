#pragma once

#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "absl/random/random.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "services/common/stopper.h"
#include "services/kubernetes/api/client.h"

namespace muster::kubernetes {

// Leader election by a Lease, as client-go has it. Of all replicas that use one Lease, the one that
// it names works; it renews, and stops by its own clock before another may take over: what happens
// while it cannot renew, or is frozen, is found out at the next look at the clock. A Lease that is
// deleted is made anew at once by the replica that leads; one that waits takes it for held for as
// long as it was valid (one that has just started cannot know). Whoever makes it anew gives it the
// annotations that it saw last.
class Leader {
 public:
  struct Options {
    std::string name_space = "muster-system";
    std::string lease = "muster-kubernetes";
    std::string identity = {};                          // of this replica
    absl::Duration lease_duration = absl::Seconds(15);  // after the last renewal others may take it
    absl::Duration renew_deadline = absl::Seconds(10);  // after it we stop; shorter than the above
    absl::Duration retry_period = absl::Seconds(2);     // between renewals, and between attempts
    // Asked before a Lease is taken that is another's, or nobody's, or not there; not OK: it is not
    // taken.
    std::function<absl::Status()> may_take = {};
    // Asked between attempts to take it: true ends Acquire as Stop does.
    std::function<bool()> given_up = {};
    // Read wherever it looks at its own clock; empty: the time since the machine was started.
    std::function<absl::Duration()> uptime = {};

    // Where Leases of the namespace are in the API, and where this one is.
    std::string collection() const {
      return absl::StrCat("/apis/coordination.k8s.io/v1/namespaces/", name_space, "/leases");
    }
    std::string path() const { return absl::StrCat(collection(), "/", lease); }
  };

  // `client`: must outlive it. A client for the Lease alone, which may write while MayWrite holds;
  // others may while Leads does.
  Leader(Client* client, Options options);
  ~Leader();

  // Waits until it leads (true) or Stop is called (false: it does not lead then).
  bool Acquire();
  // Renews from now on, in a thread of its own; `lost` is called once when it leads no more.
  void Hold(std::function<void()> lost);
  // Whether it may act, by its own clock. Thread-safe, cheap.
  bool Leads() const;
  // Whether what it last read of the Lease is recent enough to write the Lease. A process that was
  // frozen meanwhile does not even try, though the API server would refuse it. Thread-safe.
  bool MayWrite() const;
  // Stops renewing; gives the Lease back if it leads, so that another need not wait.
  void Stop();

 private:
  // What was last seen of the Lease of another, and when; nothing once it is ours or nobody's.
  struct Seen {
    std::string version = {};  // empty, though it is valid: the Lease is missing since then
    absl::Duration at = absl::ZeroDuration();
    absl::Duration valid = absl::ZeroDuration();
  };

  // One attempt to take or renew it. OK: it is ours. ABORTED: another's.
  absl::Status Try();
  // A Lease to be created, with the annotations of the one that was there last.
  Json NewLease() const;
  // On a clock that runs on while we are frozen.
  absl::Duration Now() const;
  absl::Duration Begin();
  absl::Status Write(const Json& lease, bool exists, absl::Duration begin);
  void Renew();
  // Gives the Lease back if it may still be ours, so that another need not wait.
  void GiveBack();

  Client& client_;
  const Options options_;
  std::function<void()> lost_;
  absl::BitGen random_;
  Seen seen_;         // of the thread that tries
  Json annotations_;  // likewise: of the Lease as it was last seen; null: none
  mutable Mutex mutex_;
  Stopper stopper_;
  // When the last renewal that succeeded was begun.
  std::optional<absl::Duration> renewed_ MUSTER_GUARDED_BY(mutex_);
  // When what was read last was asked for.
  absl::Duration begun_ MUSTER_GUARDED_BY(mutex_) = absl::ZeroDuration();
  std::thread thread_;
};

}  // namespace muster::kubernetes
