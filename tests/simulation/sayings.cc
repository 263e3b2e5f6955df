#include "tests/simulation/sayings.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/common/count_text.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/quota/core/overrides.h"
#include "tests/simulation/peers.h"
#include "tests/testing/wording.h"

namespace muster::simulation {
namespace {

using lifecycle::Node;
using lifecycle::NodeState;
using lifecycle::Obstacle;
using lifecycle::Pool;

class Sayings {
 public:
  Sayings(const Cloud& cloud, const Pool& pool, const std::vector<Obstacle>& obstacles)
      : cloud_(cloud),
        pool_(pool),
        obstacles_(obstacles),
        nodes_(cloud.lifecycle.state().NodesOf(pool.name)),
        claim_(cloud.capacity.state().FindClaim(pool.uid)) {}

  std::string Run() {
    Wording();
    if (pool_.deleting()) return fault_;
    for (const char* type : {"Validated", "Capacity", "Quota"})
      Check(StatusOf(type) != "Unknown", absl::StrCat(type, " is unknown, and all answer"));
    Validated();
    Counters();
    Quota();
    Capacity();
    AtTarget();
    Configuration();
    return fault_;
  }

 private:
  void Check(bool holds, const std::string& fault) {
    if (!holds && fault_.empty()) fault_ = fault;
  }
  void Wording() {
    const auto check = [&](const std::string& text) {
      const std::string fault = testing::WordingFault(text);
      Check(fault.empty(), fault);
    };
    for (const auto& condition : pool_.status.conditions) check(condition.message);
    for (const Obstacle& obstacle : obstacles_) check(obstacle.message);
    const auto* events = cloud_.lifecycle.state().EventsOf(pool_.uid);
    if (events == nullptr) return;
    for (const lifecycle::State::Seen& seen : *events) check(seen.event->message);
  }
  std::string Says(absl::string_view type) const {
    return std::string(lifecycle::ReasonOf(pool_.status.conditions, type));
  }
  std::string StatusOf(absl::string_view type) const {
    const auto* condition = lifecycle::FindCondition(pool_.status.conditions, type);
    return condition == nullptr ? "" : condition->status;
  }
  std::string MessageOf(absl::string_view type) const {
    const auto* condition = lifecycle::FindCondition(pool_.status.conditions, type);
    return condition == nullptr ? "" : condition->message;
  }
  bool Explains(lifecycle::ObstacleReason reason) const {
    return std::any_of(obstacles_.begin(), obstacles_.end(), [&](const Obstacle& obstacle) {
      return obstacle.reason == lifecycle::ObstacleReasonName(reason);
    });
  }
  bool IsValid() const { return Says("Validated") == "Valid"; }
  bool IsOffered() const {
    const lifecycle::CatalogueFacts facts = FactsFor(pool_, cloud_.capacity.state());
    return facts.type && facts.offered &&
           (pool_.spec.compute_class != "spot" || facts.general_access);
  }
  int64_t InService() const {
    int64_t count = 0;
    for (const auto& [key, row] : cloud_.capacity.state().table<capacity::MachineRow>().rows()) {
      const capacity::MachineRow& machine = *row.row;
      count += machine.zone == pool_.zone && machine.instance_type == pool_.spec.instance_type &&
               machine.state != capacity::MachineState::kInRepair &&
               machine.state != capacity::MachineState::kRetired;
    }
    return count;
  }
  int64_t Outstanding() const {
    int64_t nodes = 0;
    if (claim_ == nullptr) return nodes;
    for (const capacity::ClaimPart& part : claim_->parts) nodes += part.nodes;
    return nodes;
  }
  const configuration::PoolConfiguration* ConfigurationRow() const {
    return cloud_.configuration.state().table<configuration::PoolConfiguration>().Find(
        configuration::PoolConfiguration{.pool_uid = pool_.uid}.Key());
  }
  // No machine matches, in service or in repair.
  bool IsUnmet() const {
    if (pool_.spec.node_affinity.empty() || claim_ == nullptr) return false;
    const capacity::ClaimView view = ViewOf(cloud_.capacity.state(), *claim_);
    return view.in_service > 0 && view.matching == 0 && view.matching_in_repair == 0;
  }

  void Validated() {
    const auto* configuration = ConfigurationRow();
    const bool unresolved = configuration != nullptr && !configuration->problem.empty();
    Check(IsOffered() || !IsValid(), "it is valid, and the zone does not offer what it is of");
    Check(!IsUnmet() || !IsValid(), "it is valid, and no machine matches its affinity");
    Check(IsValid() || !IsOffered() || IsUnmet() || unresolved,
          absl::StrCat("it is invalid, and nothing is wrong: ", MessageOf("Validated")));
    Check(Explains(lifecycle::ObstacleReason::kInvalidSpec) != IsValid(),
          "explain and Validated differ");
  }

  void Counters() {
    int64_t present = 0;
    int64_t in_progress = 0;
    for (const Node* node : nodes_) {
      present += lifecycle::IsPresent(*node) ? 1 : 0;
      in_progress += lifecycle::IsInProgress(node->state) ? 1 : 0;
    }
    Check(pool_.status.current_nodes == present,
          absl::StrCat("current_nodes is ", pool_.status.current_nodes, ", not ", present));
    Check(pool_.status.in_progress == in_progress,
          absl::StrCat("in_progress is ", pool_.status.in_progress, ", not ", in_progress));
    // What may not be asked for, because nothing could boot, is counted as queued, too.
    const int64_t queued = pool_.status.queued_nodes;
    Check(IsDisabled(pool_) ? queued >= Outstanding() : queued == Outstanding(),
          absl::StrCat("queued_nodes is ", queued, ", and ", Outstanding(), " are outstanding"));
  }

  void Quota() {
    const std::string name = QuotaOf(pool_);
    const auto* quota = cloud_.quota.state().table<quota::Quota>().Find(name);
    const int64_t limit = quota == nullptr ? 0 : LimitAt(*quota, cloud_.quota.TimeAt(cloud_.now));
    const auto* holding = cloud_.quota.state().table<quota::Holding>().Find(
        absl::StrCat(name, "/holdings/", pool_.uid));
    const int64_t own = holding == nullptr ? 0 : holding->nodes;
    const int64_t held = cloud_.quota.state().Held(name);
    const auto size = static_cast<int64_t>(nodes_.size());
    const int64_t needed = std::max(IsValid() ? pool_.spec.target_nodes : 0, size);
    // Replacements that come early are charged, and say nothing of the target.
    if (pool_.account.prefill_nodes > 0) return;
    const std::string is = limit == 0 ? "NotSet" : held > limit || own < needed ? "Over" : "Under";
    Check(Says("Quota") == is,
          absl::StrCat("Quota says ", Says("Quota"), ", and it is ", is, ": ", own, " of ", held,
                       " held under ", limit, ", ", needed, " are needed"));
    Check(Explains(lifecycle::ObstacleReason::kOverQuota) == (is == "Over"),
          "explain and Quota differ");
    Check(Explains(lifecycle::ObstacleReason::kQuotaNotSet) == (is == "NotSet"),
          "explain and Quota differ in whether there is one");
  }

  void Capacity() {
    const std::string reason = Says("Capacity");
    if (!IsValid()) {
      const bool has_all = static_cast<int64_t>(nodes_.size()) >= pool_.spec.target_nodes;
      return Check(has_all || reason != "Sufficient",
                   "Capacity is sufficient, and some are missing");
    }
    Check((reason == "Sufficient") == (Outstanding() == 0),
          absl::StrCat("Capacity says ", reason, ", and ", Outstanding(), " are outstanding"));
    const bool by_stock = absl::StartsWith(reason, "Partial") || reason == "NoneAvailable" ||
                          reason == "NoneAvailableNodeAffinity";
    const int64_t in_service = InService();
    const std::string says = MessageOf("Capacity");
    Check(
        !by_stock || (in_service == 0 ? absl::StrContains(says, "No machine")
                                      : absl::StrContains(says, CountText(in_service, "machine"))),
        absl::StrCat("Capacity says: ", says, "; in service are ", in_service));
    const bool explained = Explains(lifecycle::ObstacleReason::kNotEnoughMachines) ||
                           Explains(lifecycle::ObstacleReason::kNodeAffinity) ||
                           Explains(lifecycle::ObstacleReason::kQueued);
    Check(explained == (Outstanding() > 0), "explain and Capacity differ");
  }

  void AtTarget() {
    int64_t in_service = 0;
    int64_t leaving = 0;
    for (const Node* node : nodes_) {
      const bool goes = node->removal_cause != lifecycle::RemovalCause::kNone;
      const bool serves =
          node->state == NodeState::kProduction || node->state == NodeState::kTriage;
      in_service += serves && !goes ? 1 : 0;
      leaving += goes && lifecycle::IsPresent(*node) ? 1 : 0;
    }
    const int64_t target = pool_.spec.target_nodes;
    const bool met = Says("AtTarget") == "TargetMet";
    Check(!met || in_service >= target,
          absl::StrCat("TargetMet, and ", in_service, " of ", target, " are in service"));
    Check(met || in_service != target || leaving > 0,
          absl::StrCat("AtTarget says ", Says("AtTarget"), ", and all are in service"));
    Check(met || !obstacles_.empty(),
          absl::StrCat("it is ", Says("AtTarget"), ", and nothing says why"));
  }

  void Configuration() {
    const auto* row = ConfigurationRow();
    if (!IsValid() || row == nullptr) return;
    Check(pool_.status.node_profile == row->active(),
          absl::StrCat("the active configuration is ", row->active(), ", not ",
                       pool_.status.node_profile));
    Check(pool_.status.pending.has_value() == row->has_pending(), "what is pending differs");
    const bool disabled = std::any_of(
        row->revisions.begin(), row->revisions.end(), [&](const configuration::Revision& revision) {
          return revision.node_profile == row->active() && revision.disabled;
        });
    Check(Explains(lifecycle::ObstacleReason::kConfigurationDisabled) == disabled,
          "explain and the configuration differ in whether it is disabled");
    const bool up_to_date = std::all_of(nodes_.begin(), nodes_.end(), [&](const Node* node) {
      return !lifecycle::IsInService(node->state) ||
             (node->observed.node_profile == row->active() &&
              (node->state != NodeState::kReconfiguring ||
               node->desired.node_profile == row->active()));
    });
    if (StatusOf("NodeReconfigurationRequired") == "Unknown") return;
    Check((Says("NodeReconfigurationRequired") == "AllNodesUpToDate") == up_to_date,
          absl::StrCat("Nodes are ", up_to_date ? "" : "not ", "up to date, and it says ",
                       Says("NodeReconfigurationRequired")));
  }

  const Cloud& cloud_;
  const Pool& pool_;
  const std::vector<Obstacle>& obstacles_;
  const std::vector<const Node*> nodes_;
  const capacity::ClaimRow* const claim_;
  std::string fault_;  // the first
};

}  // namespace

std::string Contradiction(const Cloud& cloud, const Pool& pool,
                          const std::vector<Obstacle>& obstacles) {
  return Sayings(cloud, pool, obstacles).Run();
}

}  // namespace muster::simulation
