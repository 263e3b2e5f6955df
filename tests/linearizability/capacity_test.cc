// Capacity under 32 clients on two replicas, one of which is killed in the midst.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/capacity/core/audit.h"
#include "services/capacity/core/limits.h"
#include "services/capacity/store/capacity_store.h"
#include "tests/linearizability/arena.h"
#include "tests/linearizability/capacity_calls.h"
#include "tests/linearizability/watch_history.h"

namespace muster::linearizability {
namespace {

using capacity::ClaimRow;
using capacity::MachineRow;
using capacity::State;
using ::testing::IsEmpty;

constexpr int kCallsEach = 60;
constexpr int kWatchersOfClaims = 6;

void Append(Holdings& all, const Holdings& more) {
  all.seen.insert(all.seen.end(), more.seen.begin(), more.seen.end());
  all.given_back.insert(all.given_back.end(), more.given_back.begin(), more.given_back.end());
}

std::vector<Call<State>> PlayCapacity(testing::MiniMuster& muster, unsigned seed,
                                      Holdings& holdings) {
  CapacityCaller::Shared shared;
  std::vector<std::shared_ptr<CapacityCaller>> callers(kClients);
  auto calls = Play<State>(muster, kCallsEach, true, [&](int client, const Channels& channels) {
    auto& caller = callers[static_cast<size_t>(client)];
    caller = std::make_shared<CapacityCaller>(client, seed, channels, &shared, absl::Seconds(30));
    return [caller] { return caller->Next(); };
  });
  for (const auto& caller : callers) Append(holdings, caller->holdings());
  return calls;
}

std::vector<std::shared_ptr<CapacityCaller::Stub>> Stubs(const testing::MiniMuster& muster) {
  std::vector<std::shared_ptr<CapacityCaller::Stub>> stubs;
  for (size_t replica = 0; replica < 2; ++replica)
    stubs.push_back(capacity::v1::CapacityService::NewStub(muster.channel(replica)));
  return stubs;
}

OpenWatch<capacity::v1::WatchCapacityResponse> WatchCapacity(
    const testing::MiniMuster& muster,
    const std::vector<capacity::v1::WatchCapacityRequest::Kind>& kinds) {
  capacity::v1::WatchCapacityRequest request;
  for (const auto kind : kinds) request.add_kinds(kind);
  return [stubs = Stubs(muster), request](grpc::ClientContext* context, size_t replica,
                                          const type::v1::WatchStart& start) mutable {
    *request.mutable_start() = start;
    return stubs[replica]->WatchCapacity(context, request);
  };
}

OpenWatch<capacity::v1::WatchClaimsResponse> WatchClaims(const testing::MiniMuster& muster) {
  return [stubs = Stubs(muster)](grpc::ClientContext* context, size_t replica,
                                 const type::v1::WatchStart& start) {
    capacity::v1::WatchClaimsRequest request;
    *request.mutable_start() = start;
    return stubs[replica]->WatchClaims(context, request);
  };
}

// Watchers of claims, of machines and of all; the ballast makes it take a while to look for those
// few that a snapshot is about.
void AddWatchers(Watchers& watchers, const testing::MiniMuster& muster) {
  using Request = capacity::v1::WatchCapacityRequest;
  for (int i = 0; i < kWatchersOfClaims; ++i) {
    const WatchPlan plan{.name = absl::StrCat("watcher of claims ", i),
                         .filter = {.kinds = {ClaimRow::kKind}},
                         .bundle = i % 2 == 0,
                         .from_snapshot = i % 4 != 3};
    if (i % 3 == 0) {
      watchers.Add(plan, WatchClaims(muster));
    } else {
      watchers.Add(plan, WatchCapacity(muster, {Request::KIND_CLAIM}));
    }
  }
  watchers.Add({.name = "watcher of machines", .filter = {.kinds = {MachineRow::kKind}}},
               WatchCapacity(muster, {Request::KIND_MACHINE}));
  const WatchFilter all{.kinds = {ClaimRow::kKind, MachineRow::kKind, capacity::ZoneRow::kKind,
                                  capacity::InstanceTypeRow::kKind}};
  for (const bool snapshot : {true, false}) {
    watchers.Add({.name = absl::StrCat("watcher of all ", snapshot),
                  .filter = all,
                  .bundle = true,
                  .from_snapshot = snapshot},
                 WatchCapacity(muster, {}));
  }
}

const Kinds& CapacityKinds() {
  static const Kinds kinds = {
      {capacity::ZoneRow::kKind, &capacity::v1::Zone::default_instance()},
      {capacity::InstanceTypeRow::kKind, &capacity::v1::InstanceType::default_instance()},
      {MachineRow::kKind, &capacity::v1::Machine::default_instance()},
      {ClaimRow::kKind, &capacity::v1::Claim::default_instance()}};
  return kinds;
}

TEST(CapacityLinearizabilityTest, TwoReplicasOneKilled) {
  const unsigned seed = Seed();
  testing::MiniMuster muster(TwoReplicas());
  CapacityCaller::SetUp(muster.channel(0));
  const auto begin = static_cast<int64_t>(
      std::stoll(muster.database().QueryValue("SELECT revision FROM capacity.journal_head")));
  Holdings holdings;
  Watchers watchers(seed);
  AddWatchers(watchers, muster);
  const auto calls = PlayCapacity(muster, seed, holdings);
  const WatchResult watched =
      EndWatches(watchers, muster.database(), "capacity", CapacityKinds(), Afterwards::kStill);
  EXPECT_THAT(watched.violations, IsEmpty());
  EXPECT_GT(watched.count.snapshots, kWatchersOfClaims);
  EXPECT_GT(watched.count.resumed, kWatchersOfClaims);
  const std::unique_ptr<const storage::Store<capacity::State>> store = storage::NewCapacityStore();
  auto journal = ReadJournal<State>(muster, "capacity", *store, CapacityMark, CapacityTime);
  BeginAfter(journal, begin, CapacityCaller::kBallast);
  journal.ahead = (CapacityCaller::kBatch - 1) * capacity::kAskedApart;
  const WitnessResult result = Witness(journal, calls).Run();
  std::cout << calls.size() << " calls: " << result.writes << " wrote, " << result.others
            << " did not; of those with unknown outcome " << result.unknown_done
            << " were done; machines seen held " << holdings.seen.size() << " times\n";
  EXPECT_THAT(result.violations, IsEmpty());
  EXPECT_GT(result.writes, kClients * kCallsEach / 4);
  EXPECT_THAT(TwoHolders(holdings.seen, holdings.given_back), IsEmpty());
  EXPECT_GT(holdings.seen.size(), 100u);
  State state = journal.before;
  for (const auto& row : journal.rows) state.Apply(row.change.change, row.revision);
  EXPECT_THAT(capacity::Audit(state), IsEmpty());
  EXPECT_EQ(muster.CompareStates(), "");
}

}  // namespace
}  // namespace muster::linearizability
