#include "services/lifecycle/store/lifecycle_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "muster/lifecycle/v1/lifecycle.pb.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/store/lease_store.h"
#include "services/lifecycle/wire/lifecycle_wire.h"
#include "storage/postgres/journal_packing.h"
#include "storage/postgres/json.h"
#include "storage/postgres/testing/plan_test_base.h"
#include "storage/postgres/testing/schema_test_base.h"
#include "storage/postgres/testing/store_test_base.h"
#include "tests/testing/cause_matchers.h"
#include "tests/testing/kept_requests.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_database.h"

namespace muster::storage {
namespace {

using lifecycle::State;
using ::muster::testing::IsOk;
using ::muster::testing::IsRefusedBy;
using ::muster::testing::StatusIs;

constexpr char kCluster[] = "organizations/acme/clusters/c1";
constexpr char kPool[] = "organizations/acme/clusters/c1/nodePools/train";
const absl::Time kTime = absl::FromUnixMicros(1'750'000'000'123'456);

lifecycle::Pool FullPool() {
  lifecycle::Pool pool{.name = kPool,
                       .uid = "u",
                       .zone = "US-EAST-04A",
                       .generation = 3,
                       .object_generation = 7,
                       .create_time = kTime,
                       .delete_time = kTime + absl::Seconds(1)};
  pool.spec = {"spot",
               "t",
               5,
               1,
               9,
               {{"a", "b \"c\" \\ {d}"}},
               {{"c", "d"}},
               {{"k", "v", "NoSchedule"}},
               lifecycle::Image{"k", "n", "latest"},
               lifecycle::Gpu{"570"},
               true,
               lifecycle::ScaleDownStrategy::kPreferIdle,
               false,
               "Always"};
  const lifecycle::NodeConfiguration configuration{kTime, "np-1", {"Kubernetes 1.33"}, 2};
  pool.status = {
      1, 2, 3, "np-1", configuration, {configuration}, {{"Quota", "True", "Under", "m", kTime, 3}}};
  pool.account = {4, 3, 2, 1};
  return pool;
}

lifecycle::Node FullNode(const std::string& machine, lifecycle::NodeState state) {
  lifecycle::Node node{.name = lifecycle::NodeName(kPool, machine),
                       .machine = machine,
                       .pool_uid = "u",
                       .state = state,
                       .state_time = kTime,
                       .create_time = kTime};
  node.desired = {lifecycle::Phase::kRunning,
                  kTime,
                  "np-1",
                  true,
                  true,
                  kTime,
                  lifecycle::StringMap{{"a", "b"}},
                  lifecycle::StringMap{{"c", "d"}},
                  std::vector<lifecycle::Taint>{{"k", "v", "NoExecute"}}};
  node.observed = {"np-1", true, true, false, false, {"default/p"}, kTime};
  node.conditions = {{"CWActive", "True", "Active", "m", kTime, 0}};
  return node;
}

class LifecycleStoreTest : public StagedStoreTest<State> {
 protected:
  LifecycleStoreTest() : StagedStoreTest("lifecycle", NewLifecycleStore()) {}

  // The column `later` of the only row of `table`, as it stands and unpacked.
  std::string StoredLater(absl::string_view table) {
    return absl::HexStringToBytes(
        database_.QueryValue(absl::StrCat("SELECT encode(later, 'hex') FROM lifecycle.", table)));
  }
  std::string Later(absl::string_view table) { return Unpack("", StoredLater(table)); }
  void SetLater(absl::string_view table, absl::string_view bytes) {
    database_.Query(absl::StrCat("UPDATE lifecycle.", table, " SET later = decode('",
                                 absl::BytesToHexString(bytes), "', 'hex')"));
  }
};

TEST_F(LifecycleStoreTest, TablesAndJournalGiveBackTheState) {
  ASSERT_THAT(Put([](StagedState<State>& o) {
                o.Put(lifecycle::Cluster{kCluster, "US-EAST-04A", "1.33", kTime});
                o.Put(lifecycle::Cluster{std::string(kCluster) + "2",
                                         "US-EAST-04A",
                                         "1.33",
                                         kTime,
                                         "f2c1",
                                         {2, 40, kTime, kTime + absl::Hours(1)}});
                o.Put(FullPool());
                for (int i = 0; i < lifecycle::kNodeStates; ++i) {
                  o.Put(FullNode("g" + std::to_string(i), static_cast<lifecycle::NodeState>(i)));
                }
                lifecycle::Node bare{.name = lifecycle::NodeName(kPool, "bare"),
                                     .machine = "bare",
                                     .pool_uid = "u",
                                     .state_time = kTime,
                                     .create_time = kTime};
                o.Put(bare);
                o.Put(lifecycle::Event{std::string(kCluster) + "/events/e1", kPool, "u", "Warning",
                                       "CWOverQuota", "m", 2, kTime, kTime});
                o.Put(lifecycle::Lease{.holder = "a", .epoch = 1});
                for (const KeptRequest& kept : testing::OddKeptRequests(kPool)) o.Put(kept);
              }),
              IsOk());
  ASSERT_THAT(Put([](StagedState<State>& o) {
                lifecycle::Pool pool = FullPool();
                pool.delete_time = lifecycle::kNever;
                pool.object_generation = 8;
                o.Put(pool);
                o.Put(lifecycle::Lease{
                    .holder = "b", .epoch = 2, .incarnation = "i", .generation_floor = 7});
                o.Delete<lifecycle::Node>(lifecycle::NodeName(kPool, "g3"));
                o.Delete<KeptRequest>("gone");
                o.Delete<lifecycle::Event>(std::string(kCluster) + "/events/e1");
              }),
              IsOk());
  const State replayed = Replayed();
  EXPECT_EQ(ContentsOf(Loaded()), ContentsOf(state_));
  EXPECT_EQ(ContentsOf(replayed), ContentsOf(state_));
  EXPECT_EQ(Loaded().size(), static_cast<size_t>(lifecycle::kNodeStates) + 4U + 3U);
  EXPECT_EQ(Loaded().kept().ids().size(), 3U);
  EXPECT_TRUE(Loaded().kept() == state_.kept());
  EXPECT_TRUE(replayed.kept() == state_.kept());
}

// What a later release wrote, also within the spec, is no obstacle, and stays.
TEST_F(LifecycleStoreTest, FieldsOfALaterReleaseAreKept) {
  ASSERT_THAT(Put([](StagedState<State>& o) {
                o.Put(lifecycle::Cluster{kCluster, "US-EAST-04A", "1.33", kTime});
                o.Put(FullPool());
                o.Put(FullNode("g1", lifecycle::NodeState::kProduction));
              }),
              IsOk());
  const auto add = [](google::protobuf::Message& message, const std::string& value) {
    message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(900, value);
  };
  lifecycle::v1::NodePool later;
  add(later, "of the pool");
  add(*later.mutable_spec(), "of the spec");
  add(*later.mutable_status()->mutable_waiting_node_configuration(), "of what is not there");
  SetLater("node_pool", Later("node_pool") + later.SerializeAsString());
  database_.Query(
      "UPDATE lifecycle.node_pool SET spec = spec || '{\"ofTomorrow\": [1]}', status = status || "
      "'{\"ofTomorrow\": {}}', detail = detail || '{\"ofTomorrow\": 1}'");
  database_.Query("UPDATE lifecycle.node SET detail = detail || '{\"ofTomorrow\": 1}'");

  const State loaded = Loaded();
  lifecycle::Pool pool = *loaded.table<lifecycle::Pool>().Find(kPool);
  const std::string kept = pool.later;
  EXPECT_THAT(kept, ::testing::HasSubstr("of the spec"));
  EXPECT_THAT(kept, ::testing::Not(::testing::HasSubstr("of what is not there")));
  pool.later.clear();
  EXPECT_EQ(pool, FullPool());
  EXPECT_EQ(*loaded.table<lifecycle::Node>().Find(lifecycle::NodeName(kPool, "g1")),
            FullNode("g1", lifecycle::NodeState::kProduction));

  pool.later = kept;
  pool.spec.target_nodes = 8;
  ASSERT_THAT(Put([&](StagedState<State>& o) { o.Put(pool); }), IsOk());
  EXPECT_EQ(Loaded().table<lifecycle::Pool>().Find(kPool)->later, kept);
  const std::string bytes = store_->Encode(journal_.back());
  const auto change = store_->Decode("node_pool", kPool, &bytes);
  ASSERT_THAT(change, IsOk());
  const auto& replayed = *std::get<std::shared_ptr<const lifecycle::Pool>>(change->row);
  EXPECT_EQ(replayed, pool);
}

// A Node's orders are not in its message where it has none that this release knows.
TEST_F(LifecycleStoreTest, AFieldOfALaterReleaseStaysInAMessageOfWhichNothingElseIsThere) {
  const auto node_of = [](const State::Change& change) {
    return *std::get<std::shared_ptr<const lifecycle::Node>>(change.row);
  };
  lifecycle::v1::Node told = lifecycle::ToProto(Versioned<lifecycle::Node>{
      std::make_shared<const lifecycle::Node>(FullNode("g1", lifecycle::NodeState::kProduction)),
      1});
  told.GetReflection()
      ->MutableUnknownFields(told.mutable_orders())
      ->AddLengthDelimited(900, "of the orders");
  const std::string name = told.name();
  const std::string bytes = told.SerializeAsString();
  const auto decoded = store_->Decode("node", name, &bytes);
  ASSERT_THAT(decoded, IsOk());
  lifecycle::Node node = node_of(*decoded);
  EXPECT_FALSE(node.orders.any());
  node.rack = "r2";
  ASSERT_THAT(Put([&](StagedState<State>& o) {
                o.Put(lifecycle::Cluster{kCluster, "US-EAST-04A", "1.33", kTime});
                o.Put(FullPool());
                o.Put(node);
              }),
              IsOk());
  const std::string written = store_->Encode(journal_.back());
  EXPECT_THAT(written, ::testing::HasSubstr("of the orders"));
  const auto replayed = store_->Decode("node", name, &written);
  ASSERT_THAT(replayed, IsOk());
  EXPECT_EQ(node_of(*replayed), node);
  EXPECT_EQ(*Loaded().table<lifecycle::Node>().Find(name), node);
}

// Postgres logs of an updated row what lies between the first and the last byte that changed.
TEST_F(LifecycleStoreTest, WhatSeldomChangesOfANodeStandsLast) {
  ASSERT_THAT(Put([](StagedState<State>& o) {
                o.Put(lifecycle::Cluster{kCluster, "US-EAST-04A", "1.33", kTime});
                o.Put(FullPool());
              }),
              IsOk());
  lifecycle::Node node = FullNode("g1", lifecycle::NodeState::kProduction);
  lifecycle::StringMap labels;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h"})
    labels[absl::StrCat("example.com/", name)] = std::string(50, 'v');
  node.desired.labels = labels;
  const auto stored = [&](const lifecycle::Node& put) {
    EXPECT_THAT(Put([&](StagedState<State>& o) { o.Put(put); }), IsOk());
    return Later("node");
  };
  labels["node.coreweave.cloud/state"] = "zap";
  node.desired.labels = labels;
  ASSERT_FALSE(node.conditions.empty());
  const std::string before = stored(node);
  node.conditions.front().message = "another one";
  const std::string after = stored(node);
  ASSERT_NE(before, after);
  labels["node.coreweave.cloud/state"] = "production";
  node.desired.labels = labels;
  node.desired.taints.clear();
  const std::string in_production = stored(node);
  ASSERT_NE(after, in_production);
  const auto alike_at_end = [](const std::string& one, const std::string& other) {
    return std::mismatch(one.rbegin(), one.rend(), other.rbegin(), other.rend()).first -
           one.rbegin();
  };
  EXPECT_GT(alike_at_end(before, after), 8 * 50);
  EXPECT_GT(alike_at_end(after, in_production), 8 * 50 + 20) << "conditions, too";
  EXPECT_EQ(*Loaded().table<lifecycle::Node>().Find(node.name), node);
}

TEST_F(LifecycleStoreTest, TheRestOfARowIsPackedAndReadPlainToo) {
  ASSERT_THAT(Put([](StagedState<State>& o) {
                o.Put(lifecycle::Cluster{kCluster, "US-EAST-04A", "1.33", kTime});
                o.Put(FullPool());
              }),
              IsOk());
  lifecycle::Node node = FullNode("g1", lifecycle::NodeState::kProduction);
  ASSERT_THAT(Put([&](StagedState<State>& o) { o.Put(node); }), IsOk());
  const std::string packed = StoredLater("node");
  ASSERT_TRUE(IsStillPacked(packed));
  const std::string plain = Unpack("", packed);
  ASSERT_GT(plain.size(), packed.size());
  EXPECT_EQ(*Loaded().table<lifecycle::Node>().Find(node.name), node);
  SetLater("node", plain);
  EXPECT_EQ(*Loaded().table<lifecycle::Node>().Find(node.name), node) << "of the release before";
  SetLater("node", packed.substr(0, packed.size() / 2));
  EXPECT_FALSE(runner_
                   .Run([&](Transaction& tx) {
                     store_->Load(tx, [](const Revised<State::Change>&) {});
                     return absl::OkStatus();
                   })
                   .ok())
      << "never half of it";
}

// The release before does not know Node.desired.cordon_time, compares what it has of it in memory,
// by the journal, with the tables, and hands it on also when it cordons anew.
TEST_F(LifecycleStoreTest, WhichCordonIsMeantIsAlikeInJournalAndTablesAndNotReadBack) {
  const auto put = [&](const lifecycle::Node& node) {
    return Put([&](StagedState<State>& o) { o.Put(node); });
  };
  ASSERT_THAT(Put([](StagedState<State>& o) {
                o.Put(lifecycle::Cluster{kCluster, "US-EAST-04A", "1.33", kTime});
                o.Put(FullPool());
              }),
              IsOk());
  lifecycle::Node node = FullNode("g1", lifecycle::NodeState::kProduction);
  ASSERT_TRUE(node.desired.cordoned);
  ASSERT_THAT(put(node), IsOk());
  const auto stored = [&] {
    lifecycle::v1::Node later;
    EXPECT_TRUE(later.ParseFromString(Later("node")));
    return later.desired();
  };
  const auto told = [&] {
    lifecycle::v1::Node message;
    EXPECT_TRUE(message.ParseFromString(store_->Encode(journal_.back())));
    return message.desired();
  };
  ASSERT_TRUE(told().has_cordon_time());
  EXPECT_EQ(stored().cordon_time().seconds(), told().cordon_time().seconds());
  EXPECT_EQ(stored().cordon_time().nanos(), told().cordon_time().nanos());

  lifecycle::v1::Node former;
  former.mutable_desired()->mutable_cordon_time()->set_seconds(1);
  SetLater("node", Later("node") + former.SerializeAsString());
  ASSERT_EQ(stored().cordon_time().seconds(), 1);
  EXPECT_EQ(*Loaded().table<lifecycle::Node>().Find(node.name), node);

  node.desired.cordoned = false;
  ASSERT_THAT(put(node), IsOk());
  EXPECT_FALSE(told().has_cordon_time());
  EXPECT_FALSE(stored().has_cordon_time());
}

// A pending configuration says something by being there: once it was taken away, it does not come
// back by a field of a later release.
TEST_F(LifecycleStoreTest, AMessageThatWasTakenAwayStaysAwayInJournalAndTables) {
  lifecycle::v1::NodePool later;
  later.GetReflection()
      ->MutableUnknownFields(later.mutable_status()->mutable_pending_node_configuration())
      ->AddLengthDelimited(900, "of the pending one");
  lifecycle::Pool pool = FullPool();
  pool.status.pending = std::nullopt;
  const lifecycle::Pool without = pool;
  pool.later = later.SerializeAsString();
  ASSERT_THAT(Put([&](StagedState<State>& o) {
                o.Put(lifecycle::Cluster{kCluster, "US-EAST-04A", "1.33", kTime});
                o.Put(pool);
              }),
              IsOk());
  const std::string bytes = store_->Encode(journal_.back());
  EXPECT_THAT(bytes, ::testing::Not(::testing::HasSubstr("of the pending one")));
  EXPECT_EQ(*Loaded().table<lifecycle::Pool>().Find(kPool), without);
  EXPECT_THAT(Later("node_pool"), ::testing::Not(::testing::HasSubstr("of the pending one")));
}

// What has no column of its own stood as JSON, and nothing of it in `later`.
TEST_F(LifecycleStoreTest, RowsAsReleasesBeforeWroteThem) {
  lifecycle::Pool pool = FullPool();
  pool.account.prefill_nodes = 2;
  pool.account.scaled_to = 5;
  const lifecycle::Node node = FullNode("g1", lifecycle::NodeState::kProduction);
  ASSERT_THAT(Put([&](StagedState<State>& o) {
                o.Put(lifecycle::Cluster{kCluster, "US-EAST-04A", "1.33", kTime});
                o.Put(pool);
                o.Put(node);
              }),
              IsOk());
  EXPECT_EQ(database_.QueryValue("SELECT DISTINCT n.detail = '{}' AND p.detail = '{}' AND "
                                 "p.status = '{}' FROM lifecycle.node n, lifecycle.node_pool p"),
            "t");
  const std::string status = ToJson(lifecycle::ToProto(pool.status));
  database_.Query(absl::StrCat("UPDATE lifecycle.node_pool SET later = NULL, status = '", status,
                               R"(', detail = '{"account": {"prefillNodes": "2",
                                    "scaledTo": "5", "generation": "9"}}')"));
  database_.Query(
      R"(UPDATE lifecycle.node SET later = NULL, detail = '{
          "desired": {"labels": {"a": "b"}, "annotations": {"c": "d"},
                      "taints": [{"key": "k", "value": "v", "effect": "NoExecute"}]},
          "observed": {"activePods": ["default/p"]},
          "conditions": [{"type": "CWActive", "status": "True", "reason": "Active",
                          "message": "m", "lastTransitionTime": "2025-06-15T15:06:40.123456Z"}]}')");
  EXPECT_EQ(ContentsOf(Loaded()), ContentsOf(state_));

  pool.account.scaled_to = 6;  // from now on as this one writes
  ASSERT_THAT(Put([&](StagedState<State>& o) { o.Put(pool); }), IsOk());
  EXPECT_EQ(database_.QueryValue("SELECT detail = '{}' AND status = '{}' FROM lifecycle.node_pool"),
            "t");
  EXPECT_EQ(ContentsOf(Loaded()), ContentsOf(state_));
}

// Whom the target was lowered for stood in `replace_time`, too: by state and mark, which have
// columns of their own, it is told from a replacement that is waited for.
TEST_F(LifecycleStoreTest, WhyAReplaceTimeIsSetIsReadOfRowsAsTheReleaseBeforeWroteThem) {
  lifecycle::Node asked = FullNode("g1", lifecycle::NodeState::kProduction);
  asked.observed.autoscaler_marked = true;
  asked.asked_to_go_time = kTime;
  lifecycle::Node waits = FullNode("g2", lifecycle::NodeState::kTriage);
  waits.removal_requested = true;
  waits.replace_time = kTime + absl::Seconds(1);
  ASSERT_THAT(Put([&](StagedState<State>& o) {
                o.Put(lifecycle::Cluster{kCluster, "US-EAST-04A", "1.33", kTime});
                o.Put(FullPool());
                o.Put(asked);
                o.Put(waits);
              }),
              IsOk());
  const auto write = [&](const lifecycle::Node& node, absl::string_view rest) {
    database_.Query(absl::StrCat(
        R"(UPDATE lifecycle.node SET later = NULL, detail = '{"removalRequested": )", rest, R"(,
          "desired": {"labels": {"a": "b"}, "annotations": {"c": "d"},
                      "taints": [{"key": "k", "value": "v", "effect": "NoExecute"}]},
          "observed": {"activePods": ["default/p"]},
          "conditions": [{"type": "CWActive", "status": "True", "reason": "Active",
                          "message": "m", "lastTransitionTime": "2025-06-15T15:06:40.123456Z"}]}'
          WHERE machine = ')",
        node.machine, "'"));
  };
  write(asked, R"(false, "replaceTime": "2025-06-15T15:06:40.123456Z")");
  write(waits, R"(true, "replaceTime": "2025-06-15T15:06:41.123456Z")");
  EXPECT_EQ(ContentsOf(Loaded()), ContentsOf(state_));
}

// As the release before hands on what it does not know within spec and account, whose columns hold
// the rest.
TEST_F(LifecycleStoreTest, WhatIsKnownByNowWithinAMessageLeavesTheRestOfIt) {
  ASSERT_THAT(Put([](StagedState<State>& o) {
                o.Put(lifecycle::Cluster{kCluster, "US-EAST-04A", "1.33", kTime});
                o.Put(FullPool());
              }),
              IsOk());
  lifecycle::v1::NodePool later;
  later.mutable_spec()->set_description("d");
  later.mutable_account()->set_claim_unknown(true);
  SetLater("node_pool", Later("node_pool") + later.SerializeAsString());
  lifecycle::Pool expected = FullPool();
  expected.spec.description = "d";
  expected.account.claim_unknown = true;
  EXPECT_EQ(*Loaded().table<lifecycle::Pool>().Find(kPool), expected);
}

TEST_F(LifecycleStoreTest, APoolGoesWithItsNodesAndComesAgainInOneBatch) {
  ASSERT_THAT(Put([](StagedState<State>& o) {
                o.Put(lifecycle::Cluster{kCluster, "US-EAST-04A", "", kTime});
                o.Put(FullPool());
                o.Put(FullNode("g1", lifecycle::NodeState::kDeleted));
              }),
              IsOk());
  ASSERT_THAT(Put([](StagedState<State>& o) {
                o.Delete<lifecycle::Node>(lifecycle::NodeName(kPool, "g1"));
                o.Delete<lifecycle::Pool>(kPool);
                lifecycle::Pool again = FullPool();
                again.uid = "u2";
                o.Put(again);
              }),
              IsOk());
  EXPECT_EQ(ContentsOf(Loaded()), ContentsOf(state_));
}

TEST_F(LifecycleStoreTest, TheTablesAreASecondFence) {
  const auto refuses = [&](const char* constraint, auto change) {
    EXPECT_THAT(Put(change), IsRefusedBy(constraint));
  };
  refuses("node_pool_cluster_exists", [](StagedState<State>& o) { o.Put(FullPool()); });
  ASSERT_THAT(Put([](StagedState<State>& o) {
                o.Put(lifecycle::Cluster{kCluster, "US-EAST-04A", "", kTime});
              }),
              IsOk());
  refuses("node_pool_exists",
          [](StagedState<State>& o) { o.Put(FullNode("g1", lifecycle::NodeState::kAssigned)); });
  refuses("node_pool_target_in_range", [](StagedState<State>& o) {
    lifecycle::Pool pool = FullPool();
    pool.spec.target_nodes = -1;
    o.Put(pool);
  });
  refuses("node_pool_object_generation_not_negative", [](StagedState<State>& o) {
    lifecycle::Pool pool = FullPool();
    pool.object_generation = -1;
    o.Put(pool);
  });
  refuses("node_pool_uid_once", [](StagedState<State>& o) {
    lifecycle::Pool other = FullPool();
    other.name += "2";
    o.Put(FullPool());
    o.Put(other);
  });
  refuses("event_count_positive", [](StagedState<State>& o) {
    o.Put(lifecycle::Event{std::string(kCluster) + "/events/e1", kPool, "u", "Normal", "r", "m", 0,
                           kTime, kTime});
  });
}

TEST_F(LifecycleStoreTest, UnknownJournalEntriesAreInternalErrors) {
  const std::string garbage = "\xff\xff";
  for (const char* kind : {"node", KeptRequest::kKind}) {
    EXPECT_THAT(store_->Decode(kind, "x", &garbage), StatusIs(absl::StatusCode::kInternal));
  }
  EXPECT_THAT(store_->Decode("castle", "x", nullptr), StatusIs(absl::StatusCode::kInternal));
}

TEST_F(LifecycleStoreTest, OneReplicaHoldsTheLease) {
  LeaseStore a({.conninfo = database_.conninfo("lifecycle"), .schema = "lifecycle"});
  LeaseStore b({.conninfo = database_.conninfo("lifecycle"), .schema = "lifecycle"});
  EXPECT_EQ(a.RenewLease("a", absl::Hours(1)).value(), 1);
  EXPECT_EQ(a.RenewLease("a", absl::Hours(1)).value(), 1);
  EXPECT_EQ(b.RenewLease("b", absl::Hours(1)).value(), 0);
  ASSERT_THAT(b.Release("b"), IsOk());
  EXPECT_EQ(b.RenewLease("b", absl::Hours(1)).value(), 0);
  ASSERT_THAT(a.Release("a"), IsOk());
  EXPECT_EQ(b.RenewLease("b", absl::Hours(1)).value(), 2);
  EXPECT_EQ(a.RenewLease("a", absl::Hours(1)).value(), 0);
  // A lease that ran out is a new one, also for who had it: somebody else may have had it between.
  database_.Execute("UPDATE lifecycle.lease_heartbeat SET expire_time = now() - interval '1 s'");
  EXPECT_EQ(b.RenewLease("b", absl::Hours(1)).value(), 3);
  // So is one from before the clock was set back: nobody waits for what is left of the step.
  EXPECT_EQ(b.RenewLease("b", absl::Seconds(5)).value(), 3);
  database_.Execute(
      "UPDATE lifecycle.lease_heartbeat SET write_time = write_time + interval '2 h',"
      " expire_time = expire_time + interval '2 h'");
  EXPECT_EQ(a.RenewLease("a", absl::Seconds(5)).value(), 4);
  // Nor is an epoch given again that the journal knows.
  database_.Execute(
      "DELETE FROM lifecycle.lease_heartbeat; INSERT INTO lifecycle.lease (name, holder, epoch, "
      "revision) VALUES ('leases/reconciler', 'a', 9, 1)");
  EXPECT_EQ(a.RenewLease("a", absl::Seconds(5)).value(), 10);
}

TEST_F(LifecycleStoreTest, WhetherAReplicaHasTheLeaseIsSeenByAll) {
  LeaseStore a({.conninfo = database_.conninfo("lifecycle"), .schema = "lifecycle"});
  EXPECT_EQ(a.IsHeld().value(), false) << "nobody ever had it";
  EXPECT_EQ(a.RenewLease("a", absl::Hours(1)).value(), 1);
  LeaseStore b({.conninfo = database_.conninfo("lifecycle"), .schema = "lifecycle"});
  EXPECT_EQ(b.IsHeld().value(), true);
  database_.Execute("UPDATE lifecycle.lease_heartbeat SET expire_time = now() - interval '1 s'");
  EXPECT_EQ(b.IsHeld().value(), false);
  EXPECT_EQ(a.RenewLease("a", absl::Hours(1)).value(), 2);
  ASSERT_THAT(a.Release("a"), IsOk());
  EXPECT_EQ(b.IsHeld().value(), false);
}

TEST(LifecycleSchema, IsWhatTheTablesAreDescribedAs) {
  ExpectDescribesSchema(*NewLifecycleStore(), "lifecycle");
}

TEST(LifecycleSchema, RowsAreWrittenByIndex) {
  ExpectWritesByIndex(*NewLifecycleStore(), "lifecycle");
}

TEST(LifecycleSchema, WhoIsReferredToGoesByIndex) {
  EXPECT_THAT(ReferencesWithoutIndex("lifecycle"), ::testing::IsEmpty());
}

}  // namespace
}  // namespace muster::storage
