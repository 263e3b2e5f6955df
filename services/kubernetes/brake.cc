#include "services/kubernetes/brake.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "services/common/log.h"

namespace muster::kubernetes {
namespace {

Removals SizeOf(const Brake::Candidate& candidate, bool is_pool) {
  return {is_pool ? 1 : 0, candidate.nodes};
}

}  // namespace

History::Verdict Brake::Judge(const std::string& uid) {
  const History::Verdict of_history = parts_.history->Judge(uid);
  if (of_history != History::Verdict::kObey) return of_history;
  {
    MutexLock lock(mutex_);
    if (pools_.cleared.contains(uid) || nodes_.cleared.contains(uid))
      return History::Verdict::kObey;
    if (pools_.held.contains(uid) || nodes_.held.contains(uid)) return History::Verdict::kKeep;
    asked_ = true;
  }
  parts_.wake();
  return History::Verdict::kWait;
}

std::optional<std::string> Brake::HeldAt(const std::string& pool) const {
  MutexLock lock(mutex_);
  const auto found = shown_.find(pool);
  return found == shown_.end() ? std::nullopt : std::optional(found->second);
}

bool Brake::decided() const {
  MutexLock lock(mutex_);
  return decided_;
}

void Brake::Look(absl::Time now, absl::Duration steady) {
  // While Muster takes a snapshot, whom it does not know is not known either: that decides nothing,
  // and what was decided stays.
  const std::optional<int64_t> stay = parts_.history->stay();
  if (!stay) return;
  {
    MutexLock lock(mutex_);
    const bool idle = pools_.cleared.empty() && pools_.held.empty() && nodes_.cleared.empty() &&
                      nodes_.held.empty();
    if (!asked_ && idle) return;
    asked_ = false;
  }
  const PendingRemovals pending = parts_.look();
  if (parts_.history->stay() != stay) {
    MutexLock lock(mutex_);
    asked_ = true;  // whoever asked is still to be answered
    return;
  }
  const Moment moment = {now, steady};
  std::optional<Order> order;
  const bool pools_go =
      Decide(&Brake::pools_, pending.node_pools, pending.all_pools, moment, order);
  const bool nodes_go = Decide(&Brake::nodes_, pending.nodes, pending.all_nodes, moment, order);
  Show(pending);
  const auto names = [](bool go, const std::vector<Candidate>& candidates) {
    std::vector<std::string> all;
    for (const Candidate& candidate : candidates) {
      if (go) all.push_back(candidate.name);
    }
    return all;
  };
  if (pools_go || nodes_go)
    parts_.again(names(nodes_go, pending.nodes), names(pools_go, pending.node_pools));
}

Brake::Question Brake::Ask(Kind Brake::*which, const std::vector<Candidate>& candidates,
                           const Removals& all, absl::Duration steady) {
  const bool is_pools = which == &Brake::pools_;
  Question question{.facts = {.all = all}};
  BrakeFacts& facts = question.facts;
  MutexLock lock(mutex_);
  Kind& kind = this->*which;
  while (!kind.went.empty() && kind.went.front().first + kBrakeWindow <= steady)
    kind.went.pop_front();
  for (const auto& [time, removals] : kind.went) facts.went = facts.went + removals;
  for (const Candidate& candidate : candidates) {
    question.there.insert(candidate.uid);
    if (kind.cleared.contains(candidate.uid)) continue;
    question.fresh.insert(candidate.uid);
    facts.would_go = facts.would_go + SizeOf(candidate, is_pools);
  }
  absl::erase_if(kind.cleared,
                 [&](const std::string& uid) { return !question.there.contains(uid); });
  return question;
}

bool Brake::Decide(Kind Brake::*which, const std::vector<Candidate>& candidates,
                   const Removals& all, const Moment& moment, std::optional<Order>& order) {
  Question question = Ask(which, candidates, all, moment.steady);
  BrakeFacts& facts = question.facts;
  BrakeVerdict verdict = JudgeRemovals(facts, parts_.limits);
  if (verdict == BrakeVerdict::kHold) {
    facts.allowed = AllowedBy(order, moment);
    verdict = JudgeRemovals(facts, parts_.limits);
    if (verdict == BrakeVerdict::kPassByOrder && !TakeOff(*order, facts.would_go, moment.steady))
      verdict = BrakeVerdict::kHold;
  }
  MutexLock lock(mutex_);
  Kind& kind = this->*which;
  const bool holds = verdict == BrakeVerdict::kHold;
  kind.holds = holds ? facts.would_go : Removals();
  kind.held.clear();
  if (holds) kind.held = std::move(question.fresh);
  if (holds || facts.would_go.empty()) return false;
  if (verdict == BrakeVerdict::kPass) kind.went.emplace_back(moment.steady, facts.would_go);
  kind.cleared = std::move(question.there);
  return true;
}

Removals Brake::AllowedBy(std::optional<Order>& order, const Moment& moment) {
  if (!order) {
    const auto found = parts_.order();
    if (!found.ok()) {
      if (const auto others = unread_.Tell(moment.steady)) {
        log::Warn("it could not be read which removals are allowed",
                  {{"error", found.status()}, {"others_not_told", *others}});
      }
    }
    order = found.ok() ? *found : Order();
  }
  return moment.now < order->expire_time ? order->allowed : Removals();
}

bool Brake::TakeOff(Order& order, const Removals& going, absl::Duration steady) {
  auto left = parts_.take(order, going);
  if (!left.ok()) {
    if (const auto others = unused_.Tell(steady)) {
      log::Warn("the order to let removals go could not be used",
                {{"error", left.status()}, {"others_not_told", *others}});
    }
    return false;
  }
  order = *std::move(left);
  log::Warn("removals go on by order", {{"pools", going.node_pools}, {"nodes", going.nodes}});
  return true;
}

std::string Brake::MessageOf(const Shown& shown, const Removals& all, const std::string& command) {
  return absl::StrCat(
      shown.gone ? "Muster's NodePool of this name has no object of its uid. " : "",
      shown.nodes > 0 ? absl::StrCat("Muster does not know ", shown.nodes, " of its Nodes. ") : "",
      "In this cluster ", all.node_pools, " NodePools and ", all.nodes,
      " Nodes would go because one side does not know them: they are held. If they are to go: ",
      command, ". Else see which side was restored, or is not the one that is meant.");
}

std::map<std::string, Brake::Shown> Brake::Collect(const PendingRemovals& pending) const {
  std::map<std::string, Shown> shown;
  for (const Candidate& candidate : pending.node_pools) {
    if (pools_.held.contains(candidate.uid)) shown[candidate.pool] = {candidate, true};
  }
  for (const Candidate& candidate : pending.nodes) {
    if (!nodes_.held.contains(candidate.uid)) continue;
    Shown& at = shown[candidate.pool];
    if (at.nodes++ == 0) at.of = candidate;
  }
  return shown;
}

void Brake::Show(const PendingRemovals& pending) {
  std::vector<Change> changes;
  Removals held;
  {
    MutexLock lock(mutex_);
    held = pools_.holds + nodes_.holds;
    const std::string command = ReleasingCommand(parts_.cluster, held);
    std::map<std::string, std::string> messages;
    for (const auto& [pool, at] : Collect(pending)) {
      const std::string& message = messages[pool] = MessageOf(at, held, command);
      const auto before = shown_.find(pool);
      const bool begins = before == shown_.end();
      if (begins || before->second != message) changes.push_back({at.of, message, begins});
    }
    for (const auto& [pool, message] : shown_) {
      if (!messages.contains(pool)) changes.push_back({Candidate{.pool = pool}});
    }
    shown_ = std::move(messages);
    decided_ = true;
    parts_.metrics->SetHeld(nodes_.held.size(), pools_.held.size());
  }
  if (!changes.empty() && !held.empty()) {
    log::Warn("more would go than a few because one side does not know it; it is held",
              {{"pools", held.node_pools},
               {"nodes", held.nodes},
               {"to_let_go", ReleasingCommand(parts_.cluster, held)}});
  }
  for (const Change& change : changes) parts_.show(change.of, change.message, change.begins);
}

}  // namespace muster::kubernetes
