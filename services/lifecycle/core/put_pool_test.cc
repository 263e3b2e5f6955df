#include "services/lifecycle/core/put_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "services/common/generation.h"
#include "services/lifecycle/core/decide.h"
#include "services/lifecycle/core/testing/decide.h"

namespace muster::lifecycle {
namespace {

using ::testing::HasSubstr;

TEST(Decide, ApplyIsIdempotentAndCountsGenerations) {
  Simulation sim;
  sim.Must(PoolOfNodes(1));
  const int64_t revision = sim.revision();
  sim.Must(PoolOfNodes(1));
  EXPECT_EQ(sim.revision(), revision);
  EXPECT_EQ(sim.pool()->generation, 1);
  sim.Must(PoolOfNodes(2));
  EXPECT_EQ(sim.pool()->generation, 2);
  EXPECT_EQ(sim.pool()->uid, "uid-1");
}

TEST(Decide, ApplyRefusals) {
  Simulation sim;
  ApplyNodePool lost = PoolOfNodes(1);
  lost.name = "organizations/acme/clusters/none/nodePools/p";
  EXPECT_EQ(ReasonOf(sim.Run(lost).status()), "NOT_FOUND");
  sim.Must(PoolOfNodes(1));
  ApplyNodePool other_uid = PoolOfNodes(1);
  other_uid.uid = "uid-2";
  const absl::Status mismatch = sim.Run(other_uid).status();
  EXPECT_EQ(ReasonOf(mismatch), "UID_MISMATCH");
  EXPECT_THAT(mismatch.message(), HasSubstr("`uid` is uid-2"));
  EXPECT_THAT(mismatch.message(), HasSubstr("has the uid uid-1"));
  ApplyNodePool taken_uid = PoolOfNodes(1);
  taken_uid.name = std::string(kSimPool) + "2";
  taken_uid.uid = "uid-1";
  const absl::Status taken = sim.Run(taken_uid).status();
  EXPECT_EQ(ReasonOf(taken), "UID_MISMATCH");
  EXPECT_THAT(taken.message(), HasSubstr("`uid` uid-1 is that of a NodePool with another name"));
  ApplyNodePool old_etag = PoolOfNodes(2);
  old_etag.etag = "1";
  EXPECT_EQ(ReasonOf(sim.Run(old_etag).status()), "ETAG_MISMATCH");
  sim.Delete();
  EXPECT_EQ(ReasonOf(sim.Run(PoolOfNodes(2)).status()), "POOL_DELETING");
  EXPECT_EQ(ReasonOf(sim.Run(ResizeNodePool{.name = kSimPool, .target_nodes = 2}).status()),
            "POOL_DELETING");
}

struct Given {
  int64_t object_generation = 0;
  int64_t target = 1;
  bool deleting = false;
};
struct Expected {
  std::string refused = {};  // empty: accepted
  int64_t generation = 1;
  int64_t object_generation = 5;
  bool written = false;
};

// The pool has one Node, taken from the object's generation 5.
TEST(Decide, ObjectGenerationsFenceOldCopies) {
  constexpr bool kDeleting = true;
  const std::vector<std::pair<Given, Expected>> cases = {
      {{0, 1}, {"", 1, 5, false}},
      {{0, 2}, {"", 2, 5, true}},
      {{4, 1}, {"GENERATION_TOO_OLD"}},
      {{4, 2}, {"GENERATION_TOO_OLD"}},
      {{5, 1}, {"", 1, 5, false}},
      {{5, 2}, {"", 2, 5, true}},
      {{6, 1}, {"", 1, 6, true}},
      {{6, 2}, {"", 2, 6, true}},
      {{5 + kMaxGenerationJump, 1}, {"", 1, 5 + kMaxGenerationJump, true}},
      {{6 + kMaxGenerationJump, 1}, {"GENERATION_OUT_OF_RANGE"}},
      {{std::numeric_limits<int64_t>::max(), 2}, {"GENERATION_OUT_OF_RANGE"}},
      {{-1, 1}, {"INVALID_FIELD"}},
      {{0, 1, kDeleting}, {"POOL_DELETING"}},
      {{0, 2, kDeleting}, {"POOL_DELETING"}},
      {{4, 1, kDeleting}, {"GENERATION_TOO_OLD"}},
      {{4, 2, kDeleting}, {"GENERATION_TOO_OLD"}},
      {{5, 1, kDeleting}, {"", 1, 5, false}},
      {{5, 2, kDeleting}, {"POOL_DELETING"}},
      {{6, 1, kDeleting}, {"", 1, 6, true}},
      {{6, 2, kDeleting}, {"POOL_DELETING"}},
      {{-1, 1, kDeleting}, {"INVALID_FIELD"}},
  };
  for (const auto& [given, expected] : cases) {
    SCOPED_TRACE(absl::StrCat(given.object_generation, " ", given.target, " ", given.deleting));
    Simulation sim;
    ApplyNodePool command = PoolOfNodes(1);
    command.object_generation = 5;
    sim.Must(command);
    EXPECT_EQ(sim.pool()->object_generation, 5);
    if (given.deleting) sim.Delete();
    const int64_t revision = sim.revision();
    const int64_t asks = sim.pool()->account.generation;
    command.target_nodes = given.target;
    command.object_generation = given.object_generation;
    for (const bool validate_only : {true, false}) {
      EXPECT_EQ(sim.revision(), revision);
      const auto outcome = sim.Run(command, validate_only);
      EXPECT_EQ(ReasonOf(outcome.status()), expected.refused);
      if (!outcome.ok()) continue;
      EXPECT_EQ(outcome->pool->generation, expected.generation);
      EXPECT_EQ(outcome->pool->object_generation, expected.object_generation);
    }
    EXPECT_EQ(sim.pool()->generation, expected.generation);
    EXPECT_EQ(sim.pool()->object_generation, expected.object_generation);
    EXPECT_EQ(sim.revision() != revision, expected.written);
    EXPECT_EQ(sim.pool()->account.generation,
              given.target == 2 && expected.written ? asks + 1 : asks);
    EXPECT_EQ(sim.pool()->deleting(), given.deleting);
  }
}

TEST(Decide, ANewPoolBeginsNearZero) {
  Simulation sim;
  ApplyNodePool command = PoolOfNodes(1);
  command.object_generation = kMaxGenerationJump + 1;
  EXPECT_EQ(ReasonOf(sim.Run(command).status()), "GENERATION_OUT_OF_RANGE");
  command.object_generation = kMaxGenerationJump;
  sim.Must(command);
}

TEST(Decide, ObjectGenerationsThatAreRefusedAreNamed) {
  Simulation sim;
  ApplyNodePool command = PoolOfNodes(-1);
  command.object_generation = -1;
  const auto faults = muster::error::DetailOf(sim.Run(command).status())->fields;
  ASSERT_EQ(faults.size(), 2U);  // every fault
  EXPECT_EQ(faults[1].field, "node_pool.object_generation");
  command = PoolOfNodes(1);
  command.object_generation = 3;
  sim.Must(command);
  command.object_generation = 2;
  const auto status = sim.Run(command).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(muster::error::DetailOf(status)->resource, kSimPool);
  EXPECT_EQ(muster::error::DetailOf(status)->metadata.at("last_generation"), "3");
}

// The same spec seen at a later generation: nothing is planned, nothing published anew.
TEST(Decide, ALaterObjectGenerationMovesNothingElse) {
  Simulation sim;
  sim.Create(2);
  ASSERT_TRUE(sim.Converge());
  const Pool before = *sim.pool();
  ApplyNodePool command = sim.Applied([](Spec&) {});
  command.object_generation = 9;
  sim.Must(command);
  EXPECT_FALSE(sim.Pass());
  Pool expected = before;
  expected.object_generation = 9;
  EXPECT_EQ(*sim.pool(), expected);
}

TEST(Decide, ValidateOnlyAnswersAndWritesNothing) {
  Simulation sim;
  const int64_t revision = sim.revision();
  const auto outcome = sim.Run(PoolOfNodes(3), true);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->pool->spec.target_nodes, 3);
  EXPECT_EQ(sim.revision(), revision);
  EXPECT_EQ(sim.pool(), nullptr);
}

}  // namespace
}  // namespace muster::lifecycle
