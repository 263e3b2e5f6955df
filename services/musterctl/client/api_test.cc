#include "services/musterctl/client/api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/musterctl/client/errors.h"
#include "services/musterctl/client/testing/api_test_base.h"
#include "services/musterctl/manifest/machine_set.h"

namespace muster::musterctl {
namespace {

using ::testing::ElementsAre;

TEST_F(ApiTest, ReadsEveryPage) {
  for (const char* zone : {"A-1A", "B-1A", "C-1A", "D-1A", "E-1A"}) {
    server_.quotas[Quota(zone, 1).name()] = Quota(zone, 1);
  }
  const auto items = api_->List(Kind::kQuota, "");
  ASSERT_TRUE(items.ok()) << items.status();
  EXPECT_EQ(items->size(), 5u);
}

TEST_F(ApiTest, TellsCreatedConfiguredAndUnchangedApart) {
  EXPECT_EQ(ApplyOutcome(Quota("A-1A", 1)), Outcome::kCreated);
  EXPECT_EQ(ApplyOutcome(Quota("A-1A", 2)), Outcome::kConfigured);
  EXPECT_EQ(ApplyOutcome(Quota("A-1A", 2)), Outcome::kUnchanged);
}

TEST_F(ApiTest, OverridesOfAQuotaStayUnlessTheyAreSpokenOf) {
  quota::v1::Quota quota = Quota("A-1A", 4);
  quota.add_overrides()->set_limit(8);
  EXPECT_EQ(ApplyOutcome(quota), Outcome::kCreated);
  EXPECT_EQ(ApplyOutcome(Quota("A-1A", 4)), Outcome::kUnchanged);
  EXPECT_EQ(server_.quotas.at(quota.name()).overrides_size(), 1);
  const auto applied = api_->Apply(Quota("A-1A", 4), WriteMode{.overrides = true});
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_EQ(applied->outcome, Outcome::kConfigured);
  EXPECT_EQ(server_.quotas.at(quota.name()).overrides_size(), 0);
}

TEST_F(ApiTest, ADryRunChangesNothing) {
  EXPECT_EQ(ApplyOutcome(Quota("A-1A", 1), true), Outcome::kCreated);
  EXPECT_EQ(ApplyOutcome(Quota("A-1A", 1)), Outcome::kCreated);
  EXPECT_EQ(ApplyOutcome(Quota("A-1A", 2), true), Outcome::kConfigured);
  EXPECT_EQ(server_.quotas.begin()->second.limit(), 1);
  absl::flat_hash_set<std::string> used;
  const MachineSetSpec spec{.prefix = "a", .zone = "A-1A", .instance_type = "t", .count = 3};
  EXPECT_EQ(ApplyOutcome(MachineSet{"a", Expand(spec, used)}, true), Outcome::kCreated);
  EXPECT_TRUE(server_.batches.empty());
  lifecycle::v1::NodePool pool;
  pool.set_name("organizations/acme/clusters/example/nodePools/train");
  const auto applied = api_->Apply(pool, true);
  ASSERT_TRUE(applied.ok()) << applied.status();
  ASSERT_TRUE(applied->preview.has_value());
  EXPECT_EQ(applied->preview->nodes_to_reboot(), 7);
  EXPECT_THAT(server_.heard, ElementsAre(absl::StrCat("apply node_pool { name: \"", pool.name(),
                                                      "\" } validate_only: true")));
}

TEST_F(ApiTest, ADryRunIsRefusedByTheServerAndAnswersAsTheRealOne) {
  capacity::v1::Zone zone;
  zone.set_name("zones/A-1A");
  EXPECT_TRUE(absl::IsInvalidArgument(api_->Apply(zone, true).status()));
  zone.set_access(capacity::v1::Zone::ACCESS_GENERAL);
  EXPECT_EQ(ApplyOutcome(zone, true), Outcome::kCreated);
  EXPECT_FALSE(server_.zone.has_value());
  EXPECT_EQ(ApplyOutcome(zone), Outcome::kCreated);
  EXPECT_EQ(ApplyOutcome(zone, true), Outcome::kUnchanged);
  zone.add_instance_types("t");
  EXPECT_EQ(ApplyOutcome(zone, true), Outcome::kConfigured);

  capacity::v1::InstanceType type;
  type.set_name("instanceTypes/t");
  EXPECT_TRUE(absl::IsInvalidArgument(api_->Apply(type, true).status()));
  type.set_vcpus(8);
  EXPECT_EQ(ApplyOutcome(type, true), Outcome::kCreated);
  EXPECT_FALSE(server_.type.has_value());

  absl::flat_hash_set<std::string> used;
  const MachineSetSpec spec{.prefix = "a", .zone = "NONE", .instance_type = "t", .count = 1};
  const MachineSet set{"a", Expand(spec, used)};
  EXPECT_TRUE(absl::IsFailedPrecondition(api_->Apply(set, true).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(api_->Apply(set.machines[0], true).status()));
}

TEST_F(ApiTest, AChangeOfANodePoolTellsItsFields) {
  const std::string named = "node_pool { name: \"p\" } ";
  server_.pool.emplace();
  server_.pool->set_generation(1);
  server_.changed.set_generation(2);
  server_.changed.mutable_changed_fields()->add_paths("spec.target_nodes");
  server_.changed.mutable_changed_fields()->add_paths("spec.node_labels");
  lifecycle::v1::NodePool pool;
  pool.set_name("p");
  auto applied = api_->Apply(pool, {.must_fit = true});
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_EQ(applied->outcome, Outcome::kConfigured);
  EXPECT_EQ(applied->detail, "spec.target_nodes, spec.node_labels");
  applied = api_->UpdateNodePool(pool, {"spec.gang"}, {.dry_run = true, .must_fit = true});
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_EQ(applied->outcome, Outcome::kConfigured);
  EXPECT_THAT(server_.heard, ElementsAre("apply " + named + "must_fit: true",
                                         "update " + named +
                                             "update_mask { paths: \"spec.gang\" } "
                                             "validate_only: true must_fit: true"));
  pool.set_generation(2);
  applied = api_->UpdateNodePool(pool, {"spec.gang"}, WriteMode());
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_EQ(applied->outcome, Outcome::kUnchanged);
  EXPECT_EQ(applied->detail, "");
}

TEST_F(ApiTest, ErrorsKeepTheServersDetails) {
  const auto applied = api_->Apply(Quota("A-1A", -1), false);
  ASSERT_FALSE(applied.ok());
  EXPECT_EQ(RenderError(applied.status()),
            "error: limit: must be 0 to 1000000 (INVALID_ARGUMENT, INVALID_FIELD)\n");
}

TEST_F(ApiTest, AServerThatIsNotThereIsUnavailable) {
  const auto api = Api::Create({.server = "unix:/nonexistent/socket"});
  const absl::Status status = api->List(Kind::kQuota, "").status();
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(RenderError(status), ::testing::EndsWith(" (UNAVAILABLE)\n"));
}

}  // namespace
}  // namespace muster::musterctl
