#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "services/common/mutex.h"
#include "services/kubernetes/api/client.h"
#include "services/kubernetes/metrics.h"
#include "services/kubernetes/muster_client.h"

namespace muster::kubernetes {

// Which Kubernetes the API server is of, by the uid of its namespace kube-system, and whether that
// is the one that Muster has for the cluster. An adapter at another one, e.g. by a wrong
// kubeconfig, would take all that is not there for deleted. Thread-safe.
class Identity {
 public:
  struct Parts {
    Client* api = nullptr;  // that reads
    MusterClient* muster = nullptr;
    Metrics* metrics = nullptr;
    // Where nobody has said yet which Kubernetes the cluster is: this one, even if it has pools.
    bool adopt = false;
    // Called once when the API server turns out to be another's than at the last Admit.
    std::function<void()> foreign = {};
  };
  explicit Identity(Parts parts) : parts_(std::move(parts)) {}

  // Asks both sides, changes neither. OK: this Kubernetes may be served. FAILED_PRECONDITION: it
  // may not (the cluster is another one, or it is another cluster), which was logged and counted,
  // with both uids. Else nothing is known.
  absl::Status Admit();
  // Tells Muster that the cluster, which it has by now, is this Kubernetes. Errors as above.
  absl::Status Bind();
  // Whether the API server that answers now is that of the last Admit; ABORTED: it is another's.
  absl::Status Confirm();
  // The same, and whether Muster has the cluster as this Kubernetes still; ABORTED: it does not. To
  // be asked before what Muster shows and Kubernetes does not have is taken for gone: the cluster
  // may have been turned over to another Kubernetes, where it is.
  absl::Status ConfirmBinding();
  // Whether the API server is another's, or was refused: nothing may be written to it.
  bool foreign() const;

  // OK: Muster shows the cluster. NOT_FOUND: it does not, so that it proves nothing that it shows
  // nothing within it.
  absl::Status ConfirmCluster();
  // Notes that Muster does not have the cluster any more, and logs it once. No effect before it was
  // first seen to be bound here.
  void MissCluster();
  // Whether MissCluster was noted, and Muster was not seen since to have the cluster and have it
  // bound to this Kubernetes.
  bool cluster_missing() const;
  // At the last Admit Muster had the cluster as one that nobody was bound to, though it had been
  // bound here: it is to be announced and bound as at the first contact.
  bool made_anew() const;

 private:
  absl::StatusOr<std::string> Ask();
  absl::Status Note(const std::string& uid, const absl::Status& verdict);
  // From now on nothing may be written. `what`: for the log, when it is news.
  void BecomeForeign(absl::string_view what, absl::string_view kubernetes_uid,
                     absl::string_view uid_in_muster);
  void TellRefused(const std::string& uid, const std::string& bound, const absl::Status& why) const;
  // The uid of the Kubernetes that may be served.
  std::string admitted() const;
  // Muster has the cluster; `is_bound`: to this Kubernetes.
  void SeeCluster(bool is_bound);

  const Parts parts_;
  mutable Mutex mutex_;
  std::string uid_ MUSTER_GUARDED_BY(mutex_);  // that may be served
  bool foreign_ MUSTER_GUARDED_BY(mutex_) = false;
  bool joined_ MUSTER_GUARDED_BY(mutex_) = false;  // bound here once
  bool missing_ MUSTER_GUARDED_BY(mutex_) = false;
  bool made_anew_ MUSTER_GUARDED_BY(mutex_) = false;
};

}  // namespace muster::kubernetes
