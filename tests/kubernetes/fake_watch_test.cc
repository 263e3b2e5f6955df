// What both back ends do with lists and watches.
#include "tests/kubernetes/raw_request.h"
#include "tests/kubernetes/server_test_base.h"

namespace muster::testing {
namespace {

using ::absl::StatusCode;
using kubernetes::Parameters;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class ListTest : public ServerTest {
 protected:
  // A group of Nodes that no other test selects.
  ListTest() : group_(Name("group")) {}
  std::string CreateNode(const Json& labels = Json::object()) {
    Json node = Node(Name("node"));
    node["metadata"]["labels"] = labels;
    node["metadata"]["labels"]["group"] = group_;
    Create(kNodes, node);
    return node["metadata"]["name"];
  }
  Parameters Group(const std::string& more = "") const {
    return {{"labelSelector", absl::StrCat("group=", group_, more)}};
  }
  // Where a watch can begin.
  std::string Now(absl::string_view path) {
    const auto version = client_->List(path, {}, [](const Json&) {});
    EXPECT_THAT(version, IsOk());
    return version.value_or("");
  }

  const std::string group_;
};

TEST_F(ListTest, SelectsByLabels) {
  const std::string a = CreateNode({{"app", "a"}});
  const std::string b = CreateNode({{"app", "b"}});
  const std::string none = CreateNode();
  EXPECT_THAT(Names(kNodes, Group()), ElementsAre(a, b, none));
  EXPECT_THAT(Names(kNodes, Group(",app=a")), ElementsAre(a));
  EXPECT_THAT(Names(kNodes, Group(",app!=a")), ElementsAre(b, none));
  EXPECT_THAT(Names(kNodes, Group(",app in (a, b)")), ElementsAre(a, b));
  EXPECT_THAT(Names(kNodes, Group(",app notin (a)")), ElementsAre(b, none));
  EXPECT_THAT(Names(kNodes, Group(",app")), ElementsAre(a, b));
  EXPECT_THAT(Names(kNodes, Group(",!app")), ElementsAre(none));
}

TEST_F(ListTest, SelectsByFields) {
  const std::string node = CreateNode();
  EXPECT_THAT(Names(kNodes, {{"fieldSelector", absl::StrCat("metadata.name=", node)}}),
              ElementsAre(node));
  const std::string pod = Name("pod");
  Create(kPods, Pod(pod, node));
  Create(kPods, Pod(Name("pod"), Name("node")));
  const Parameters on_node = {{"fieldSelector", absl::StrCat("spec.nodeName=", node)}};
  EXPECT_THAT(Names("/api/v1/pods", on_node), ElementsAre(pod));
  EXPECT_THAT(Names(kPods, on_node), ElementsAre(pod));
  EXPECT_THAT(Names("/api/v1/namespaces/kube-system/pods", on_node), IsEmpty());
  const auto listed = client_->List(kPods, {{"fieldSelector", "spec.colour=red"}}, [](Json) {});
  EXPECT_THAT(listed, StatusIs(StatusCode::kInvalidArgument,
                               HasSubstr("field label not supported: spec.colour")));
}

TEST_F(ListTest, ComesInPagesOfOneMoment) {
  std::vector<std::string> nodes;
  for (int i = 0; i < 5; ++i) nodes.push_back(CreateNode());
  const std::string path = absl::StrCat(kNodes, "?labelSelector=group%3D", group_, "&limit=2");
  Json page = Json::parse(SendRaw(server(), "GET", path).body);
  const std::string version = VersionOf(page);
  std::vector<std::string> seen;
  const std::string late = CreateNode();
  EXPECT_THAT(client_->Delete(At(kNodes, nodes[4])), IsOk());
  for (int pages = 1;; ++pages) {
    EXPECT_EQ(VersionOf(page), version);
    EXPECT_LE(page["items"].size(), 2);
    for (const Json& item : page["items"]) seen.push_back(item["metadata"]["name"]);
    const std::string token = page["metadata"].value("continue", "");
    if (token.empty()) {
      EXPECT_EQ(pages, 3);
      break;
    }
    page = Json::parse(SendRaw(server(), "GET", absl::StrCat(path, "&continue=", token)).body);
  }
  EXPECT_EQ(seen, nodes);
  EXPECT_THAT(Names(kNodes, Group()), Contains(late));
}

TEST_F(ListTest, NamesTypesInItemsOfCustomResourcesOnly) {
  CreateNode();
  Create(kPools, Pool(Name("pool")));
  const Json nodes = Json::parse(SendRaw(server(), "GET", kNodes).body);
  EXPECT_EQ(nodes["kind"], "NodeList");
  EXPECT_FALSE(nodes["items"][0].contains("kind"));
  const Json pools = Json::parse(SendRaw(server(), "GET", kPools).body);
  EXPECT_EQ(pools["kind"], "NodePoolList");
  EXPECT_EQ(pools["items"][0]["kind"], "NodePool");
}

using WatchTest = ListTest;

TEST_F(WatchTest, TellsWhatHappens) {
  const std::string version = Now(kNodes);
  const std::string node = CreateNode();
  const std::string path = At(kNodes, node);
  const Json changed = Need(Merge(path, {{"metadata", {{"labels", {{"a", "1"}}}}}}));
  EXPECT_THAT(client_->Delete(path), IsOk());
  const auto events = Watch(kNodes, Group(), version,
                            [](absl::string_view type, const Json&) { return type == "DELETED"; });
  ASSERT_EQ(events.size(), 3);
  EXPECT_EQ(events[0].first, "ADDED");
  EXPECT_EQ(events[1], std::make_pair(std::string("MODIFIED"), changed));
  // The last state, with the version of the end.
  EXPECT_EQ(events[2].second["metadata"]["labels"]["a"], "1");
  EXPECT_GT(std::stoll(VersionOf(events[2].second)), std::stoll(VersionOf(changed)));
}

TEST_F(WatchTest, ResumesAfterAVersion) {
  const std::string path = At(kNodes, CreateNode());
  const auto label = [&](const char* value) {
    return Need(Merge(path, {{"metadata", {{"labels", {{"a", value}}}}}}));
  };
  const Json one = label("1");
  const Json two = label("2");
  const Json three = label("3");
  const auto events = Watch(
      kNodes, Group(), VersionOf(one),
      [&](absl::string_view, const Json& object) { return VersionOf(object) == VersionOf(three); });
  ASSERT_EQ(events.size(), 2);
  EXPECT_EQ(events[0].second, two);
}

TEST_F(WatchTest, TellsWhoEntersAndLeavesASelection) {
  const std::string version = Now(kNodes);
  const std::string path = At(kNodes, CreateNode());
  for (const char* value : {"yes", "no", "yes"})
    Need(Merge(path, {{"metadata", {{"labels", {{"in", value}}}}}}));
  EXPECT_THAT(client_->Delete(path), IsOk());
  int deletions = 0;
  const auto events =
      Watch(kNodes, Group(",in=yes"), version, [&](absl::string_view type, const Json&) {
        deletions += type == "DELETED" ? 1 : 0;
        return deletions == 2;
      });
  EXPECT_THAT(events, ElementsAre(Pair("ADDED", ::testing::_), Pair("DELETED", ::testing::_),
                                  Pair("ADDED", ::testing::_), Pair("DELETED", ::testing::_)));
}

// The first that is no bookmark.
bool IsAdded(absl::string_view type, const Json&) { return type == "ADDED"; }

TEST_F(WatchTest, WatchesByFieldAndNamespace) {
  const std::string version = Now("/api/v1/pods");
  const std::string node = Name("node");
  const std::string pod = Name("pod");
  Create(kPods, Pod(Name("pod"), Name("node")));
  Create(kPods, Pod(pod, node));
  for (const char* path : {"/api/v1/pods", kPods}) {
    const auto events =
        Watch(path, {{"fieldSelector", absl::StrCat("spec.nodeName=", node)}}, version, IsAdded);
    EXPECT_EQ(events.back().second["metadata"]["name"], pod);
  }
}

TEST_F(WatchTest, BeginsWithWhatThereIsWhenNoVersionIsNamed) {
  const std::string node = CreateNode();
  const auto events = Watch(kNodes, Group(), "0", IsAdded);
  EXPECT_EQ(events.back().second["metadata"]["name"], node);
}

TEST_F(WatchTest, EndsInTimeWithABookmark) {
  const std::string version = Now(kNodes);
  CreateNode();
  const RawAnswer answer =
      SendRaw(server(), "GET",
              absl::StrCat(kNodes,
                           "?watch=true&allowWatchBookmarks=true&timeoutSeconds=2&"
                           "resourceVersion=",
                           version, "&labelSelector=group%3D", group_));
  EXPECT_EQ(answer.code, 200);
  EXPECT_TRUE(answer.is_whole);
  EXPECT_THAT(answer.body, HasSubstr(R"("type":"ADDED")"));
  EXPECT_EQ(answer.body.back(), '\n');
}

TEST_F(WatchTest, SendsBookmarksThatMoveOn) {
  MUSTER_SKIP_IF_REAL("its bookmarks come about once a minute");
  const std::string version = Now(kPools);
  const std::string node_version = VersionOf(Get(At(kNodes, CreateNode())));
  const auto events = Watch(kPools, Group(), version,
                            [](absl::string_view type, const Json&) { return type == "BOOKMARK"; });
  ASSERT_EQ(events.size(), 1);
  EXPECT_EQ(VersionOf(events[0].second), node_version);
  EXPECT_EQ(events[0].second["kind"], "NodePool");
}

}  // namespace
}  // namespace muster::testing
