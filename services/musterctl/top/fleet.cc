#include "services/musterctl/top/fleet.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "services/common/resource_name.h"
#include "services/musterctl/top/times.h"
#include "services/rpc/client/bundle.h"

namespace muster::musterctl::top {
namespace {

using page::Source;
using type::v1::WATCH_EVENT_TYPE_CHANGED;
using type::v1::WATCH_EVENT_TYPE_DELETED;
using type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END;

constexpr absl::string_view kMachines = "machines/";
constexpr absl::string_view kClaims = "claims/";
constexpr absl::string_view kHolding = "organizations/*/quotas/*/holdings/*";
constexpr absl::string_view kPool = "organizations/*/clusters/*/nodePools/*";
constexpr absl::string_view kNode = "organizations/*/clusters/*/nodePools/*/nodes/*";

// Below 0: a before b.
int Natural(absl::string_view a, absl::string_view b) {
  while (!a.empty() && !b.empty()) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(a[0])) ||
        !absl::ascii_isdigit(static_cast<unsigned char>(b[0]))) {
      if (a[0] != b[0]) return a[0] < b[0] ? -1 : 1;
      a.remove_prefix(1);
      b.remove_prefix(1);
      continue;
    }
    const auto digits = [](absl::string_view& text) {
      const size_t zeros = std::min(text.find_first_not_of('0'), text.size());
      text.remove_prefix(zeros);
      const size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
      const absl::string_view number = text.substr(0, end);
      text.remove_prefix(end);
      return number;
    };
    const absl::string_view x = digits(a);
    const absl::string_view y = digits(b);
    if (x.size() != y.size()) return x.size() < y.size() ? -1 : 1;
    if (x != y) return x < y ? -1 : 1;
  }
  return static_cast<int>(!a.empty()) - static_cast<int>(!b.empty());
}

template <class Rows>
void EraseOthers(Rows& rows, const Round& now) {
  for (auto row = rows.begin(); row != rows.end();) {
    row = row->second.round.IsOver(now) ? rows.erase(row) : std::next(row);
  }
}

// Whether the row was last reported by another cell: then its deletion in this cell does not
// concern it. E.g. a cluster that was made anew in another cell, when the first cell's stream
// resumes late.
template <class Rows>
bool IsOfAnother(const Rows& rows, const std::string& key, size_t cell) {
  const auto row = rows.find(key);
  return row != rows.end() && row->second.round.cell != cell;
}

}  // namespace

bool NaturalLess(absl::string_view a, absl::string_view b) {
  const int order = Natural(a, b);
  return order != 0 ? order < 0 : a < b;
}

bool ByPlace::operator()(const Machine* a, const Machine* b) const {
  if (a->zone != b->zone) return NaturalLess(a->zone, b->zone);
  if (a->type != b->type) return NaturalLess(a->type, b->type);
  if (a->rack != b->rack) return NaturalLess(a->rack, b->rack);
  return std::tie(a->slot, a->id) < std::tie(b->slot, b->id);
}

template <class Message>
void Fleet::TakeAll(const Message& message, absl::Time now, size_t cell) {
  cell_ = cell;
  rpc::ForEachMessage(message, [&](const Message& one) {
    if (one.type() == WATCH_EVENT_TYPE_CHANGED || one.type() == WATCH_EVENT_TYPE_DELETED)
      last_change_ = now;
    TakeOne(one);
  });
}

void Fleet::Take(const capacity::v1::WatchCapacityResponse& message, absl::Time now, size_t cell) {
  TakeAll(message, now, cell);
}
void Fleet::Take(const quota::v1::WatchQuotasResponse& message, absl::Time now, size_t cell) {
  TakeAll(message, now, cell);
}
void Fleet::Take(const lifecycle::v1::WatchLifecycleResponse& message, absl::Time now,
                 size_t cell) {
  TakeAll(message, now, cell);
}

void Fleet::TakeOne(const capacity::v1::WatchCapacityResponse& message) {
  if (message.type() == WATCH_EVENT_TYPE_SNAPSHOT_END) return EndCapacity();
  const std::string id(LastIdOf(message.key()));
  if (message.has_machine()) return TakeMachine(message.machine());
  if (message.has_claim()) return TakeClaim(id, message.claim());
  if (message.type() != WATCH_EVENT_TYPE_DELETED) return;
  if (absl::StartsWith(message.key(), kClaims) && !IsOfAnother(claims_, id, cell_))
    claims_.erase(id);
  if (!absl::StartsWith(message.key(), kMachines)) return;
  const auto machine = machines_.find(id);
  if (machine != machines_.end() && machine->second.machine_round.cell == cell_) ForgetMachine(id);
}

void Fleet::TakeOne(const quota::v1::WatchQuotasResponse& message) {
  if (message.type() == WATCH_EVENT_TYPE_SNAPSHOT_END) return EndQuotas();
  const bool deleted = message.type() == WATCH_EVENT_TYPE_DELETED;
  if (MatchName(kHolding, message.key())) {
    if (deleted && IsOfAnother(holdings_, message.key(), cell_)) return;
    if (message.has_holding() || deleted)
      SetHeld(message.key(), message.holding().nodes(), !deleted);
    return;
  }
  if (message.key().empty() || (!message.has_quota() && !deleted)) return;
  if (deleted && IsOfAnother(quotas_, message.key(), cell_)) return;
  Quota& row = quotas_[message.key()];
  row.round = round(Source::kQuota);
  row.quota = deleted ? std::nullopt : std::optional(message.quota());
  Tidy(message.key());
}

void Fleet::TakeOne(const lifecycle::v1::WatchLifecycleResponse& message) {
  if (message.type() == WATCH_EVENT_TYPE_SNAPSHOT_END) return EndLifecycle();
  if (message.has_node()) return TakeNode(message.node());
  if (message.has_node_pool()) {
    ForgetPool(message.node_pool().name());
    pools_[message.node_pool().name()] = {message.node_pool(), round(Source::kLifecycle)};
    pool_by_uid_[message.node_pool().uid()] = message.node_pool().name();
    return;
  }
  if (message.type() != WATCH_EVENT_TYPE_DELETED) return;
  if (MatchName(kNode, message.key())) {
    const std::string id(LastIdOf(message.key()));
    const auto node = machines_.find(id);
    if (node != machines_.end() && node->second.node_round.cell == cell_)
      ForgetNode(id, ParentOf(message.key()));
  } else if (MatchName(kPool, message.key())) {
    if (!IsOfAnother(pools_, message.key(), cell_)) ForgetPool(message.key());
  }
}

void Fleet::Replace(const std::string& id, const Machine& told) {
  Machine& machine = machines_[id];
  places_.erase(&machine);
  machine = told;
  if (machine.machine.known) places_.insert(&machine);
  if (machine.machine.known || machine.node.known) return;
  machines_.erase(id);
}

void Fleet::TakeMachine(const capacity::v1::Machine& told) {
  const std::string id(LastIdOf(told.name()));
  const auto known = machines_.find(id);
  Machine machine = known == machines_.end() ? Machine{.id = id} : known->second;
  machine.zone = told.zone();
  machine.type = told.instance_type();
  machine.rack = told.rack();
  machine.slot = told.slot();
  machine.claim = told.claim();
  machine.machine.known = true;
  machine.machine.state = told.state();
  machine.machine.spot =
      !told.claim().empty() && told.compute_class() == type::v1::COMPUTE_CLASS_SPOT;
  machine.reclaim_time = TimeOf(told.reclaim_time());
  machine.earmark = told.earmark();
  machine.machine_round = round(Source::kCapacity);
  Replace(id, machine);
}

bool Fleet::HasLaterNode(const Machine& machine, const lifecycle::v1::Node& told) {
  // What was told before this snapshot may be gone.
  const bool is_told = machine.node.known && machine.node_round == round(Source::kLifecycle);
  return is_told && machine.pool != ParentOf(told.name()) &&
         machine.node_created > TimeOf(told.create_time());
}

void Fleet::TakeNode(const lifecycle::v1::Node& told) {
  const auto known = machines_.find(told.machine());
  if (known != machines_.end() && HasLaterNode(known->second, told)) return;
  Machine machine = known == machines_.end() ? Machine{.id = told.machine()} : known->second;
  machine.node.known = true;
  machine.node.state = told.state();
  machine.node.preempted = told.has_preempt_time();
  machine.pool = std::string(ParentOf(told.name()));
  machine.node_created = TimeOf(told.create_time());
  machine.preempt_time = TimeOf(told.preempt_time());
  machine.drain_time = TimeOf(told.desired().drain_time());
  machine.drain_deadline = TimeOf(told.desired().drain_deadline());
  machine.node_round = round(Source::kLifecycle);
  Replace(told.machine(), machine);
}

void Fleet::TakeClaim(const std::string& uid, const capacity::v1::Claim& told) {
  if (told.outstanding() == 0) {
    claims_.erase(uid);
    return;
  }
  Claim& row = claims_[uid];
  row.round = round(Source::kCapacity);
  row.claim = told;
  row.claim.clear_machines();
  row.claim.clear_granted();
}

void Fleet::ForgetMachine(const std::string& id) {
  const auto known = machines_.find(id);
  if (known == machines_.end()) return;
  Machine rest{.id = id};
  rest.node = known->second.node;
  rest.pool = known->second.pool;
  rest.node_created = known->second.node_created;
  rest.preempt_time = known->second.preempt_time;
  rest.drain_time = known->second.drain_time;
  rest.drain_deadline = known->second.drain_deadline;
  rest.node_round = known->second.node_round;
  Replace(id, rest);
}

void Fleet::ForgetNode(const std::string& id, absl::string_view pool) {
  const auto known = machines_.find(id);
  // It may be another pool's Node by now.
  if (known == machines_.end() || known->second.pool != pool) return;
  Machine rest = known->second;
  rest.node = {};
  rest.pool.clear();
  rest.node_created = absl::InfinitePast();
  rest.preempt_time = rest.drain_time = rest.drain_deadline = absl::InfinitePast();
  Replace(id, rest);
}

void Fleet::ForgetPool(const std::string& name) {
  const auto known = pools_.find(name);
  if (known == pools_.end()) return;
  pool_by_uid_.erase(known->second.pool.uid());
  pools_.erase(known);
}

void Fleet::SetHeld(const std::string& holding, int64_t nodes, bool there) {
  const std::string quota(ParentOf(holding));
  const int64_t now = there ? nodes : 0;
  Holding& row = holdings_[holding];
  quotas_[quota].held += now - row.nodes;
  row = {now, round(Source::kQuota)};
  if (!there) holdings_.erase(holding);
  Tidy(quota);
}

void Fleet::Tidy(const std::string& quota) {
  const auto row = quotas_.find(quota);
  if (!row->second.quota && row->second.held == 0) quotas_.erase(row);
}

std::string Fleet::PoolOfUid(const std::string& uid) const {
  const auto known = pool_by_uid_.find(uid);
  if (known != pool_by_uid_.end()) return known->second;
  const auto claim = claims_.find(uid);
  return claim == claims_.end() ? "" : claim->second.claim.pool();
}

void Fleet::EndCapacity() {
  const Round now = round(Source::kCapacity);
  EraseOthers(claims_, now);
  std::vector<std::string> gone;
  for (const auto& [id, machine] : machines_) {
    if (machine.machine.known && machine.machine_round.IsOver(now)) gone.push_back(id);
  }
  for (const std::string& id : gone) ForgetMachine(id);
}

void Fleet::EndQuotas() {
  const Round now = round(Source::kQuota);
  std::vector<std::string> gone;
  for (const auto& [name, row] : holdings_) {
    if (row.round.IsOver(now)) gone.push_back(name);
  }
  for (const std::string& name : gone) SetHeld(name, 0, false);
  gone.clear();
  for (auto& [name, row] : quotas_) {
    if (!row.round.IsOver(now)) continue;
    row.quota.reset();
    gone.push_back(name);
  }
  for (const std::string& name : gone) Tidy(name);
}

void Fleet::EndLifecycle() {
  const Round now = round(Source::kLifecycle);
  std::vector<std::string> gone;
  for (const auto& [name, row] : pools_) {
    if (row.round.IsOver(now)) gone.push_back(name);
  }
  for (const std::string& name : gone) ForgetPool(name);
  gone.clear();
  for (const auto& [id, machine] : machines_) {
    if (machine.node.known && machine.node_round.IsOver(now)) gone.push_back(id);
  }
  for (const std::string& id : gone) ForgetNode(id, machines_.at(id).pool);
}

}  // namespace muster::musterctl::top
