// Capacity under 32 clients on two replicas, one of which is killed in the midst.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/capacity/core/audit.h"
#include "storage/capacity/capacity_store.h"
#include "tests/linearizability/arena.h"
#include "tests/linearizability/capacity_calls.h"

namespace muster::linearizability {
namespace {

using capacity::State;
using ::testing::IsEmpty;

constexpr int kCallsEach = 60;

void Append(Holdings& all, const Holdings& more) {
  all.seen.insert(all.seen.end(), more.seen.begin(), more.seen.end());
  all.given_back.insert(all.given_back.end(), more.given_back.begin(), more.given_back.end());
}

std::vector<Call<State>> PlayCapacity(testing::House& house, Holdings& holdings) {
  std::atomic<int64_t> generations = 0;
  const unsigned seed = Seed();
  std::vector<std::shared_ptr<CapacityCaller>> callers(kClients);
  auto calls = Play<State>(house, kCallsEach, true,
                           [&](int client, const std::shared_ptr<grpc::Channel>& channel) {
                             auto& caller = callers[static_cast<size_t>(client)];
                             caller = std::make_shared<CapacityCaller>(
                                 client, seed, channel, &generations, absl::Seconds(30));
                             return [caller] { return caller->Next(); };
                           });
  for (const auto& caller : callers) Append(holdings, caller->holdings());
  return calls;
}

TEST(CapacityLinearizabilityTest, TwoReplicasOneKilled) {
  testing::House house(TwoReplicas());
  CapacityCaller::SetUp(house.channel(0));
  const auto begin = static_cast<int64_t>(
      std::stoll(house.database().QueryValue("SELECT revision FROM capacity.journal_head")));
  Holdings holdings;
  const auto calls = PlayCapacity(house, holdings);
  const storage::PostgresCapacityStore store;
  auto journal = ReadJournal<State>(house, "capacity", store, CapacityMark, CapacityTime);
  BeginAfter(journal, begin);
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
  EXPECT_EQ(house.CompareStates(), "");
}

}  // namespace
}  // namespace muster::linearizability
