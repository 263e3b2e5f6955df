#include "services/kubernetes/identity.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/common/log.h"
#include "services/common/resource_name.h"
#include "services/common/status_macros.h"
#include "services/kubernetes/api/errors.h"
#include "services/kubernetes/core/names.h"
#include "services/kubernetes/core/text.h"

namespace muster::kubernetes {
namespace {

std::string WhatToDo(absl::string_view cluster, absl::string_view uid, absl::string_view bound,
                     const absl::Status& why) {
  const bool is_other = error::ReasonOf(why) == "CLUSTER_BOUND";
  return absl::StrCat(
      "point the adapter to the API server that is meant, or tell it the cluster that this "
      "Kubernetes is (--organization, --cluster); or, to make it this one: ",
      is_other ? "see that no other cluster is it (kubectl delete nodepools --all, while that "
                 "one's adapter is at work, then musterctl delete cluster), then "
               : "",
      "musterctl bind cluster ", cluster, " --kubernetes-uid=", uid,
      bound.empty() ? "" : absl::StrCat(" --replaces=", bound));
}

}  // namespace

absl::StatusOr<std::string> Identity::Ask() {
  ASSIGN_OR_RETURN(const Json found,
                   parts_.api->Get(absl::StrCat(kNamespacesPath, "/kube-system")));
  std::string uid(TextOf(MemberOf(found, "metadata", "uid")));
  if (!uid.empty()) return uid;
  return absl::UnknownError("the namespace kube-system has no uid");
}

absl::Status Identity::Note(const std::string& uid, const absl::Status& verdict) {
  const bool refused = absl::IsFailedPrecondition(verdict);
  {
    MutexLock lock(mutex_);
    if (verdict.ok()) uid_ = uid;
    if (verdict.ok() || refused) foreign_ = refused;
  }
  if (verdict.ok() || refused) parts_.metrics->SetRefused(refused);
  return verdict;
}

void Identity::TellRefused(const std::string& uid, const std::string& bound,
                           const absl::Status& why) const {
  log::Error(
      "the API server is not of the Kubernetes that Muster has for the cluster; nothing is done",
      {{"cluster", LastIdOf(parts_.muster->cluster())},
       {"kubernetes_uid", uid},
       {"uid_in_muster", bound},
       {"why", why},
       {"what_to_do", WhatToDo(parts_.muster->cluster(), uid, bound, why)}});
}

absl::Status Identity::Admit() {
  ASSIGN_OR_RETURN(const std::string uid, Ask());
  const auto cluster = parts_.muster->GetCluster();
  const bool is_missing = absl::IsNotFound(cluster.status());
  if (is_missing) MissCluster();
  if (!is_missing) RETURN_IF_ERROR(cluster.status());
  const std::string bound = is_missing ? "" : cluster->kubernetes_uid();
  if (bound == uid) {
    SeeCluster(true);
    return Note(uid, absl::OkStatus());
  }
  const absl::Status verdict =
      parts_.muster->BindCluster(uid, parts_.adopt, /*validate_only=*/true);
  if (absl::IsFailedPrecondition(verdict)) {
    TellRefused(uid, bound, verdict);
  } else if (is_missing && absl::IsNotFound(verdict)) {
    // It has nothing to lose; it is bound once Muster has it.
    return Note(uid, absl::OkStatus());
  } else if (verdict.ok()) {
    SeeCluster(false);
  }
  return Note(uid, verdict);
}

absl::Status Identity::Bind() {
  const std::string uid = admitted();
  const absl::Status verdict =
      parts_.muster->BindCluster(uid, parts_.adopt, /*validate_only=*/false);
  if (verdict.ok()) SeeCluster(true);
  return Note(uid, verdict);
}

void Identity::SeeCluster(bool is_bound) {
  MutexLock lock(mutex_);
  made_anew_ = joined_ && !is_bound;
  if (!is_bound) return;
  joined_ = true;
  if (std::exchange(missing_, false)) {
    log::Info("Muster has the cluster again",
              {{"cluster", LastIdOf(parts_.muster->cluster())}, {"kubernetes_uid", uid_}});
  }
}

absl::Status Identity::ConfirmCluster() {
  const absl::Status shown = parts_.muster->GetCluster().status();
  if (absl::IsNotFound(shown)) MissCluster();
  return shown;
}

void Identity::MissCluster() {
  MutexLock lock(mutex_);
  made_anew_ = false;
  if (!joined_ || std::exchange(missing_, true)) return;
  const std::string id(LastIdOf(parts_.muster->cluster()));
  log::Error("Muster does not have the cluster any more; NodePools are not taken up",
             {{"cluster", id},
              {"what_to_do",
               absl::StrCat("make the cluster ", id,
                            " again: musterctl apply, or a restart of the adapter, which announces "
                            "it; or, if it is there, let the adapter see it (policy file); or, if "
                            "it is not wanted any "
                            "more, take the adapter away")}});
}

bool Identity::cluster_missing() const {
  MutexLock lock(mutex_);
  return missing_;
}

bool Identity::made_anew() const {
  MutexLock lock(mutex_);
  return made_anew_;
}

absl::Status Identity::Confirm() {
  ASSIGN_OR_RETURN(const std::string uid, Ask());
  const std::string served = admitted();
  if (uid == served) return absl::OkStatus();
  BecomeForeign("the API server has become another Kubernetes's; nothing more is done", uid,
                served);
  return absl::AbortedError(
      absl::StrCat("the API server is of the Kubernetes ", uid, ", not of ", served));
}

absl::Status Identity::ConfirmBinding() {
  RETURN_IF_ERROR(Confirm());
  ASSIGN_OR_RETURN(const lifecycle::v1::Cluster cluster, parts_.muster->GetCluster());
  const std::string& bound = cluster.kubernetes_uid();
  const std::string served = admitted();
  if (bound == served) return absl::OkStatus();
  // One that was made anew is bound again by this adapter.
  if (bound.empty()) return absl::AbortedError("Muster has the cluster as nobody's");
  // Whoever answered may be behind: whoever writes decides.
  const absl::Status verdict =
      parts_.muster->BindCluster(served, parts_.adopt, /*validate_only=*/true);
  if (!absl::IsFailedPrecondition(verdict)) return verdict;
  BecomeForeign("the cluster was turned over to another Kubernetes; nothing more is done", served,
                bound);
  return absl::AbortedError(
      absl::StrCat("Muster has the cluster as the Kubernetes ", bound, ", not as ", served));
}

std::string Identity::admitted() const {
  MutexLock lock(mutex_);
  return uid_;
}

void Identity::BecomeForeign(absl::string_view what, absl::string_view kubernetes_uid,
                             absl::string_view uid_in_muster) {
  {
    MutexLock lock(mutex_);
    if (std::exchange(foreign_, true)) return;
  }
  log::Error(what, {{"kubernetes_uid", kubernetes_uid}, {"uid_in_muster", uid_in_muster}});
  parts_.metrics->SetRefused(true);
  parts_.foreign();
}

bool Identity::foreign() const {
  MutexLock lock(mutex_);
  return foreign_;
}

}  // namespace muster::kubernetes
