#include "services/kubernetes/core/refusal.h"

#include <gtest/gtest.h>

#include "services/common/error.h"

namespace muster::kubernetes {
namespace {

std::string PathOf(const char* field) { return FaultsOf(error::InvalidField(field, "is wrong.")); }

TEST(FaultsOf, NamesEveryFault) {
  const absl::Status status =
      error::InvalidFields({{"node_pool.spec.image.kernel", "must be empty."},
                            {"node_pool.spec.min_nodes", "must be at least 0."}});
  EXPECT_EQ(FaultsOf(status),
            "spec.image.kernel: must be empty.; spec.minNodes: must be at least 0.");
}

TEST(FaultsOf, SpeaksTheCrdsFieldPaths) {
  EXPECT_EQ(PathOf("node_pool.spec.image.release_train"), "spec.image.releaseTrain: is wrong.");
  EXPECT_EQ(PathOf("spec.nodeLabels[a_b/c_d]"), "spec.nodeLabels[a_b/c_d]: is wrong.");
  EXPECT_EQ(PathOf("node_pool.spec.node_labels[a_b].x_y"), "spec.nodeLabels[a_b].xY: is wrong.");
  EXPECT_EQ(PathOf("spec.node_taints[0].key"), "spec.nodeTaints[0].key: is wrong.");
}

TEST(FaultsOf, IsTheMessageOfAnyOther) {
  EXPECT_EQ(FaultsOf(absl::InvalidArgumentError("no")), "no");
  EXPECT_EQ(FaultsOf(error::NotFound("organizations/a/clusters/b")),
            "organizations/a/clusters/b does not exist.");
}

TEST(LimitOf, SaysWhichLimitAndWhatToDo) {
  const absl::Status status = error::Make(
      absl::StatusCode::kResourceExhausted,
      "Organization a has 3 NodePools, as many as an organization may have.",
      {.reason = "TOO_MANY_POOLS", .metadata = {{"limit", "3"}}, .resource = "organizations/a"});
  EXPECT_EQ(LimitOf(status),
            "TOO_MANY_POOLS: Organization a has 3 NodePools, as many as an organization may have. "
            "Delete what is not needed any more, or have the limit raised; it is tried again by "
            "itself.");
}

TEST(LimitOf, IsNothingOfWhatPassesByItself) {
  const auto exhausted = [](const char* reason, absl::Duration retry_after) {
    return error::Make(absl::StatusCode::kResourceExhausted, "m",
                       {.reason = reason, .retry_after = retry_after});
  };
  EXPECT_EQ(LimitOf(exhausted("TOO_MANY_CALLS", absl::Milliseconds(100))), std::nullopt);
  EXPECT_EQ(LimitOf(exhausted("TOO_FAST", absl::ZeroDuration())), std::nullopt);
  EXPECT_EQ(LimitOf(absl::ResourceExhaustedError("too large")), std::nullopt);
  EXPECT_EQ(LimitOf(error::FailedPrecondition("TOO_MANY_ORDERS", "x", "y")), std::nullopt);
  EXPECT_EQ(LimitOf(absl::OkStatus()), std::nullopt);
}

}  // namespace
}  // namespace muster::kubernetes
