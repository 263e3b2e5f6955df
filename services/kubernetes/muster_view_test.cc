#include "services/kubernetes/muster_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/kubernetes/core/names.h"
#include "services/kubernetes/core/node_metadata.h"

namespace muster::kubernetes {
namespace {

using lifecycle::v1::WatchLifecycleResponse;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr char kClusterPrefix[] =
    "organizations/acme/clusters/nodes/";  // an odd name, and a good one

absl::Time At(int seconds) { return absl::FromUnixSeconds(1'748'626'560 + seconds); }

class MusterViewTest : public ::testing::Test {
 protected:
  std::vector<std::string> Told() { return std::exchange(told_, {}); }

  void PutPool(const std::string& id, const std::string& uid, const std::string& etag, int at = 0) {
    WatchLifecycleResponse message;
    message.mutable_node_pool()->set_name(absl::StrCat(kClusterPrefix, "nodePools/", id));
    message.mutable_node_pool()->set_uid(uid);
    message.mutable_node_pool()->set_etag(etag);
    view_.Take(message, At(at));
  }
  static WatchLifecycleResponse MakeNode(const std::string& pool, const std::string& machine,
                                         int life, const std::string& etag,
                                         const std::string& uid = "u") {
    WatchLifecycleResponse message;
    lifecycle::v1::Node& node = *message.mutable_node();
    node.set_name(absl::StrCat(kClusterPrefix, "nodePools/", pool, "/nodes/", machine));
    node.set_machine(machine);
    node.set_pool_uid(uid);
    node.set_etag(etag);
    node.mutable_create_time()->set_seconds(life);
    return message;
  }
  void Put(const WatchLifecycleResponse& message) { view_.Take(message, At(0)); }
  void Delete(const std::string& name) {
    WatchLifecycleResponse message;
    message.set_type(type::v1::WATCH_EVENT_TYPE_DELETED);
    message.set_key(kClusterPrefix + name);
    view_.Take(message, At(0));
  }
  void EndSnapshot(const std::string& incarnation = "") {
    WatchLifecycleResponse message;
    message.set_type(type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END);
    message.set_incarnation(incarnation);
    view_.Take(message, At(0));
  }
  std::string UidOf(const std::string& pool) {
    const auto view = view_.Pool(pool);
    return view.pool == nullptr ? "none" : view.pool->uid();
  }
  int64_t LifeOf(const std::string& machine) {
    const auto node = view_.NodeOf(machine);
    return node == nullptr ? 0 : node->create_time().seconds();
  }

 private:
  std::vector<std::string> told_;

 protected:
  MusterView view_{
      {.node_pool = [this](const std::string& name) { told_.push_back("pool " + name); },
       .machine = [this](const std::string& id) { told_.push_back(id); },
       .event = [this](const lifecycle::v1::Event& event) { told_.push_back(event.name()); },
       .history =
           [this](const std::optional<std::string>& incarnation) {
             histories_.push_back(absl::StrCat(incarnation.value_or("-"), " after ", told_.size()));
           }}};
  std::vector<std::string> histories_;  // after how much else was told
};

TEST_F(MusterViewTest, TellsWhichHistoryItIsBeforeWhatIsGoneInIt) {
  view_.BeginSnapshot();
  Put(MakeNode("a", "m1", 1, "1"));
  EndSnapshot("h1");
  EXPECT_THAT(histories_, ElementsAre("- after 0", "h1 after 1"));
  Told();
  view_.BeginSnapshot();
  EndSnapshot("h2");
  EXPECT_THAT(histories_, ElementsAre("- after 0", "h1 after 1", "- after 0", "h2 after 0"));
  EXPECT_THAT(Told(), ElementsAre("m1"));
}

TEST_F(MusterViewTest, TellsOfWhatIsNew) {
  PutPool("a", "u", "1");
  EXPECT_THAT(Told(), ElementsAre("pool a"));
  PutPool("a", "u", "1");
  EXPECT_THAT(Told(), IsEmpty()) << "as it was";
  PutPool("a", "u", "2");
  EXPECT_THAT(Told(), ElementsAre("pool a"));
  PutPool("a", "other", "2");
  EXPECT_THAT(Told(), ElementsAre("pool a")) << "another one of that name";
  EXPECT_EQ(UidOf("a"), "other");
  Put(MakeNode("a", "g7", 1, "1"));
  Put(MakeNode("a", "g7", 1, "1"));
  EXPECT_THAT(Told(), ElementsAre("g7"));
  Put(MakeNode("a", "g7", 2, "1"));
  EXPECT_THAT(Told(), ElementsAre("g7")) << "another life";
  WatchLifecycleResponse event;
  event.mutable_event()->set_name("events/x");
  Put(event);
  EXPECT_THAT(Told(), ElementsAre("events/x"));
}

TEST_F(MusterViewTest, TakesBundles) {
  WatchLifecycleResponse message = MakeNode("a", "g7", 1, "1");
  *message.add_bundle() = MakeNode("a", "g8", 1, "1");
  Put(message);
  EXPECT_EQ(view_.nodes(), 2u);
}

TEST_F(MusterViewTest, ForgetsWhatIsDeleted) {
  PutPool("nodes", "u", "1");
  Put(MakeNode("nodes", "g7", 1, "1"));
  Told();
  Delete("nodePools/nodes/nodes/g7");
  EXPECT_THAT(Told(), ElementsAre("g7"));
  EXPECT_EQ(LifeOf("g7"), 0);
  EXPECT_THAT(view_.NodesOf("u"), IsEmpty());
  Delete("nodePools/nodes");
  EXPECT_THAT(Told(), ElementsAre("pool nodes"));
  EXPECT_EQ(UidOf("nodes"), "none");
  Delete("nodePools/nodes");
  Delete("events/x");
  EXPECT_THAT(Told(), IsEmpty());
}

TEST_F(MusterViewTest, ASnapshotTakesAwayWhatItDoesNotName) {
  EXPECT_FALSE(view_.synced());
  view_.BeginSnapshot();
  PutPool("a", "u", "1");
  PutPool("b", "v", "1");
  Put(MakeNode("a", "g7", 1, "1"));
  Put(MakeNode("a", "g8", 1, "1"));
  EXPECT_FALSE(view_.synced());
  EndSnapshot();
  EXPECT_TRUE(view_.synced());
  Told();
  view_.BeginSnapshot();
  PutPool("a", "u", "1");
  Put(MakeNode("a", "g8", 1, "1"));
  EXPECT_THAT(Told(), IsEmpty());
  EndSnapshot();
  EXPECT_THAT(Told(), UnorderedElementsAre("pool b", "g7"));
  EXPECT_EQ(view_.pools(), 1u);
  EXPECT_EQ(view_.nodes(), 1u);
}

TEST_F(MusterViewTest, ASnapshotThatBrokeTakesNothingAway) {
  PutPool("a", "u", "1");
  view_.BeginSnapshot();
  view_.BeginSnapshot();
  PutPool("a", "u", "1");
  EndSnapshot();
  EXPECT_EQ(UidOf("a"), "u");
  // One that resumes after a revision has no snapshot, and no end of one.
  PutPool("a", "u", "2");
  EXPECT_EQ(view_.pools(), 1u);
}

TEST_F(MusterViewTest, TheFirstSnapshotHasEverybodyLook) {
  PutPool("a", "u", "1");
  Put(MakeNode("a", "g7", 1, "1"));
  Told();
  view_.BeginSnapshot();
  PutPool("a", "u", "1");
  Put(MakeNode("a", "g7", 1, "1"));
  EndSnapshot();
  EXPECT_THAT(Told(), UnorderedElementsAre("pool a", "g7"));
}

// A machine that left one pool and came to another has two Nodes for a while. A restored past
// counts its revisions, and so its etags, again: what bears the same may be another.
TEST_F(MusterViewTest, InAnotherHistoryEverythingIsLookedAtAgain) {
  const auto snapshot = [&](const std::string& incarnation, int64_t nodes) {
    view_.BeginSnapshot();
    WatchLifecycleResponse message;
    message.mutable_node_pool()->set_name(absl::StrCat(kClusterPrefix, "nodePools/a"));
    message.mutable_node_pool()->set_uid("u");
    message.mutable_node_pool()->set_etag("26");
    message.mutable_node_pool()->mutable_spec()->set_target_nodes(nodes);
    Put(message);
    Put(MakeNode("a", "g7", 1, "27"));
    EndSnapshot(incarnation);
  };
  snapshot("h1", 1);
  Told();
  snapshot("h1", 1);
  EXPECT_THAT(Told(), IsEmpty()) << "as it was";
  snapshot("h2", 2);
  EXPECT_EQ(view_.Pool("a").pool->spec().target_nodes(), 2);
  EXPECT_THAT(Told(), ::testing::IsSupersetOf({"pool a", "g7"}));
  snapshot("h3", 2);
  EXPECT_THAT(Told(), UnorderedElementsAre("pool a", "g7")) << "what looks the same, too";
}

TEST_F(MusterViewTest, AMachineIsItsLastLife) {
  Put(MakeNode("a", "g7", 10, "1", "u"));
  Put(MakeNode("b", "g7", 20, "1", "v"));
  EXPECT_EQ(LifeOf("g7"), 20);
  Put(MakeNode("a", "g7", 10, "2", "u"));
  EXPECT_EQ(LifeOf("g7"), 20);
  Delete("nodePools/a/nodes/g7");
  EXPECT_EQ(LifeOf("g7"), 20);
  Delete("nodePools/b/nodes/g7");
  EXPECT_EQ(LifeOf("g7"), 0);
}

TEST_F(MusterViewTest, RemembersWhichLivesItWasToldTheEndOf) {
  const auto of_life = [](int life) {
    NodeObject object;
    object.name = "g7";
    lifecycle::v1::Node node;
    node.mutable_create_time()->set_seconds(life);
    object.annotations[kLifeAnnotation] = LifeMark(node);
    return object;
  };
  view_.BeginSnapshot();
  Put(MakeNode("a", "g7", 10, "1"));
  EndSnapshot("h1");
  view_.BeginSnapshot();
  EndSnapshot("h1");
  EXPECT_FALSE(view_.SawEndOf(of_life(10))) << "a mere absence";
  Put(MakeNode("a", "g7", 20, "1"));
  Put(MakeNode("a", "g7", 30, "1"));
  EXPECT_TRUE(view_.SawEndOf(of_life(20))) << "another one is in its place";
  EXPECT_TRUE(view_.SawEndOf(of_life(10))) << "and before it";
  EXPECT_FALSE(view_.SawEndOf(of_life(30)));
  Delete("nodePools/a/nodes/g7");
  EXPECT_TRUE(view_.SawEndOf(of_life(30)));
  EXPECT_FALSE(view_.SawEndOf(of_life(31)));
  NodeObject without = of_life(30);
  without.annotations.clear();
  EXPECT_FALSE(view_.SawEndOf(without));
  // In another history it may not have ended.
  view_.BeginSnapshot();
  EndSnapshot("h2");
  EXPECT_FALSE(view_.SawEndOf(of_life(30)));
}

// What a snapshot does not have may be hidden, or lost: only what was told to be deleted ended.
TEST_F(MusterViewTest, KnowsWhichPoolsEndedByWord) {
  view_.BeginSnapshot();
  PutPool("a", "u-a", "1", 1);
  PutPool("b", "u-b", "1", 1);
  EndSnapshot("h1");
  Delete("nodePools/a");
  EXPECT_TRUE(view_.SawEndOfPool("u-a"));
  view_.BeginSnapshot();
  EndSnapshot("h1");
  EXPECT_EQ(view_.Pool("b").pool, nullptr);
  EXPECT_FALSE(view_.SawEndOfPool("u-b")) << "a mere absence";
  view_.BeginSnapshot();
  EndSnapshot("h2");
  EXPECT_FALSE(view_.SawEndOfPool("u-a")) << "in another history it may not have ended";
}

// The end of the former pool was missed; its Node's name is the same.
TEST_F(MusterViewTest, ANodeIsOfItsPoolOfNow) {
  Put(MakeNode("a", "g7", 10, "1", "former"));
  Put(MakeNode("a", "g7", 20, "1", "present"));
  EXPECT_THAT(view_.NodesOf("former"), IsEmpty());
  EXPECT_EQ(view_.NodesOf("present").size(), 1u);
  Delete("nodePools/a/nodes/g7");
  EXPECT_THAT(view_.NodesOf("former"), IsEmpty());
  EXPECT_THAT(view_.NodesOf("present"), IsEmpty());
}

// Its machine is off: a v1 Node that is left over is still to go.
TEST_F(MusterViewTest, ANodeThatHasLeftIsNoneOfItsPoolAndStillTheMachines) {
  auto node = MakeNode("a", "g7", 10, "1", "u");
  node.mutable_node()->set_state(lifecycle::v1::Node::STATE_DELETED);
  Put(node);
  EXPECT_THAT(view_.NodesOf("u"), IsEmpty());
  EXPECT_EQ(LifeOf("g7"), 10);
}

TEST_F(MusterViewTest, KnowsSinceWhenSomethingIsNotShown) {
  PutPool("a", "u", "1", 1);
  PutPool("a", "u", "2", 2);
  const MusterView::PoolView seen = view_.Pool("a");
  EXPECT_EQ(seen.unseen_since, At(1)) << "the first of it";
  view_.SetShown("a", seen);
  EXPECT_EQ(view_.Pool("a").unseen_since, absl::InfiniteFuture());
  PutPool("a", "u", "3", 5);
  PutPool("a", "u", "3", 6);
  view_.SetShown("a", seen);
  EXPECT_EQ(view_.Pool("a").unseen_since, At(5)) << "what came meanwhile is not shown";
  view_.SetShown("none", seen);
  EXPECT_EQ(view_.pools(), 1u);
}

}  // namespace
}  // namespace muster::kubernetes
