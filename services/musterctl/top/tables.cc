#include "services/musterctl/top/tables.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "services/common/condition_names.h"
#include "services/common/count_text.h"
#include "services/common/quota_name.h"
#include "services/common/resource_name.h"
#include "services/musterctl/print/table.h"
#include "services/musterctl/print/words.h"
#include "services/musterctl/top/times.h"

namespace muster::musterctl::top {
namespace {

constexpr size_t kBarWidth = 10;

// `acme/c1/train` of a pool's resource name.
std::string ShortPool(const std::string& name) {
  const auto parts = MatchName("organizations/*/clusters/*/nodePools/*", name);
  return parts ? absl::StrCat((*parts)[0], "/", (*parts)[1], "/", (*parts)[2]) : name;
}

struct Refusal {
  int64_t nodes = 0;
  int64_t pools = 0;
};

// Of pools that quota refuses, by the name of the Quota.
std::map<std::string, Refusal> RefusalsOf(const Fleet& fleet) {
  std::map<std::string, Refusal> refusals;
  for (const auto& [name, row] : fleet.pools()) {
    const lifecycle::v1::Condition* condition = FindCondition(row.pool, condition::kQuota);
    if (condition == nullptr ||
        (condition->reason() != reason::kOver && condition->reason() != reason::kNotSet))
      continue;
    const std::vector<std::string> parts = absl::StrSplit(name, '/');
    const lifecycle::v1::NodePoolSpec& spec = row.pool.spec();
    Refusal& refusal = refusals[QuotaNameOf(
        parts.size() > 1 ? parts[1] : "",
        QuotaIdOf(row.pool.zone(), spec.instance_type(), spec.compute_class()))];
    ++refusal.pools;
    refusal.nodes += std::max<int64_t>(0, spec.target_nodes() - row.pool.account().granted_nodes());
  }
  return refusals;
}

// A Quota as a row, and what it is sorted by.
struct QuotaRow {
  std::string organization = {};
  std::vector<std::string> key = {};  // zone, instance type, class
  bool set = false;
  int64_t held = 0;
  int64_t limit = 0;  // in force
  int64_t base = 0;   // without override
  absl::Time override_end = absl::InfinitePast();
  Refusal refusal = {};

  // The share of the limit that is held. Infinity for Nodes held without a limit, so that these
  // rows come first.
  double fullness() const {
    if (limit > 0) return static_cast<double>(held) / static_cast<double>(limit);
    return held > 0 ? std::numeric_limits<double>::infinity() : 0;
  }
};

std::vector<QuotaRow> QuotaRowsOf(const Fleet& fleet, const View& view) {
  const std::map<std::string, Refusal> refusals = RefusalsOf(fleet);
  std::map<std::string, Quota> quotas = fleet.quotas();
  for (const auto& [name, refusal] : refusals) quotas.try_emplace(name);
  std::vector<QuotaRow> rows;
  for (const auto& [name, quota] : quotas) {
    const auto parts = MatchName("organizations/*/quotas/*", name);
    if (!parts) continue;
    QuotaRow row{.organization = (*parts)[0], .key = absl::StrSplit((*parts)[1], '~')};
    row.key.resize(3);
    const Filter& filter = view.filter;
    if ((!filter.organization.empty() && row.organization != filter.organization) ||
        (!filter.zone.empty() && row.key[0] != filter.zone))
      continue;
    row.set = quota.quota.has_value();
    row.held = quota.held;
    if (row.set) {
      row.limit = quota.quota->limit_in_force();
      row.base = quota.quota->limit();
      for (const auto& other : quota.quota->overrides()) {
        if (TimeOf(other.effective_time()) <= view.now && view.now < TimeOf(other.expire_time()))
          row.override_end = TimeOf(other.expire_time());
      }
    }
    if (const auto refusal = refusals.find(name); refusal != refusals.end())
      row.refusal = refusal->second;
    rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(), [](const QuotaRow& a, const QuotaRow& b) {
    return std::make_tuple(-a.fullness(), -a.refusal.nodes) <
           std::make_tuple(-b.fullness(), -b.refusal.nodes);
  });
  return rows;
}

std::string BarOf(const QuotaRow& row) {
  if (!row.set) return "no quota";
  const double share = std::min(1.0, row.fullness());
  const auto filled = std::max(static_cast<size_t>(share * kBarWidth), size_t{row.held > 0});
  return absl::StrCat("[", std::string(filled, '#'), std::string(kBarWidth - filled, '-'), "]");
}

// What is to be said of it beside the figures.
std::string NotesOf(const QuotaRow& row, absl::Time now) {
  std::vector<std::string> notes;
  if (row.refusal.pools > 0) {
    notes.push_back(
        absl::StrCat(row.refusal.nodes, " refused to ", CountText(row.refusal.pools, "pool")));
  }
  if (row.set && row.held > row.limit) notes.emplace_back("over its limit");
  if (row.override_end != absl::InfinitePast()) {
    notes.push_back(absl::StrCat("override for another ", HumanDuration(row.override_end - now),
                                 ", then ", row.base));
  }
  std::string text;
  for (const std::string& note : notes) absl::StrAppend(&text, text.empty() ? "" : "; ", note);
  return text;
}

// The phase of a spot clock and when it ends, as far as known.
std::string PhaseOf(const Machine& machine, absl::Time now) {
  const absl::Time begin = std::min(
      machine.reclaim_time == absl::InfinitePast() ? absl::InfiniteFuture() : machine.reclaim_time,
      machine.preempt_time == absl::InfinitePast() ? absl::InfiniteFuture() : machine.preempt_time);
  const bool drain_told = machine.drain_time > begin;
  if (drain_told && now < machine.drain_time)
    return absl::StrCat("warned, drains in ", HumanDuration(machine.drain_time - now));
  if (drain_told && machine.drain_deadline > now)
    return absl::StrCat("draining, gone in ", HumanDuration(machine.drain_deadline - now));
  if (drain_told) return absl::StrCat("draining, since ", Ago(machine.drain_time, now));
  return absl::StrCat("warned ", Ago(begin, now), " ago");
}

// What distinguishes a claim from others in the queue.
std::string StandingOf(const capacity::v1::Claim& claim) {
  std::string text;
  if (claim.priority() != 0) text = absl::StrCat("priority ", claim.priority());
  if (claim.gang()) absl::StrAppend(&text, text.empty() ? "" : ", ", "gang");
  return text;
}

bool ShowsClaim(const Filter& filter, const capacity::v1::Claim& claim) {
  return (filter.zone.empty() || claim.zone() == filter.zone) &&
         (filter.organization.empty() || claim.organization() == filter.organization ||
          absl::StartsWith(claim.pool(), absl::StrCat("organizations/", filter.organization, "/")));
}

// The NodePools, by resource name, between which a machine changes hands; empty: unknown, or nobody
// yet.
struct Way {
  std::string from = {};
  std::string to = {};
};

Way WayOf(const Fleet& fleet, const Machine& machine) {
  return {machine.pool.empty() ? fleet.PoolOfUid(machine.claim) : machine.pool,
          fleet.PoolOfUid(machine.earmark)};
}

std::string TextOf(const Way& way) {
  return absl::StrCat(way.from.empty() ? "unknown" : ShortPool(way.from), " -> ",
                      way.to.empty() ? "nobody yet" : ShortPool(way.to));
}

bool ShowsClock(const Filter& filter, const Fleet& fleet, const Machine& machine) {
  if (!filter.zone.empty() && machine.zone != filter.zone) return false;
  if (filter.organization.empty()) return true;
  const std::string pools = absl::StrCat("organizations/", filter.organization, "/");
  const Way way = WayOf(fleet, machine);
  return absl::StartsWith(way.from, pools) || absl::StartsWith(way.to, pools);
}

std::vector<const Machine*> ClocksOf(const Fleet& fleet, const Filter& filter) {
  std::vector<const Machine*> clocks;
  for (const auto& [id, machine] : fleet.machines()) {
    if (machine.is_preempted() && ShowsClock(filter, fleet, machine)) clocks.push_back(&machine);
  }
  return clocks;
}

// Since when it waits.
absl::Time QueueTimeOf(const capacity::v1::Claim& claim) {
  return claim.has_queue_time() ? TimeOf(claim.queue_time()) : absl::InfiniteFuture();
}

// The oldest first.
std::vector<const capacity::v1::Claim*> ClaimsOf(const Fleet& fleet, const Filter& filter) {
  std::vector<const capacity::v1::Claim*> claims;
  for (const auto& [uid, row] : fleet.claims()) {
    if (ShowsClaim(filter, row.claim)) claims.push_back(&row.claim);
  }
  std::stable_sort(claims.begin(), claims.end(),
                   [](const auto* a, const auto* b) { return QueueTimeOf(*a) < QueueTimeOf(*b); });
  return claims;
}

void AddRows(const Columns& columns, Section& section) {
  for (Line& line : columns.Lines()) section.rows.push_back(std::move(line));
}

void AddClaims(const std::vector<const capacity::v1::Claim*>& claims, absl::Time now,
               Section& section) {
  Columns columns;
  for (const capacity::v1::Claim* claim : claims) {
    const absl::Time begin = QueueTimeOf(*claim);
    columns.AddRow({{ShortPool(claim->pool())},
                    {claim->zone()},
                    {claim->instance_type()},
                    {ComputeClassWord(claim->compute_class())},
                    {absl::StrCat(claim->outstanding(), " of ", CountText(claim->nodes(), "Node")),
                     Style::kWarn},
                    {begin == absl::InfiniteFuture() ? "" : absl::StrCat("for ", Ago(begin, now))},
                    {StandingOf(*claim)}});
  }
  AddRows(columns, section);
}

}  // namespace

Section QuotaTable(const Fleet& fleet, const View& view) {
  const std::vector<QuotaRow> rows = QuotaRowsOf(fleet, view);
  Section section{Line("QUOTAS", Style::kTitle)};
  section.title.Add(absl::StrCat("  ", rows.size(), ", the fullest first"));
  if (rows.empty()) section.rows.emplace_back("  No organization has a quota.", Style::kDim);
  Columns columns;
  for (const QuotaRow& row : rows) {
    const bool refused = row.refusal.pools > 0 || row.fullness() > 1;
    const Style style = refused                 ? Style::kBad
                        : row.fullness() >= 0.9 ? Style::kWarn
                        : row.held == 0         ? Style::kDim
                                                : Style::kGood;
    columns.AddRow({{row.organization},
                    {row.key[0]},
                    {row.key[1]},
                    {row.key[2]},
                    {row.set ? absl::StrCat(row.held, " of ", row.limit) : absl::StrCat(row.held),
                     Style::kPlain, true},
                    {BarOf(row), style},
                    {NotesOf(row, view.now), refused ? Style::kBad : Style::kPlain}});
  }
  AddRows(columns, section);
  return section;
}

Section QueueTable(const Fleet& fleet, const View& view) {
  const std::vector<const capacity::v1::Claim*> claims = ClaimsOf(fleet, view.filter);
  const std::vector<const Machine*> clocks = ClocksOf(fleet, view.filter);
  Section section{Line("QUEUE", Style::kTitle)};
  if (claims.empty() && clocks.empty()) {
    section.title.Add("  nobody waits", Style::kDim);
    return section;
  }
  int64_t outstanding = 0;
  for (const capacity::v1::Claim* claim : claims) outstanding += claim->outstanding();
  section.title.Add(absl::StrCat("  ", CountText(outstanding, "Node"), " for ",
                                 CountText(static_cast<int64_t>(claims.size()), "claim")));
  if (!claims.empty() && QueueTimeOf(*claims.front()) != absl::InfiniteFuture())
    section.title.Add(
        absl::StrCat(", the oldest for ", Ago(QueueTimeOf(*claims.front()), view.now)));
  if (!clocks.empty())
    section.title.Add(absl::StrCat("; spot machines being taken back: ", clocks.size()));
  AddClaims(claims, view.now, section);
  Columns ways;
  for (const Machine* machine : clocks) {
    ways.AddRow({{machine->id},
                 {TextOf(WayOf(fleet, *machine))},
                 {PhaseOf(*machine, view.now), Style::kWarn}});
  }
  AddRows(ways, section);
  return section;
}

Section PoolTable(const Fleet& fleet, const View& view, const std::vector<Trouble>& troubles) {
  Section section{Line("POOLS NOT WHERE THEY SHOULD BE", Style::kTitle)};
  const size_t first = std::min(view.first_trouble, troubles.empty() ? 0 : troubles.size() - 1);
  section.title.Add(absl::StrCat("  ", troubles.size()));
  if (first > 0) section.title.Add(absl::StrCat(", from number ", first + 1, " on"));
  if (troubles.empty()) return section;
  std::map<absl::string_view, int64_t> in_service;
  for (const auto& [id, machine] : fleet.machines()) {
    if (machine.node.state == lifecycle::v1::Node::STATE_PRODUCTION) ++in_service[machine.pool];
  }
  Columns columns;
  columns.AddRow({{"POOL", Style::kDim},
                  {"IN SERVICE", Style::kDim},
                  {"WHO MUST ACT", Style::kDim},
                  {"FOR", Style::kDim},
                  {"CONDITION", Style::kDim},
                  {"WHY", Style::kDim}});
  for (size_t i = first; i < troubles.size(); ++i) {
    const Trouble& trouble = troubles[i];
    const std::string& name = trouble.pool->name();
    const auto verdict = view.verdicts.find(name);
    const bool known = verdict != view.verdicts.end();
    const bool acts = known && verdict->second.actor != "nobody";
    columns.AddRow(
        {{ShortPool(name)},
         {absl::StrCat(in_service[name], " of ", trouble.pool->spec().target_nodes())},
         {known ? verdict->second.actor : "?", acts ? Style::kBad : Style::kPlain},
         {Ago(trouble.since, view.now)},
         {trouble.condition, trouble.stalls ? Style::kBad : Style::kWarn},
         {known && !verdict->second.message.empty() ? verdict->second.message : trouble.message}});
  }
  AddRows(columns, section);
  return section;
}

}  // namespace muster::musterctl::top
