#include "services/lifecycle/core/errors.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/common/error.h"
#include "services/common/error_reasons.h"
#include "services/lifecycle/core/names.h"

namespace muster::lifecycle::error {

using muster::error::Detail;
using muster::error::FailedPrecondition;
using muster::error::Make;

namespace {

absl::Status TooMany(absl::string_view organization, int64_t most, absl::string_view what,
                     absl::string_view reason) {
  return Make(absl::StatusCode::kResourceExhausted,
              absl::StrCat("Organization ", organization, " has ", most, " ", what,
                           ", as many as an organization may have."),
              {.reason = std::string(reason),
               .metadata = {{"limit", absl::StrCat(most)}},
               .resource = absl::StrCat("organizations/", organization)});
}

}  // namespace

absl::Status TooManyPools(absl::string_view organization, int64_t most) {
  return TooMany(organization, most, "NodePools", "TOO_MANY_POOLS");
}

absl::Status TooManyClusters(absl::string_view organization, int64_t most) {
  return TooMany(organization, most, "clusters", "TOO_MANY_CLUSTERS");
}

absl::Status ZoneChanged(absl::string_view cluster) {
  return FailedPrecondition("ZONE_CHANGED", cluster, "A cluster's zone cannot be changed.");
}

absl::Status ClusterBound(absl::string_view cluster, absl::string_view bound,
                          absl::string_view given) {
  return FailedPrecondition(
      "CLUSTER_BOUND", cluster,
      bound.empty() ? absl::StrCat("The cluster is bound to no Kubernetes, not to ", given, ".")
                    : absl::StrCat("The cluster is the Kubernetes ", bound, ", not ", given,
                                   " (uids of the namespace kube-system)."));
}

absl::Status KubernetesTaken(absl::string_view cluster, absl::string_view other,
                             absl::string_view given) {
  const bool is_own = OrganizationOf(cluster) == OrganizationOf(other);
  return FailedPrecondition(
      "CLUSTER_BOUND", cluster,
      absl::StrCat(
          "The Kubernetes ", given, " (uid of the namespace kube-system) is ",
          is_own ? absl::StrCat("the cluster ", LastIdOf(other)) : "another organization's",
          " already. It can be this one's once that one is deleted, or bound to another "
          "Kubernetes."));
}

absl::Status ClusterHasPools(absl::string_view cluster, absl::string_view given) {
  return FailedPrecondition(
      "CLUSTER_HAS_POOLS", cluster,
      absl::StrCat("The cluster has NodePools, and nobody has said yet that it is the Kubernetes ",
                   given, " (uid of the namespace kube-system)."));
}

absl::Status ClusterInUse(absl::string_view cluster, absl::Span<const absl::string_view> pools) {
  return FailedPrecondition(
      "CLUSTER_IN_USE", cluster,
      absl::StrCat("The cluster has NodePools, e.g. ", absl::StrJoin(pools, ", "), "."));
}

absl::Status AllowanceEnded(absl::string_view cluster) {
  return FailedPrecondition("FAILED_PRECONDITION", cluster,
                            "The order that allows removals has ended: nothing can be taken off "
                            "it. A new one is given without an etag.");
}

absl::Status PoolDeleting(absl::string_view pool) {
  return FailedPrecondition("POOL_DELETING", pool, "NodePool is being deleted.");
}

absl::Status UidMismatch(absl::string_view pool, absl::string_view given, absl::string_view has) {
  return FailedPrecondition(
      muster::error::kUidMismatch, pool,
      absl::StrCat("`uid` is ", given, ", but the NodePool of this name has the uid ", has,
                   ": it is another one, made since or by somebody else. Read it again; to change "
                   "it, leave `uid` empty or say its own."));
}

// The other NodePool may be somebody else's: it is not named.
absl::Status UidTaken(absl::string_view pool, absl::string_view given) {
  return FailedPrecondition(muster::error::kUidMismatch, pool,
                            absl::StrCat("`uid` ", given,
                                         " is that of a NodePool with another name. Leave `uid` "
                                         "empty, so that a new one is given, or say another."));
}

absl::Status NodeProtected(absl::string_view node, absl::string_view until) {
  return FailedPrecondition(
      "NODE_PROTECTED", node,
      absl::StrCat("Node ", LastIdOf(node), " is protected until ", until, "."));
}

absl::Status ReconfigurationRunning(absl::string_view pool) {
  return FailedPrecondition("RECONFIGURATION_RUNNING", pool,
                            "Reconfigure reboots are under way: cancel them first.");
}

absl::Status NoReconfiguration(absl::string_view pool) {
  return FailedPrecondition("NO_RECONFIGURATION", pool, "No reconfigure reboots are under way.");
}

absl::Status ConfigurationDisabled(absl::string_view pool, absl::string_view profile) {
  return FailedPrecondition(
      "CONFIGURATION_DISABLED", pool,
      absl::StrCat("Configuration ", profile, " is disabled: too many boots failed."));
}

absl::Status DoesNotFit(absl::string_view node, absl::string_view state, absl::string_view what) {
  return FailedPrecondition("NODE_STATE", node,
                            absl::StrCat("Node is ", state, ": ", what, " does not fit."));
}

absl::Status PlanOutdated(absl::string_view pool, int64_t planned, int64_t current) {
  return Make(
      absl::StatusCode::kAborted,
      absl::StrCat("NodePool was planned at version ", planned, " and is at ", current, "."),
      Detail{.reason = muster::error::kPlanOutdated, .resource = std::string(pool)});
}

absl::Status MachineTaken(absl::string_view pool, absl::string_view machine) {
  return Make(absl::StatusCode::kAborted,
              absl::StrCat("Machine ", machine, " is a Node of another NodePool by now."),
              Detail{.reason = muster::error::kPlanOutdated, .resource = std::string(pool)});
}

absl::Status StaleLeader(int64_t given, int64_t current) {
  return Make(
      absl::StatusCode::kAborted,
      absl::StrCat("The lease under epoch ", given, " is over; the epoch is ", current, " now."),
      Detail{.reason = muster::error::kStaleLeader, .resource = "leases/reconciler"});
}

}  // namespace muster::lifecycle::error
