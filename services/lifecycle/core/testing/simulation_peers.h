#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/lifecycle/core/demand.h"
#include "services/lifecycle/core/snapshot.h"

// For tests: quota, capacity and configuration as one pool sees them, by knobs.
namespace muster::lifecycle {

inline constexpr char kSimProfile[] = "np-000000000001";
// Of tests that stage another.
inline constexpr char kNewerProfile[] = "np-000000000002";

class SimPeers {
 public:
  // 100 machines are free: g100 to g199.
  SimPeers() {
    for (int i = 0; i < 100; ++i) free_.insert(absl::StrCat("g", 100 + i));
    configuration.active = kSimProfile;
    configuration.revisions.push_back(Made(kSimProfile));
  }

  // --- quota ---
  int64_t limit = 50;
  bool quota_away = false;
  bool quota_not_set = false;
  int64_t holding() const { return holding_; }
  bool has_holding() const { return has_holding_; }

  // --- capacity ---
  bool capacity_away = false;
  // Machines that match the pool's node affinity; nullopt: all.
  std::optional<std::set<std::string>> matching = {};
  int rack_size = 0;                                  // 0: machines have no racks
  std::map<std::string, std::string> stands_in = {};  // machines that stand in another rack by now
  bool whole = false;                                 // it says so of a gang
  bool no_whole_rack = false;                         // that is not held, of however many machines
  ReclaimedFor reclaimed = {};                        // from spot, for this pool
  std::vector<std::string> taken = {};                // Nodes of other pools
  std::optional<absl::Duration> wait = {};            // that capacity estimates
  const std::set<std::string>& machines() const { return held_; }
  const std::set<std::string>& broken() const { return broken_; }
  const std::set<std::string>& others() const { return others_; }
  bool has_claim() const { return has_claim_; }
  // That the claim wants in all.
  int64_t claimed() const { return claim_nodes_; }

  // Capacity serves its queue at any time, not only when it is asked. Its clock is not the rows'.
  void Serve() {
    for (auto it = free_.begin();
         it != free_.end() && static_cast<int64_t>(held_.size()) < claim_nodes_;) {
      const auto machine = it++;
      if (!Matches(*machine)) continue;
      granted_[*machine] = last_grant_ += absl::Seconds(1);
      held_.insert(free_.extract(machine));
    }
  }
  // Other pools take `n` free machines, and give back those that they have.
  void OthersTake(size_t n) {
    while (n-- > 0 && !free_.empty()) others_.insert(free_.extract(free_.begin()));
  }
  void OthersLeave() { free_.merge(others_); }
  // More machines come, as free ones: m1000, m1001, ...
  void Deliver(int n) {
    for (int i = 0; i < n; ++i) free_.insert(absl::StrCat("m", 1'000 + i));
  }
  // The services know later requests of the pool than it does: its rows are of a past.
  void GoAhead(int64_t of_quota, int64_t of_capacity, int64_t of_configuration) {
    holding_generation_ += of_quota;
    claim_generation_ += of_capacity;
    configuration_generation_ += of_configuration;
  }
  // In that future the pool was charged for more.
  void GrowHolding(int64_t more) { holding_ += more; }
  // In that future the claim had grown.
  void GrowClaim(int64_t more) {
    claim_nodes_ += more;
    Serve();
  }
  // Machines come back from repair, as free ones.
  void Repair() { free_.merge(broken_); }
  // Free machines go out of service.
  void Retire(size_t n) {
    while (n-- > 0 && !free_.empty()) free_.erase(free_.begin());
  }
  // Machines of the pool are needed elsewhere, or no longer.
  void Reclaim(const std::string& machine, absl::Time at) { reclaims_[machine] = at; }
  void TakeBack(const std::string& machine) { reclaims_.erase(machine); }

  // Capacity no longer knows a machine as the pool's, or again.
  void Forget(const std::string& machine) { others_.insert(held_.extract(machine)); }
  void Recall(const std::string& machine) { held_.insert(others_.extract(machine)); }

  // --- configuration ---
  bool configuration_away = false;
  ConfigurationFacts configuration = {};
  size_t breaker = 3;

  static NodeConfiguration Made(const std::string& profile) {
    NodeConfiguration made;
    made.node_profile = profile;
    made.created_at = absl::FromUnixSeconds(1'749'000'000);
    made.summary = {"Kubernetes 1.33"};
    return made;
  }
  // Becomes active as soon as no Node is mid-delivery.
  void Stage(const std::string& profile) { configuration.waiting = Made(profile); }
  void Pend(const std::string& profile) { configuration.pending = Made(profile); }
  void Promote() {
    Order(ConfigurationOrder::Kind::kPromote,
          configuration.pending ? configuration.pending->node_profile : "");
  }
  void RollBackTo(const std::string& profile) {
    Order(ConfigurationOrder::Kind::kRollback, profile);
  }
  // The pool's uid is released in all three services, by somebody else than the pool.
  void ReleaseUid() {
    released_ = true;
    holding_ = claim_nodes_ = 0;
    free_.merge(held_);
    has_holding_ = has_claim_ = false;
  }
  // That was so long ago that they do not know it any more.
  void ForgetRelease() { released_ = false; }
  void Disable(const std::string& profile) { Revision(profile)->disabled = true; }
  void Enable(const std::string& profile) {
    NodeConfiguration* revision = Revision(profile);
    revision->disabled = false;
    ++revision->enable_count;
  }

 protected:
  PeerReply<HoldingFacts> AskQuota(const HoldingAsk& ask) {
    using V = HoldingFacts::Verdict;
    PeerReply<HoldingFacts> answer;
    answer.state = PeerReply<HoldingFacts>::State::kAway;
    answer.error = "quota is away";
    if (IsLate(ask, answer)) return answer;
    if (quota_away) return answer;
    if (IsTooOld(ask.generation, holding_generation_, answer)) return answer;
    answer.state = PeerReply<HoldingFacts>::State::kHere;
    has_holding_ = !ask.release;
    holding_generation_ = ask.generation;
    const int64_t nodes = ask.at_least ? std::max(ask.nodes, holding_) : ask.nodes;
    const bool fits = nodes <= holding_ || nodes <= limit;
    if (fits) holding_ = nodes;
    const V refused = limit == 0 || quota_not_set ? V::kNotSet : V::kOver;
    const bool within = fits && !quota_not_set && holding_ <= limit;
    answer.value = {within ? V::kUnder : refused, holding_, limit, holding_};
    return answer;
  }

  PeerReply<ClaimFacts> AskCapacity(const ClaimAsk& ask, bool with_affinity) {
    PeerReply<ClaimFacts> answer;
    answer.state = PeerReply<ClaimFacts>::State::kAway;
    answer.error = "capacity is away";
    if (IsLate(ask, answer)) return answer;
    if (capacity_away) return answer;
    if (IsTooOld(ask.generation, claim_generation_, answer)) return answer;
    if (ask.generation > claim_generation_) {
      claim_generation_ = ask.generation;
      claim_nodes_ = ask.nodes;
      leaving_nodes_ = ask.leaving_nodes;
      for (const MachineReturn& back : ask.returns) TakeIn(back);
      if (ask.release && !held_.empty()) std::abort();
      has_claim_ = !ask.release;
    }
    with_affinity_ = with_affinity;
    Serve();
    answer.state = PeerReply<ClaimFacts>::State::kHere;
    answer.value = ClaimNow();
    return answer;
  }

  PeerReply<ConfigurationFacts> AskConfiguration(const ConfigurationAsk& ask) {
    using S = PeerReply<ConfigurationFacts>::State;
    PeerReply<ConfigurationFacts> answer;
    answer.state = configuration_away ? S::kAway : S::kHere;
    answer.error = configuration_away ? "configuration is away" : "";
    if (IsLate(ask, answer)) return answer;
    if (configuration_away) return answer;
    if (IsTooOld(ask.generation, configuration_generation_, answer)) return answer;
    configuration_generation_ = ask.generation;
    if (!ask.release) {
      Break(ask.boot_failures);
      if (!ask.delivering) Switch();
    }
    answer.value = configuration;
    return answer;
  }

 private:
  template <class T>
  static bool IsTooOld(int64_t asked, int64_t last, PeerReply<T>& answer) {
    if (asked >= last) return false;
    answer.state = PeerReply<T>::State::kRefused;
    answer.error = "generation too old";
    answer.reason = "GENERATION_TOO_OLD";
    answer.last_generation = last;
    return true;
  }
  // Refuses what is asked for a pool that was released.
  template <class Ask, class T>
  bool IsLate(const Ask& ask, PeerReply<T>& answer) const {
    if (!released_ || ask.release) return false;
    answer = {
        .state = PeerReply<T>::State::kRefused, .error = "released", .reason = "POOL_RELEASED"};
    return true;
  }

  bool Matches(const std::string& machine) const {
    return !with_affinity_ || !matching || matching->contains(machine);
  }
  int64_t CountMatching(const std::set<std::string>& of) const {
    return std::count_if(of.begin(), of.end(),
                         [&](const std::string& machine) { return Matches(machine); });
  }

  void TakeIn(const MachineReturn& back) {
    using R = MachineReturn::Reason;
    const auto granted = granted_.find(back.machine);
    if (back.grant_time != kNever && granted != granted_.end() &&
        granted->second != back.grant_time)
      return;
    if (held_.erase(back.machine) == 0) return;
    reclaims_.erase(back.machine);
    auto& to = back.reason == R::kBroken ? broken_ : back.reason == R::kPreempted ? others_ : free_;
    to.insert(back.machine);
  }

  ClaimFacts ClaimNow() const {
    ClaimFacts now;
    const auto held = static_cast<int64_t>(held_.size());
    now.machines.assign(held_.begin(), held_.end());
    now.nodes = claim_nodes_;
    now.outstanding = std::max<int64_t>(0, claim_nodes_ - held);
    for (const auto* all : {&held_, &free_, &others_}) {
      now.in_service += static_cast<int64_t>(all->size());
      now.matching += CountMatching(*all);
    }
    now.matching_in_repair = CountMatching(broken_);
    now.reason = ReasonNow(now);
    if (now.reason == ClaimFacts::Reason::kQueued) now.queue = QueuePlace{1, 0, wait, wait};
    if (now.outstanding > 0) now.reclaimed = reclaimed;
    now.taken = taken;
    for (const auto& [machine, at] : granted_) {
      if (held_.contains(machine)) now.grant_times.emplace(machine, at);
    }
    for (const std::string& machine : held_) {
      if (rack_size == 0) break;
      const int number = std::atoi(machine.c_str() + 1);
      const auto other = stands_in.find(machine);
      now.racks[machine] =
          other != stands_in.end() ? other->second : absl::StrCat("rack-", number / rack_size);
    }
    for (const auto& [machine, at] : reclaims_) {
      if (held_.contains(machine)) now.reclaims.push_back({machine, at});
    }
    return now;
  }

  ClaimFacts::Reason ReasonNow(const ClaimFacts& now) const {
    using R = ClaimFacts::Reason;
    const bool affinity_matters = now.matching < now.in_service;
    if (now.outstanding == 0) return R::kSufficient;
    if (now.in_service == 0) return R::kNoneAvailable;
    if (now.matching == 0) return R::kNoneAvailableNodeAffinity;
    if (whole && now.matching < now.nodes && now.machines.empty()) return R::kNoneAvailable;
    if (no_whole_rack && affinity_matters)
      return now.machines.empty() ? R::kNoneAvailableNodeAffinity : R::kPartialNodeAffinity;
    if (no_whole_rack) return now.machines.empty() ? R::kNoneAvailable : R::kPartial;
    const int64_t nodes = now.nodes - leaving_nodes_;
    if (now.matching >= nodes || now.machines.empty()) return R::kQueued;
    return affinity_matters && now.in_service >= nodes ? R::kPartialNodeAffinity : R::kPartial;
  }

  NodeConfiguration* Revision(const std::string& profile) {
    for (NodeConfiguration& revision : configuration.revisions) {
      if (revision.node_profile == profile) return &revision;
    }
    return nullptr;
  }

  void Break(const BootFailures& failures) {
    NodeConfiguration* revision = Revision(failures.node_profile);
    if (revision == nullptr || failures.machines.size() < breaker) return;
    if (revision->enable_count == failures.enable_count) revision->disabled = true;
  }

  void Switch() {
    if (!configuration.waiting) return;
    const NodeConfiguration next = *configuration.waiting;
    configuration.waiting.reset();
    configuration.active = next.node_profile;
    if (Revision(next.node_profile) == nullptr) configuration.revisions.push_back(next);
    for (ConfigurationOrder& order : configuration.orders) {
      if (order.outcome == ConfigurationOrder::Outcome::kWaiting) {
        order.outcome = ConfigurationOrder::Outcome::kDone;
      }
    }
  }

  void Order(ConfigurationOrder::Kind kind, const std::string& profile) {
    using Kind = ConfigurationOrder::Kind;
    using Result = ConfigurationOrder::Outcome;
    ConfigurationOrder order{static_cast<int64_t>(configuration.orders.size()) + 1, kind, profile};
    const NodeConfiguration* revision = Revision(profile);
    ConfigurationOrder* other = nullptr;
    for (ConfigurationOrder& o : configuration.orders) {
      if (o.outcome == Result::kWaiting) other = &o;
    }
    if (other != nullptr && other->kind != kind) {
      order.outcome = other->outcome = Result::kConflict;
      order.message = other->message =
          "Asked for both a promotion and a rollback; both are dropped.";
      configuration.waiting.reset();
    } else if (kind == Kind::kPromote && profile.empty()) {
      order.outcome = Result::kNoPending;
      order.message = "There is no pending configuration.";
    } else if (kind == Kind::kRollback && (revision == nullptr || revision->disabled)) {
      order.outcome = Result::kRollbackFailed;
      order.message = absl::StrCat("Configuration ", profile, " is not there or disabled.");
    } else {
      order.outcome = Result::kWaiting;
      configuration.waiting = Made(profile);
      if (kind == Kind::kPromote) configuration.pending.reset();
    }
    configuration.orders.push_back(std::move(order));
  }

  bool released_ = false;
  int64_t holding_ = 0;
  int64_t holding_generation_ = 0;
  bool has_holding_ = false;
  int64_t claim_generation_ = 0;
  int64_t configuration_generation_ = 0;
  int64_t claim_nodes_ = 0;
  int64_t leaving_nodes_ = 0;
  bool has_claim_ = false;
  bool with_affinity_ = false;
  std::set<std::string> free_;
  std::set<std::string> held_;
  std::map<std::string, absl::Time> granted_;  // when last, of those that were ever held
  absl::Time last_grant_ = absl::UnixEpoch();
  std::set<std::string> broken_;
  std::set<std::string> others_;  // in service, with other pools
  std::map<std::string, absl::Time> reclaims_;
};

}  // namespace muster::lifecycle
