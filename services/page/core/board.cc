#include "services/page/core/board.h"

#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "services/common/resource_name.h"
#include "services/rpc/client/bundle.h"

namespace muster::page {
namespace {

using type::v1::WATCH_EVENT_TYPE_DELETED;
using type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END;

constexpr absl::string_view kMachines = "machines/";
constexpr absl::string_view kClaims = "claims/";
constexpr absl::string_view kHolding = "organizations/*/quotas/*/holdings/*";
constexpr absl::string_view kPool = "organizations/*/clusters/*/nodePools/*";
constexpr absl::string_view kNode = "organizations/*/clusters/*/nodePools/*/nodes/*";

uint32_t FlagsOf(const lifecycle::v1::Node& node) {
  uint32_t flags = 0;
  if (node.observed().active()) flags |= kCellActive;
  if (node.observed().unhealthy()) flags |= kCellUnhealthy;
  if (node.has_reconfigure_time()) flags |= kCellChosen;
  return flags;
}

}  // namespace

void Board::Take(const capacity::v1::WatchCapacityResponse& message) {
  rpc::ForEachMessage(message, [this](const auto& one) { TakeOne(one); });
}
void Board::Take(const quota::v1::WatchQuotasResponse& message) {
  rpc::ForEachMessage(message, [this](const auto& one) { TakeOne(one); });
}
void Board::Take(const lifecycle::v1::WatchLifecycleResponse& message) {
  rpc::ForEachMessage(message, [this](const auto& one) { TakeOne(one); });
}
void Board::Take(const configuration::v1::WatchConfigurationsResponse& message) {
  rpc::ForEachMessage(message, [this](const auto& one) { TakeOne(one); });
}

void Board::TakeOne(const capacity::v1::WatchCapacityResponse& message) {
  if (message.type() == WATCH_EVENT_TYPE_SNAPSHOT_END) return EndSnapshot(Source::kCapacity);
  const absl::string_view id = LastIdOf(message.key());
  if (message.has_machine()) return TakeMachine(message.machine());
  if (message.has_claim())
    return Show("claim", id, ClaimDocument(message.claim()), Source::kCapacity);
  if (message.has_zone()) return Show("zone", id, ZoneDocument(message.zone()), Source::kCapacity);
  if (message.has_instance_type())
    return Show("type", id, TypeDocument(message.instance_type()), Source::kCapacity);
  if (message.type() != WATCH_EVENT_TYPE_DELETED) return;
  if (absl::StartsWith(message.key(), kClaims)) return Show("claim", id, "", Source::kCapacity);
  if (absl::StartsWith(message.key(), "zones/")) return Show("zone", id, "", Source::kCapacity);
  if (absl::StartsWith(message.key(), "instanceTypes/"))
    return Show("type", id, "", Source::kCapacity);
  const auto cell = cell_by_machine_.find(id);
  if (absl::StartsWith(message.key(), kMachines) && cell != cell_by_machine_.end())
    ForgetMachine(cell->second);
}

void Board::TakeOne(const quota::v1::WatchQuotasResponse& message) {
  if (message.type() == WATCH_EVENT_TYPE_SNAPSHOT_END) return EndSnapshot(Source::kQuota);
  if (message.key().empty()) return;
  const bool deleted = message.type() == WATCH_EVENT_TYPE_DELETED;
  if (MatchName(kHolding, message.key())) {
    if (message.has_holding() || deleted)
      SetHeld(message.key(), message.holding().nodes(), !deleted);
    return;
  }
  if (!message.has_quota() && !deleted) return;
  QuotaRow& row = quotas_[message.key()];
  row.set = !deleted;
  row.quota = message.quota();
  row.round = round(Source::kQuota);
  ShowQuota(message.key());
}

void Board::TakeOne(const lifecycle::v1::WatchLifecycleResponse& message) {
  if (message.type() == WATCH_EVENT_TYPE_SNAPSHOT_END) return EndSnapshot(Source::kLifecycle);
  if (message.has_node()) return TakeNode(message.node());
  if (message.has_node_pool()) return TakePool(message.node_pool());
  if (message.type() != WATCH_EVENT_TYPE_DELETED) return;
  if (MatchName(kNode, message.key())) {
    const auto cell = cell_by_machine_.find(LastIdOf(message.key()));
    // The machine may be another pool's Node by now.
    if (cell != cell_by_machine_.end() &&
        words_.at(cells_[cell->second].node.pool) == ParentOf(message.key()))
      ForgetNode(cell->second);
  } else if (MatchName(kPool, message.key())) {
    Show("pool", message.key(), "", Source::kLifecycle);
  }
}

void Board::TakeOne(const configuration::v1::WatchConfigurationsResponse& message) {
  if (message.type() == WATCH_EVENT_TYPE_SNAPSHOT_END) return EndSnapshot(Source::kConfiguration);
  if (message.has_node_profile()) {
    Show("profile", LastIdOf(message.key()), ProfileDocument(message.node_profile()),
         Source::kConfiguration);
  }
}

void Board::EndSnapshot(Source source) {
  const uint32_t now = round(source);
  for (size_t i = 0; i < documents_.size(); ++i) {
    const Document& document = documents_[i];
    // Clocks and quotas are derived from other rows, and go with them.
    const bool follows = document.kind == "clock" || document.kind == "quota";
    if (document.source == source && document.round != now && !document.json.empty() && !follows)
      Forget(i);
  }
  switch (source) {
    case Source::kCapacity:
      for (uint32_t i = 0; i < cells_.size(); ++i) {
        if (cells_[i].machine_round != now) ForgetMachine(i);
      }
      return;
    case Source::kLifecycle:
      for (uint32_t i = 0; i < cells_.size(); ++i) {
        if (cells_[i].node_round != now) ForgetNode(i);
        // Held by a claim: its pool may not have been known when the cell was last told.
        if (!cells_[i].node.known && cells_[i].machine.claim != 0) log_.Touch(2 * i);
      }
      return;
    case Source::kQuota:
      return EndQuotas();
    case Source::kConfiguration:
      return;
  }
}

void Board::EndQuotas() {
  const uint32_t now = round(Source::kQuota);
  std::vector<std::string> stale;
  for (const auto& [name, row] : holdings_) {
    if (row.round != now) stale.push_back(name);
  }
  for (const std::string& name : stale) SetHeld(name, 0, false);
  stale.clear();
  for (auto& [name, row] : quotas_) {
    if (row.round == now || !row.set) continue;
    row.set = false;
    stale.push_back(name);
  }
  for (const std::string& name : stale) ShowQuota(name);
}

uint32_t Board::CellOf(absl::string_view machine) {
  const auto [found, is_new] =
      cell_by_machine_.try_emplace(machine, static_cast<uint32_t>(cells_.size()));
  if (is_new) cells_.push_back({.id = std::string(machine)});
  return found->second;
}

void Board::TakeMachine(const capacity::v1::Machine& machine) {
  const absl::string_view id = LastIdOf(machine.name());
  const uint32_t index = CellOf(id);
  cells_[index].machine_round = round(Source::kCapacity);
  MachinePart part;
  part.known = true;
  part.state = machine.state();
  part.spot = !machine.claim().empty() && machine.compute_class() == type::v1::COMPUTE_CLASS_SPOT;
  part.zone = WordOf(machine.zone());
  part.type = WordOf(machine.instance_type());
  part.rack = WordOf(machine.rack());
  part.fabric = WordOf(machine.fabric());
  part.slot = machine.slot();
  part.claim = WordOf(machine.claim());
  SetMachine(index, part);
  SpotClock* const clock = ClockOf(id, machine.has_reclaim_time());
  if (clock == nullptr) return;
  clock->reclaim_time = Milliseconds(machine.reclaim_time());
  clock->earmark = machine.earmark();
  if (machine.has_reclaim_time()) clock->pool_uid = machine.claim();
  ShowClock(id);
}

void Board::SetMachine(uint32_t index, const MachinePart& part) {
  Cell& cell = cells_[index];
  const MachinePart before = std::exchange(cell.machine, part);
  if (before == part) return;
  const bool stays = before.known && before.zone == part.zone && before.type == part.type &&
                     before.rack == part.rack && before.slot == part.slot &&
                     before.fabric == part.fabric;
  const uint64_t position = log_.Touch(2 * index);
  if (!stays) cell.placed = position;
}

bool Board::HasLaterNode(const Cell& cell, const lifecycle::v1::Node& node) const {
  // What was told before this snapshot may be gone.
  const bool is_told = cell.node.known && cell.node_round == round(Source::kLifecycle);
  return is_told && words_.at(cell.node.pool) != ParentOf(node.name()) &&
         cell.node_created > Microseconds(node.create_time());
}

void Board::TakeNode(const lifecycle::v1::Node& node) {
  const uint32_t index = CellOf(node.machine());
  if (HasLaterNode(cells_[index], node)) return;
  cells_[index].node_round = round(Source::kLifecycle);
  cells_[index].node_created = Microseconds(node.create_time());
  NodePart part;
  part.known = true;
  part.state = node.state();
  part.preempted = node.has_preempt_time();
  part.pool = WordOf(ParentOf(node.name()));
  part.profile = WordOf(node.observed().node_profile());
  part.rack = WordOf(node.rack());
  part.flags = FlagsOf(node);
  SetNode(index, part);
  Show("protection", node.machine(), ProtectionDocument(node), Source::kLifecycle);
  SpotClock* const clock = ClockOf(node.machine(), node.has_preempt_time());
  if (clock == nullptr) return;
  clock->preempt_time = Milliseconds(node.preempt_time());
  clock->drain_time = Milliseconds(node.desired().drain_time());
  clock->drain_deadline = Milliseconds(node.desired().drain_deadline());
  if (node.has_preempt_time()) clock->pool_uid = node.pool_uid();
  ShowClock(node.machine());
}

void Board::SetNode(uint32_t index, const NodePart& part) {
  Cell& cell = cells_[index];
  const NodePart before = std::exchange(cell.node, part);
  if (before == part) return;
  const uint64_t position = log_.Touch(2 * index);
  const bool stays = before.pool == part.pool && before.rack == part.rack;
  if (!cell.machine.known && !stays) cell.placed = position;
}

void Board::ForgetMachine(uint32_t index) {
  SetMachine(index, {});
  SpotClock* const clock = ClockOf(cells_[index].id, false);
  if (clock == nullptr) return;
  clock->reclaim_time = 0;
  ShowClock(cells_[index].id);
}

void Board::ForgetNode(uint32_t index) {
  SetNode(index, {});
  Show("protection", cells_[index].id, "", Source::kLifecycle);
  SpotClock* const clock = ClockOf(cells_[index].id, false);
  if (clock == nullptr) return;
  clock->preempt_time = 0;
  ShowClock(cells_[index].id);
}

SpotClock* Board::ClockOf(absl::string_view machine, bool make) {
  const auto known = clocks_.find(machine);
  if (known != clocks_.end()) return &known->second;
  return make ? &clocks_[machine] : nullptr;
}

void Board::ShowClock(absl::string_view machine) {
  const auto clock = clocks_.find(machine);
  const bool runs = clock->second.running();
  Show("clock", machine, runs ? ClockDocument(clock->second) : "", Source::kCapacity);
  if (!runs) clocks_.erase(clock);
}

void Board::TakePool(const lifecycle::v1::NodePool& pool) {
  const uint32_t name = WordOf(pool.name());
  pool_by_uid_[WordOf(pool.uid())] = name;
  facts_by_pool_[name] = {WordOf(pool.zone()), WordOf(pool.spec().instance_type()),
                          pool.spec().compute_class() == "spot"};
  Show("pool", pool.name(), PoolDocument(pool), Source::kLifecycle);
}

void Board::SetHeld(absl::string_view holding, int64_t nodes, bool there) {
  const auto row = holdings_.try_emplace(holding).first;
  const std::string quota(ParentOf(holding));
  const int64_t growth = (there ? nodes : 0) - row->second.nodes;
  row->second = {nodes, round(Source::kQuota)};
  if (!there) holdings_.erase(row);
  if (growth == 0) return;
  quotas_[quota].held += growth;
  ShowQuota(quota);
}

void Board::ShowQuota(const std::string& name) {
  const auto row = quotas_.find(name);
  if (!row->second.set && row->second.held == 0) {
    Show("quota", name, "", Source::kQuota);
    quotas_.erase(row);
    return;
  }
  Show("quota", name,
       QuotaDocument(name, row->second.set ? &row->second.quota : nullptr, row->second.held),
       Source::kQuota);
}

void Board::Show(absl::string_view kind, absl::string_view key, std::string json, Source source) {
  const std::string name = absl::StrCat(kind, ":", key);
  const auto known = document_by_name_.find(name);
  if (known == document_by_name_.end()) {
    if (json.empty()) return;
    size_t index = documents_.size();
    if (unused_documents_.empty()) {
      documents_.emplace_back();
    } else {
      index = unused_documents_.back();
      unused_documents_.pop_back();
    }
    document_by_name_[name] = index;
    documents_[index] = {std::string(kind), std::string(key), std::move(json), source,
                         round(source)};
    log_.Touch(static_cast<ChangeLog::Row>(2 * index + 1));
    return;
  }
  Document& document = documents_[known->second];
  document.round = round(source);
  if (document.json == json) return;
  if (json.empty()) return Forget(known->second);
  document.json = std::move(json);
  log_.Touch(static_cast<ChangeLog::Row>(2 * known->second + 1));
}

void Board::Forget(size_t index) {
  documents_[index].json.clear();
  gone_.emplace_back(index, log_.Touch(static_cast<ChangeLog::Row>(2 * index + 1)));
  if (gone_.size() <= kMaxGone) return;
  const auto [oldest, position] = gone_.front();
  gone_.pop_front();
  const auto row = static_cast<ChangeLog::Row>(2 * oldest + 1);
  if (log_.PositionOf(row) != position) return;  // it came back meanwhile
  forgotten_ = position;
  log_.Drop(row);
  const Document& document = documents_[oldest];
  document_by_name_.erase(absl::StrCat(document.kind, ":", document.key));
  unused_documents_.push_back(oldest);
}

Board Board::PlacesAlone() const {
  Board board;
  for (const Cell& cell : cells_) {
    if (!cell.machine.known) continue;
    const auto word = [&](uint32_t number) { return board.WordOf(words_.at(number)); };
    const MachinePart place{.known = true,
                            .zone = word(cell.machine.zone),
                            .type = word(cell.machine.type),
                            .rack = word(cell.machine.rack),
                            .fabric = word(cell.machine.fabric),
                            .slot = cell.machine.slot};
    board.SetMachine(board.CellOf(cell.id), place);
  }
  for (const Document& document : documents_) {
    if (document.kind == "zone" || document.kind == "type" || document.kind == "profile")
      board.Show(document.kind, document.key, document.json, document.source);
  }
  return board;
}

}  // namespace muster::page
