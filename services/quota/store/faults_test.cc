// Every call of the database that the quota store and its lane make fails once, in every way.
#include <gtest/gtest.h>

#include "services/quota/core/decide.h"
#include "services/quota/store/quota_store.h"
#include "storage/postgres/testing/fault_sweep.h"

namespace muster::storage {
namespace {

using quota::State;
using Run = FaultRun<State>;

const quota::QuotaKey kKey{"acme", "US-EAST-04A", "gd-8xa100-i128", quota::ComputeClass::kDefault};
const quota::QuotaKey kSpot{"acme", "US-EAST-04A", "gd-8xa100-i128", quota::ComputeClass::kSpot};

const quota::LimitOverride kLaunch{5, absl::FromUnixSeconds(4'000'000'000),
                                   absl::FromUnixSeconds(4'000'003'600), "launch"};

Run::Command Sync(const std::string& pool, int64_t nodes, int64_t generation,
                  bool release = false) {
  return [=](StagedState<State>& staged, absl::Time now, std::string& text) {
    const auto answer = quota::Decide(
        staged, quota::SyncHolding{QuotaName(kKey), pool, nodes, generation, pool, release}, now);
    if (answer.ok()) {
      text = absl::StrCat(static_cast<int>(answer->verdict), " ", answer->nodes, " of ",
                          answer->limit, ", held ", answer->held, " at ", answer->revision);
    }
    return answer.status();
  };
}

// Not idempotent on purpose: twice would show.
Run::Command OneMore(const std::string& pool) {
  return [=](StagedState<State>& staged, absl::Time now, std::string& text) {
    const std::string name = absl::StrCat(QuotaName(kKey), "/holdings/", pool);
    const quota::Holding* before = staged.state().table<quota::Holding>().Find(name);
    return Sync(pool, before == nullptr ? 1 : before->nodes + 1,
                before == nullptr ? 1 : before->generation + 1)(staged, now, text);
  };
}

template <class Command>
Run::Command Plain(const Command& command) {
  return [=](StagedState<State>& staged, absl::Time now, std::string&) {
    return quota::Decide(staged, command, now);
  };
}

// As BatchSyncHoldings: one command, several answers.
Run::Command Batch(const std::vector<Run::Command>& parts) {
  return [=](StagedState<State>& staged, absl::Time now, std::string& text) {
    text.clear();
    for (const Run::Command& part : parts) {
      std::string one;
      const absl::Status status = part(staged, now, one);
      absl::StrAppend(&text, status.ToString(), " ", one, "; ");
    }
    return absl::OkStatus();
  };
}

// The first release long after this one forgets it.
Run::Command ForgetReleased(const std::string& pool) {
  return [=](StagedState<State>& staged, absl::Time, std::string&) {
    staged.Delete<ReleasedPool>(pool);
    return absl::OkStatus();
  };
}

void Script(Run& run) {
  run.Open("a");
  run.Do("a", Plain(quota::UpdateQuota{kKey, 10, "", true}));
  run.Do("a", Plain(quota::UpdateQuota{kSpot, 3, "", true, {{kLaunch}}}));
  run.Do("a", Batch({Sync("p1", 3, 1), Sync("p2", 4, 1), Sync("p3", 9, 1)}));  // the last: Over
  run.Await("announce/journal_notify");
  run.Open("b");
  run.Do("b", OneMore("p2"));
  run.Read("a");
  run.DoWhile("a", Sync("p3", 2, 2), [&] { run.Do("b", Sync("p1", 4, 2)); });
  run.Do("a", Sync("p1", 9, 1));  // too old
  run.Do("a", OneMore("p4"));
  run.DoTogether("a", {Sync("p4", 5, 2), OneMore("p2"), OneMore("p5")});
  run.Watch("b", 0);
  run.Do("b", Plain(quota::DeleteQuota{QuotaName(kSpot)}));
  run.Do("a", Plain(quota::UpdateQuota{kKey, 6, "", false}));  // below what is held
  run.Do("a", Sync("p3", 0, 4, true));
  run.Do("b", Sync("p3", 2, 5));  // released
  run.Do("b", Sync("p7", 0, 1, true));
  run.Do("a", ForgetReleased("p7"));
  run.Do("a", Run::Once("r1", OneMore("p5")));
  run.Do("b", Run::Once("r1", OneMore("p5")));
  run.Do("b", Run::Forgotten("r1"));
  run.Compact("b", 2);
  run.DoWhile("a", Sync("p2", 0, 5), [&] { run.LoseJournal(); });
  run.Read("b");
  run.Do("b", Sync("p6", 1, 1));
  run.Read("a");
  run.ReplaceHistory();
  run.Read("b");
  run.Read("a");
  run.Compare("a");
  run.Compare("b");
}

// Held is the sum of the holdings, and no holding grew over a limit.
std::vector<std::string> Audit(const State& before, const State& after) {
  std::map<std::string, int64_t> sums;
  std::vector<std::string> broken;
  for (const auto& [key, holding] : after.table<quota::Holding>().rows())
    sums[holding.row->quota] += holding.row->nodes;
  for (const quota::QuotaKey& key : {kKey, kSpot}) {
    const std::string name = QuotaName(key);
    if (after.Held(name) != sums[name]) broken.push_back(absl::StrCat(name, ": wrong sum"));
    const quota::Quota* limit = after.table<quota::Quota>().Find(name);
    if (after.Held(name) > before.Held(name) && after.Held(name) > (limit ? limit->limit : 0))
      broken.push_back(absl::StrCat(name, ": grown over its limit"));
  }
  return broken;
}

TEST(QuotaFaultsTest, EveryCallFailsOnceInEveryWay) {
  const std::unique_ptr<const Store<quota::State>> store = NewQuotaStore();
  const std::string root = MUSTER_SOURCE_DIR;
  EveryCallFailsOnce<State>({.schema = "quota",
                             .store = store.get(),
                             .audit = Audit,
                             .script = Script,
                             .sources = {root + "/storage/postgres/journal.cc"}});
}

}  // namespace
}  // namespace muster::storage
