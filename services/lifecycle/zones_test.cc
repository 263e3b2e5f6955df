// Callers who see one zone alone, while a cluster goes and comes again in another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/lifecycle/api/cluster_zones.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/place.h"
#include "services/lifecycle/testing/service_test_base.h"
#include "services/rpc/client/channel.h"
#include "services/rpc/lane_service.h"
#include "tests/testing/patience.h"
#include "tests/testing/test_policy.h"
#include "tests/testing/watch_messages.h"

namespace muster::lifecycle {
namespace {

using ::muster::testing::HasReason;
using ::muster::testing::IsOk;
using ::muster::testing::StatusIs;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::UnorderedElementsAreArray;

constexpr char kEast[] = "US-EAST-04A";
constexpr char kWest[] = "US-WEST-01A";

// A replica's server as who has a role in one zone sees it.
class ZoneViewer {
 public:
  ZoneViewer(LifecycleService& service, const std::string& zone, const std::string& role = "viewer")
      : policy_(absl::StrCat("bindings: [{role: ", role, ", principals: [local], zones: [", zone,
                             "]}]")),
        server_({rpc::LaneService(v1::LifecycleService::service_full_name(), service)},
                policy_.guard()),
        stub_(v1::LifecycleService::NewStub(rpc::MakeChannel(server_.address()))) {}

  Stub& stub() { return *stub_; }

 private:
  const testing::TestPolicy policy_;
  testing::TestServer server_;
  const std::unique_ptr<Stub> stub_;
};

// Its clusters, from a revision on or from what there is.
class ClusterWatch {
 public:
  explicit ClusterWatch(Stub& stub, std::optional<int64_t> after = {}) {
    v1::WatchLifecycleRequest request;
    request.add_kinds(v1::WatchLifecycleRequest::KIND_CLUSTER);
    if (after) request.mutable_start()->set_after_revision(*after);
    stream_ = stub.WatchLifecycle(&context_, request);
    if (!after) testing::SnapshotKeys(*stream_);
  }
  ~ClusterWatch() { context_.TryCancel(); }

  // The next change: what became of which revision and cluster.
  std::string Next() {
    const auto message = testing::NextChange(*stream_);
    return absl::StrCat(message.type() == type::v1::WATCH_EVENT_TYPE_DELETED ? "gone " : "is ",
                        message.revision(), " ", message.key());
  }
  // Why it tells of no change; OK: it tells of one.
  absl::Status End() {
    if (!testing::NextChange(*stream_).key().empty()) return absl::OkStatus();
    return rpc::FromGrpcStatus(stream_->Finish());
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::WatchLifecycleResponse>> stream_;
};

class ZonesTest : public LifecycleServiceTest {
 protected:
  std::string Is(int64_t revision) { return absl::StrCat("is ", revision, " ", kCluster); }
  std::string Gone(int64_t revision) { return absl::StrCat("gone ", revision, " ", kCluster); }

  // Its revision.
  int64_t Put(const std::string& name, const char* zone, const char* version = "") {
    const auto put = PutAs(*replica_->stub, name, zone, version);
    EXPECT_THAT(put, IsOk());
    return put.ok() ? put->revision() : 0;
  }
  static absl::StatusOr<v1::Cluster> PutAs(Stub& stub, const std::string& name, const char* zone,
                                           const char* version = "") {
    v1::UpdateClusterRequest request;
    request.mutable_cluster()->set_name(name);
    request.mutable_cluster()->set_zone(zone);
    request.mutable_cluster()->set_kubernetes_version(version);
    return Call(stub, &Stub::UpdateCluster, request);
  }
  // Leaves the events of a pool that is gone, and whose cluster goes then, too.
  void HaveAPoolThatGoes() {
    Reconcile();
    ASSERT_THAT(Apply(0), IsOk());
    v1::DeleteNodePoolRequest request;
    request.set_name(kPool);
    ASSERT_THAT(Call(*replica_->stub, &Stub::DeleteNodePool, request), IsOk());
    v1::GetNodePoolRequest get;
    get.set_name(kPool);
    testing::Until(
        [&] { return absl::IsNotFound(Call(*replica_->stub, &Stub::GetNodePool, get).status()); },
        "the pool to go");
    Delete(kCluster);
  }
  int64_t Delete(const std::string& name) {
    v1::DeleteClusterRequest request;
    request.set_name(name);
    EXPECT_THAT(Call(*replica_->stub, &Stub::DeleteCluster, request), IsOk());
    return replica_->service->lane().revision();
  }
};

// Names of events, by a list; `order_by`: with one it is made another way.
std::vector<std::string> ListedEvents(Stub& stub, const std::string& order_by = "") {
  v1::ListEventsRequest request;
  request.set_parent(kCluster);
  request.set_order_by(order_by);
  request.set_page_size(1'000);
  const auto page = Call(stub, &Stub::ListEvents, request);
  EXPECT_THAT(page, IsOk());
  std::vector<std::string> names;
  if (!page.ok()) return names;
  for (const v1::Event& event : page->events()) names.push_back(event.name());
  return names;
}
std::vector<std::string> WatchedEvents(Stub& stub) {
  grpc::ClientContext context;
  v1::WatchLifecycleRequest request;
  request.add_kinds(v1::WatchLifecycleRequest::KIND_EVENT);
  const auto stream = stub.WatchLifecycle(&context, request);
  std::vector<std::string> keys = testing::SnapshotKeys(*stream);
  context.TryCancel();
  return keys;
}

Revised<State::Change> CameTo(int64_t revision, const std::string& cluster, const char* zone) {
  return {{cluster, std::make_shared<const Cluster>(Cluster{.name = cluster, .zone = zone})},
          revision};
}
Revised<State::Change> Went(int64_t revision, const std::string& cluster) {
  return {{cluster, std::shared_ptr<const Cluster>()}, revision};
}

// Of clusters that are gone the last are remembered; one that came again is not gone.
TEST(ClusterZonesTest, NamesAreNotKeptWithoutEnd) {
  const auto name = [](int64_t i) { return absl::StrCat("organizations/acme/clusters/c", i); };
  ClusterZones zones(/*most_gone=*/2);
  zones.Learn({CameTo(1, name(0), kEast), Went(2, name(0)), CameTo(3, name(0), kWest)}, State());
  for (int64_t i = 1; i <= 5; ++i)
    zones.Learn({CameTo(10 * i, name(i), kEast), Went(10 * i + 1, name(i))}, State());
  EXPECT_EQ(zones.size(), 3);
  EXPECT_EQ(zones.known_since(), 31);
  EXPECT_EQ(zones.ZoneOf(name(3), 31), "");
  EXPECT_EQ(zones.ZoneOf(name(4), 41), kEast);
  EXPECT_EQ(zones.ZoneOf(name(0), 2), kEast);
  EXPECT_EQ(zones.ZoneOf(name(0), 51), kWest);
  EXPECT_EQ(zones.LearntZoneOf(name(0), 51), kWest);
  EXPECT_EQ(zones.LearntZoneOf(name(0), 52), std::nullopt) << "the state may know of more";
}

// An event's deletion is told as the event was, though its revision is of the next cluster's time.
TEST(ClusterZonesTest, AnEventThatAClusterLeftIsOfThatClustersZone) {
  constexpr int64_t kDeleted = 9;
  const std::string left = EventName(kCluster, "left");
  const absl::Time then = absl::UnixEpoch();
  State state;
  state.Apply({left, std::make_shared<const Event>(Event{.name = left, .last_time = then})}, 2);
  ClusterZones zones;
  zones.Learn({CameTo(1, kCluster, kEast)}, State());
  zones.Learn({Went(3, kCluster), CameTo(4, kCluster, kWest)}, state);
  EXPECT_EQ(zones.ZoneOf(left, 2), kEast);
  EXPECT_EQ(zones.ZoneOf(left, kDeleted), kEast);
  EXPECT_EQ(zones.ZoneOf(EventName(kCluster, "own"), kDeleted), kWest);
  // Who did not know the cluster that left it.
  ClusterZones restarted;
  restarted.Learn({CameTo(4, kCluster, kWest)}, state);
  EXPECT_EQ(restarted.ZoneOf(left, 2), "");
  EXPECT_EQ(restarted.ZoneOf(left, kDeleted), "");
}

TEST_F(ZonesTest, WhoResumesIsToldOfWhatWasInItsZoneThen) {
  const int64_t before = replica_->service->lane().revision();
  const int64_t changed = Put(kCluster, kEast, "1.34");
  const int64_t gone = Delete(kCluster);
  const int64_t elsewhere = Put(kCluster, kWest);
  ZoneViewer east(*replica_->service, kEast);
  ZoneViewer west(*replica_->service, kWest);
  ClusterWatch from_east(east.stub(), before);
  EXPECT_EQ(from_east.Next(), Is(changed));
  EXPECT_EQ(from_east.Next(), Gone(gone));
  EXPECT_EQ(ClusterWatch(west.stub(), before).Next(), Is(elsewhere));
}

TEST_F(ZonesTest, WhoWatchesAReplicaThatCatchesUpIsToldOfWhatWasInItsZoneThen) {
  const auto follower = NewReplica();
  ZoneViewer east(*follower->service, kEast);
  ZoneViewer west(*follower->service, kWest);
  ClusterWatch in_east(east.stub());
  ClusterWatch in_west(west.stub());
  struct Steps {
    std::atomic<bool> held = false;
    std::promise<void> reached, gone_on;
  };
  const auto steps = std::make_shared<Steps>();
  follower->service->lane().Subscribe([steps](absl::Span<const Revised<State::Change>>) {
    if (steps->held.exchange(true)) return;
    steps->reached.set_value();
    steps->gone_on.get_future().wait();
  });
  // It shows this one, and then all the others at once.
  const std::string other = "organizations/acme/clusters/other";
  const int64_t first = Put(other, kEast);
  testing::Await(steps->reached.get_future(), "the follower");
  const int64_t changed = Put(kCluster, kEast, "1.34");
  const int64_t gone = Delete(kCluster);
  const int64_t elsewhere = Put(kCluster, kWest);
  steps->gone_on.set_value();
  EXPECT_EQ(in_east.Next(), absl::StrCat("is ", first, " ", other));
  EXPECT_EQ(in_east.Next(), Is(changed));
  EXPECT_EQ(in_east.Next(), Gone(gone));
  EXPECT_EQ(in_west.Next(), Is(elsewhere));
}

// Events outlive their cluster: who sees the zone that it was in is told of them, and who sees that
// of the next of its name is not.
TEST_F(ZonesTest, AListTellsOfTheEventsThatAWatchTellsOf) {
  HaveAPoolThatGoes();
  ZoneViewer east(*replica_->service, kEast);
  ZoneViewer west(*replica_->service, kWest);
  const std::vector<std::string> all = WatchedEvents(*replica_->stub);
  ASSERT_THAT(all, Not(IsEmpty()));
  for (const bool comes_again : {false, true}) {
    SCOPED_TRACE(comes_again);
    if (comes_again) Put(kCluster, kWest);
    EXPECT_THAT(WatchedEvents(east.stub()), UnorderedElementsAreArray(all));
    EXPECT_THAT(WatchedEvents(west.stub()), IsEmpty());
    for (const char* order : {"", "last_time"}) {
      EXPECT_THAT(ListedEvents(east.stub(), order), UnorderedElementsAreArray(all));
      EXPECT_THAT(ListedEvents(west.stub(), order), IsEmpty());
    }
  }
}

// A replica that is started later does not know the zone of the cluster that left them: it is not
// that of the next of its name.
TEST_F(ZonesTest, AfterARestartWhatAClusterLeftIsNotToldToWhoSeesTheNext) {
  HaveAPoolThatGoes();
  const std::vector<std::string> left = WatchedEvents(*replica_->stub);
  ASSERT_THAT(left, Not(IsEmpty()));
  clock_.Jump(absl::Seconds(1));
  Put(kCluster, kWest);
  ASSERT_THAT(Apply(0), IsOk());
  const auto restarted = NewReplica();
  ZoneViewer west(*restarted->service, kWest);
  EXPECT_THAT(WatchedEvents(*restarted->stub), IsSupersetOf(left));
  std::vector<std::vector<std::string>> seen = {WatchedEvents(west.stub())};
  for (const char* order : {"", "last_time"}) seen.push_back(ListedEvents(west.stub(), order));
  for (const std::vector<std::string>& names : seen) {
    EXPECT_THAT(names, Not(IsEmpty())) << "those of its own";
    for (const std::string& name : left) EXPECT_THAT(names, Not(Contains(name)));
  }
}

TEST_F(ZonesTest, AnOperatorMakesClustersInItsZoneAlone) {
  ZoneViewer east(*replica_->service, kEast, "operator");
  const std::string fresh = "organizations/acme/clusters/fresh";
  EXPECT_THAT(PutAs(east.stub(), fresh, kWest), StatusIs(absl::StatusCode::kPermissionDenied));
  EXPECT_THAT(PutAs(east.stub(), fresh, kEast), IsOk());
  EXPECT_THAT(PutAs(east.stub(), fresh, kEast, "1.34"), IsOk());
  EXPECT_THAT(PutAs(east.stub(), fresh, kWest), StatusIs(absl::StatusCode::kPermissionDenied))
      << "it may be gone by then";
  Put("organizations/acme/clusters/other", kWest);
  EXPECT_THAT(PutAs(east.stub(), "organizations/acme/clusters/other", kEast),
              StatusIs(absl::StatusCode::kPermissionDenied));
}

// The cluster is gone by then, or another is there, which the repetition does not touch.
TEST_F(ZonesTest, AnOperatorWhoRepeatsADeletionIsToldWhatItWasTold) {
  ZoneViewer east(*replica_->service, kEast, "operator");
  v1::DeleteClusterRequest request;
  request.set_name(kCluster);
  request.set_request_id("one");
  const auto remove = [&] { return Call(east.stub(), &Stub::DeleteCluster, request).status(); };
  ASSERT_THAT(remove(), IsOk());
  EXPECT_THAT(remove(), IsOk());
  Put(kCluster, kWest);
  EXPECT_THAT(remove(), IsOk());
  request.set_request_id("two");
  EXPECT_THAT(remove(), StatusIs(absl::StatusCode::kNotFound));
  v1::GetClusterRequest get;
  get.set_name(kCluster);
  EXPECT_THAT(Call(*replica_->stub, &Stub::GetCluster, get), IsOk());
}

// What a name's clusters were is not kept without end.
TEST_F(ZonesTest, WhoIsFarBehindAClusterThatMovesAboutTakesASnapshot) {
  const int64_t before = replica_->service->lane().revision();
  int64_t last = before;
  for (int i = 0; i < 10; ++i) {
    Delete(kCluster);
    last = Put(kCluster, i % 2 == 0 ? kWest : kEast);
  }
  ZoneViewer east(*replica_->service, kEast);
  EXPECT_THAT(ClusterWatch(east.stub(), before).End(), HasReason("REVISION_COMPACTED"));
  EXPECT_EQ(ClusterWatch(east.stub(), last - 1).Next(), Is(last));
}

}  // namespace
}  // namespace muster::lifecycle
