#include "services/lifecycle/core/books_memory.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"

namespace muster::lifecycle {
namespace {

// By uid: tells one state of what the books say of a pool from another.
using Marks = absl::flat_hash_map<std::string, size_t>;

Marks MarksOf(const Books& books) {
  Marks marks;
  const auto mix = [&](const std::string& uid, size_t with) {
    size_t& mark = marks[uid];
    mark = absl::HashOf(mark, with);
  };
  for (const PoolEntry& pool : books.pools) {
    mix(pool.uid, absl::HashOf(pool.wanted, pool.granted, pool.requested));
    for (const NodeEntry& node : pool.nodes)
      mix(pool.uid, absl::HashOf(node.machine, node.leaving));
  }
  for (const HoldingEntry& holding : books.holdings)
    mix(holding.pool_uid, absl::HashOf(holding.name, holding.nodes, holding.generation));
  for (const ClaimEntry& claim : books.claims)
    mix(claim.pool_uid, absl::HashOf(claim.generation, claim.machines));
  for (const ConfigurationEntry& configuration : books.configurations)
    mix(configuration.pool_uid, absl::HashOf(configuration.generation));
  return marks;
}

}  // namespace

void BooksMemory::Note(const Books& books, absl::Duration now) {
  const Marks marks = MarksOf(books);
  std::map<Key, Seen> seen;
  for (Difference& difference : Differences(books)) {
    const Key key{difference.kind, difference.pool_uid, difference.subject};
    const size_t mark = IsOrphan(difference.kind) ? 0 : marks.at(difference.pool_uid);
    const auto before = seen_.find(key);
    const bool stands = before != seen_.end() && before->second.mark == mark;
    const absl::Duration since = stands ? before->second.since : now;
    seen[key] = {std::move(difference), mark, since};
  }
  seen_ = std::move(seen);
  last_ = now;
}

std::vector<BooksMemory::Standing> BooksMemory::Stood(absl::Duration age) const {
  std::vector<Standing> standing;
  for (const auto& [key, seen] : seen_) {
    if (last_ - seen.since >= age) standing.push_back({seen.difference, last_ - seen.since});
  }
  return standing;
}

std::set<std::string> OrphanMemory::OfThePast(const Books& books, const OrphanPolicy& policy) {
  std::set<std::string> past;
  if (policy.mass_percent >= 100) return past;
  std::map<absl::string_view, int64_t> newest;  // of all that a uid was asked for
  // Its generations are the spec's, which tell no history from another: what nobody else knows may
  // be of an earlier one.
  for (const ConfigurationEntry& entry : books.configurations) newest[entry.pool_uid] = 0;
  const auto note = [&](const auto& entry) {
    int64_t& generation = newest[entry.pool_uid];
    generation = std::max(generation, entry.generation);
  };
  for (const HoldingEntry& holding : books.holdings) note(holding);
  for (const ClaimEntry& claim : books.claims) note(claim);
  for (const auto& [uid, generation] : newest)
    if (generation < books.history_floor) past.emplace(uid);
  return past;
}

OrphanMemory::Verdict OrphanMemory::Update(const Books& books, const OrphanPolicy& policy,
                                           absl::Duration now) {
  std::set<absl::string_view> uids;
  for (const HoldingEntry& holding : books.holdings) uids.insert(holding.pool_uid);
  for (const ClaimEntry& claim : books.claims) uids.insert(claim.pool_uid);
  for (const ConfigurationEntry& entry : books.configurations) uids.insert(entry.pool_uid);
  Verdict verdict;
  verdict.uids = static_cast<int64_t>(uids.size());
  for (const PoolEntry& pool : books.pools) uids.erase(pool.uid);
  verdict.orphans = static_cast<int64_t>(uids.size());

  const std::set<std::string> past = OfThePast(books, policy);
  std::map<std::string, absl::Duration> since;
  std::vector<std::pair<absl::Duration, std::string>> due;
  for (const absl::string_view orphan : uids) {
    const std::string uid(orphan);
    const auto before = since_.find(uid);
    const absl::Duration first = before == since_.end() ? now : before->second;
    since.emplace(uid, first);
    const bool of_the_past = past.contains(uid);
    verdict.of_the_past += of_the_past ? 1 : 0;
    if (now - first < policy.grace) continue;
    verdict.withheld |= of_the_past;
    if (!of_the_past) due.emplace_back(first, uid);
  }
  since_ = std::move(since);

  if (!due.empty() && IsMass(verdict.orphans, verdict.uids, policy)) {
    verdict.withheld = true;
    return verdict;
  }
  std::sort(due.begin(), due.end());
  const size_t most = std::min(due.size(), static_cast<size_t>(std::max(0, policy.most_a_round)));
  for (size_t i = 0; i < most; ++i) verdict.release.push_back(std::move(due[i].second));
  return verdict;
}

}  // namespace muster::lifecycle
