#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "services/musterctl/commands/testing/commands_test_base.h"

namespace muster::musterctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using ClusterOrdersTest = CommandsTest;

TEST_F(ClusterOrdersTest, BindSaysWhichKubernetesItIs) {
  EXPECT_EQ(RunLine({"bind", "cluster", "example", "--kubernetes-uid=k2", "--replaces=k1"}), kDone);
  EXPECT_EQ(out(), "cluster/example is the Kubernetes k2\n");
  EXPECT_EQ(RunLine({"bind", "cluster", "example", "--kubernetes-uid=k2", "--dry-run"}), kDone);
  EXPECT_EQ(out(), "cluster/example would be the Kubernetes k2\n");
  EXPECT_THAT(
      api_.calls,
      ElementsAre("bind name: \"example\" kubernetes_uid: \"k2\" adopt: true replaces: \"k1\"",
                  "bind name: \"example\" kubernetes_uid: \"k2\" adopt: true "
                  "validate_only: true"));
  api_.refusal = BadField("kubernetes_uid", "must be so");
  EXPECT_EQ(RunLine({"bind", "cluster", "example", "--kubernetes-uid=K"}), kFailed);
  EXPECT_EQ(err(), "error: --kubernetes-uid: must be so (INVALID_ARGUMENT)\n");
}

TEST_F(ClusterOrdersTest, AllowNamesHowManyAndForHowLong) {
  EXPECT_EQ(RunLine({"allow", "removals", "example", "--node-pools=2", "--nodes=40", "--for=5m"}),
            kDone);
  EXPECT_THAT(out(),
              HasSubstr("cluster/example: 2 NodePools and 40 Nodes may go, until 2025-05-30"));
  EXPECT_EQ(RunLine({"allow", "removals", "example", "--nodes=40"}), kDone);
  EXPECT_EQ(RunLine({"allow", "removals", "example", "--nodes=40", "--for=1500ms"}), kDone);
  EXPECT_THAT(api_.calls,
              ElementsAre("allow name: \"example\" node_pools: 2 nodes: 40 ttl { seconds: 300 }",
                          "allow name: \"example\" nodes: 40 ttl { seconds: 3600 }",
                          "allow name: \"example\" nodes: 40 ttl { seconds: 1 nanos: 500000000 }"));
}

// As the commands are that the Kubernetes adapter tells.
TEST_F(ClusterOrdersTest, AWholeNameIsOfItsOwnOrganization) {
  const std::string theirs = "organizations/beta/clusters/train";
  environment_["MUSTER_ORGANIZATION"] = "acme";
  EXPECT_EQ(RunLine({"bind", "cluster", theirs, "--kubernetes-uid=k2"}), kDone) << err();
  EXPECT_EQ(RunLine({"allow", "removals", theirs, "--nodes=40"}), kDone) << err();
  EXPECT_THAT(
      api_.calls,
      ElementsAre(absl::StrCat("bind name: \"", theirs, "\" kubernetes_uid: \"k2\" adopt: true"),
                  absl::StrCat("allow name: \"", theirs, "\" nodes: 40 ttl { seconds: 3600 }")));
}

TEST_F(ClusterOrdersTest, WrongUseAsksNobody) {
  EXPECT_EQ(RunLine({"bind", "cluster", "example"}), kWrongUse);
  EXPECT_EQ(RunLine({"bind", "nodepool", "example", "--kubernetes-uid=k"}), kWrongUse);
  EXPECT_EQ(RunLine({"allow", "removals"}), kWrongUse);
  EXPECT_EQ(RunLine({"allow", "removals", "example", "--nodes=some"}), kWrongUse);
  EXPECT_THAT(api_.calls, IsEmpty());
}

}  // namespace
}  // namespace muster::musterctl
