// That no more is asked for than is wanted.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "absl/strings/str_cat.h"
#include "muster/history/v1/history_service.grpc.pb.h"
#include "muster/lifecycle/v1/lifecycle_service.grpc.pb.h"
#include "muster/quota/v1/quota_service.grpc.pb.h"
#include "services/musterctl/client/api.h"
#include "services/musterctl/client/errors.h"

namespace muster::musterctl {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// What an organization sees: no machines. Answers lists with what is there, as a server without
// filters; the past in pages of one, changes in pages of two.
class NarrowServer final : public lifecycle::v1::LifecycleService::Service,
                           public quota::v1::QuotaService::Service,
                           public history::v1::HistoryService::Service {
 public:
  NarrowServer() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(static_cast<lifecycle::v1::LifecycleService::Service*>(this));
    builder.RegisterService(static_cast<quota::v1::QuotaService::Service*>(this));
    builder.RegisterService(static_cast<history::v1::HistoryService::Service*>(this));
    server_ = builder.BuildAndStart();
  }
  std::unique_ptr<Api> Connect(const Scope& scope = {"acme", "example"}) const {
    return Api::Create({.server = absl::StrCat("127.0.0.1:", port_), .scope = scope});
  }

  grpc::Status ListNodes(grpc::ServerContext*, const lifecycle::v1::ListNodesRequest* request,
                         lifecycle::v1::ListNodesResponse* response) override {
    lists.emplace_back(request->parent(), request->filter());
    for (const std::string& name : nodes) {
      lifecycle::v1::Node& node = *response->add_nodes();
      node.set_name(name);
      const auto at = created.find(name);
      if (at != created.end()) node.mutable_create_time()->set_seconds(at->second);
    }
    return grpc::Status::OK;
  }
  grpc::Status ListNodePools(grpc::ServerContext*,
                             const lifecycle::v1::ListNodePoolsRequest* request,
                             lifecycle::v1::ListNodePoolsResponse*) override {
    lists.emplace_back(request->parent(), request->filter());
    return grpc::Status::OK;
  }
  grpc::Status GetNodePool(grpc::ServerContext*, const lifecycle::v1::GetNodePoolRequest* request,
                           lifecycle::v1::NodePool* response) override {
    got.push_back(request->name());
    response->set_name(request->name());
    return grpc::Status::OK;
  }
  grpc::Status ListEvents(grpc::ServerContext*, const lifecycle::v1::ListEventsRequest* request,
                          lifecycle::v1::ListEventsResponse*) override {
    lists.emplace_back(request->parent(), request->filter());
    return grpc::Status::OK;
  }
  grpc::Status ListPast(grpc::ServerContext*, const history::v1::ListPastRequest* request,
                        history::v1::ListPastResponse* response) override {
    lists.emplace_back(request->parent(), request->collection());
    const std::string& token = request->page_token();
    const size_t at = token.empty() ? 0 : std::stoul(token);
    if (at >= nodes.size()) return grpc::Status::OK;
    lifecycle::v1::Node node;
    node.set_name(nodes[at]);
    response->add_resources()->mutable_resource()->PackFrom(node);
    if (at + 1 < nodes.size()) response->set_next_page_token(absl::StrCat(at + 1));
    return grpc::Status::OK;
  }
  grpc::Status ListChanges(grpc::ServerContext*, const history::v1::ListChangesRequest* request,
                           history::v1::ListChangesResponse* response) override {
    ++pages_of_changes;
    const std::string& token = request->page_token();
    size_t at = token.empty() ? 0 : std::stoul(token);
    for (const size_t end = at + 2; at < changed.size() && at < end; ++at)
      response->add_changes()->mutable_change_time()->set_seconds(changed[at]);
    if (at < changed.size()) response->set_next_page_token(absl::StrCat(at));
    return grpc::Status::OK;
  }
  grpc::Status WatchLifecycle(grpc::ServerContext*,
                              const lifecycle::v1::WatchLifecycleRequest* request,
                              grpc::ServerWriter<lifecycle::v1::WatchLifecycleResponse>*) override {
    prefixes.push_back(request->name_prefix());
    return {grpc::StatusCode::FAILED_PRECONDITION, "the end"};
  }
  grpc::Status WatchQuotas(grpc::ServerContext*, const quota::v1::WatchQuotasRequest* request,
                           grpc::ServerWriter<quota::v1::WatchQuotasResponse>*) override {
    prefixes.push_back(request->name_prefix());
    return {grpc::StatusCode::FAILED_PRECONDITION, "the end"};
  }

  std::vector<std::string> nodes;
  std::vector<std::pair<std::string, std::string>> lists;  // parents and filters, or collections
  std::vector<std::string> got;                            // NodePools
  std::map<std::string, int64_t> created;                  // Nodes by name: when, in seconds
  std::vector<std::string> prefixes;                       // of watches
  std::vector<int64_t> changed;                            // when, in seconds
  int pages_of_changes = 0;

 private:
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

constexpr char kCluster[] = "organizations/acme/clusters/example";

TEST(NarrowApiTest, ANodeIsFoundByItsMachineAloneInOneCallToLifecycle) {
  NarrowServer server;
  const std::string name = absl::StrCat(kCluster, "/nodePools/train/nodes/g1");
  server.nodes = {absl::StrCat(kCluster, "/nodePools/eval/nodes/g12"), name};
  const auto api = server.Connect();
  const auto found = api->Get(Kind::kNode, "g1");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(NameOf(*found), name);
  EXPECT_THAT(server.lists,
              ElementsAre(Pair(absl::StrCat(kCluster, "/nodePools/-"), "machine = \"g1\"")));
  EXPECT_EQ(RenderError(api->Get(Kind::kNode, "g").status()),
            "error: node \"g\" does not exist. (NOT_FOUND)\n");
  EXPECT_FALSE(api->Get(Kind::kNode, "a\"b\\c").ok());
  EXPECT_EQ(server.lists.back().second, "machine = \"a\\\"b\\\\c\"");
  EXPECT_FALSE(api->Get(Kind::kEvent, "e1").ok());
  EXPECT_THAT(server.lists.back(), Pair(kCluster, "name = \"*e1\""));
}

// The earlier one is still there, on its way out.
TEST(NarrowApiTest, OfTwoNodesOfAMachineTheLaterIsMeant) {
  NarrowServer server;
  const std::string gone = absl::StrCat(kCluster, "/nodePools/a/nodes/g1");
  const std::string now = absl::StrCat(kCluster, "/nodePools/b/nodes/g1");
  server.created = {{gone, 10}, {now, 20}};
  for (const bool is_first : {true, false}) {
    server.nodes = is_first ? std::vector{now, gone} : std::vector{gone, now};
    const auto found = server.Connect()->Get(Kind::kNode, "g1");
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(NameOf(*found), now);
  }
}

TEST(NarrowApiTest, ListsLeaveOutWhatBeginsOtherwise) {
  NarrowServer server;
  const auto list = [&](const Scope& scope, Kind kind, const ListRange& range) {
    EXPECT_TRUE(server.Connect(scope)->List(kind, range).ok());
    return server.lists.back();
  };
  const Scope scope = {"acme", "example"};
  const std::string pools = absl::StrCat(kCluster, "/nodePools/");
  EXPECT_THAT(list(scope, Kind::kNodePool, {.begin = "tr"}),
              Pair(kCluster, absl::StrCat("name = \"", pools, "tr*\"")));
  EXPECT_THAT(list(scope, Kind::kNode, {.begin = "tr"}),
              Pair(pools + "-", absl::StrCat("name = \"", pools, "tr*\"")));
  EXPECT_THAT(list(scope, Kind::kNode, {.begin = "train/g1"}),
              Pair(pools + "train", absl::StrCat("name = \"", pools, "train/nodes/g1*\"")));
  EXPECT_THAT(list(scope, Kind::kNode, {.pool = "train", .filter = "state = TRIAGE"}),
              Pair(pools + "train", "state = TRIAGE"));
  EXPECT_THAT(list(scope, Kind::kNode, {}), Pair(pools + "-", ""));
  // Where ids do not say where they are.
  EXPECT_THAT(list({"acme", "-"}, Kind::kNode, {.begin = "train/g1"}),
              Pair("organizations/acme/clusters/-/nodePools/-", ""));
}

// A NodePool is got by a name that says where it is.
TEST(NarrowApiTest, EventsOfANodePoolOfAllClustersAreListedWithoutIt) {
  NarrowServer server;
  for (const Scope& scope : {Scope{"-", "-"}, Scope{"acme", "-"}}) {
    const auto events = server.Connect(scope)->List(Kind::kEvent, "train");
    EXPECT_TRUE(events.ok()) << events.status();
  }
  EXPECT_THAT(server.lists, ElementsAre(Pair("organizations/-/clusters/-", ""),
                                        Pair("organizations/acme/clusters/-", "")));
  EXPECT_THAT(server.got, IsEmpty());
  const std::string train = absl::StrCat(kCluster, "/nodePools/train");
  ASSERT_TRUE(server.Connect({"-", "-"})->List(Kind::kEvent, train).ok());
  ASSERT_TRUE(server.Connect()->List(Kind::kEvent, "train").ok());
  EXPECT_THAT(server.got, ElementsAre(train, train));
  EXPECT_THAT(server.lists.back(), Pair(kCluster, ""));
}

TEST(NarrowApiTest, EventsAreListedInTheClusterThatIsNamed) {
  NarrowServer server;
  const std::string far = "organizations/beta/clusters/c2";
  for (const Scope& scope : {Scope{"acme", "example"}, Scope{"-", "-"}})
    ASSERT_TRUE(server.Connect(scope)->List(Kind::kEvent, ListRange{.cluster = far}).ok());
  EXPECT_THAT(server.lists, ElementsAre(Pair(far, ""), Pair(far, "")));
}

// History takes no name of a NodePool that may be anywhere.
TEST(NarrowApiTest, NodesThatANodePoolHadAreListedOfAllClustersWithoutIt) {
  NarrowServer server;
  const auto parent = [&](const Scope& scope, const std::string& pool) {
    const auto nodes = server.Connect(scope)->ListPast(Kind::kNode, pool, int64_t{41});
    EXPECT_TRUE(nodes.ok()) << nodes.status();
    EXPECT_EQ(server.lists.back().second, "nodes");
    return server.lists.back().first;
  };
  const std::string train = absl::StrCat(kCluster, "/nodePools/train");
  EXPECT_EQ(parent({"-", "-"}, "train"), "organizations/-");
  EXPECT_EQ(parent({"acme", "-"}, "train"), "organizations/acme");
  EXPECT_EQ(parent({"acme", "-"}, train), train);
  EXPECT_EQ(parent({"acme", "example"}, "train"), train);
}

TEST(NarrowApiTest, ThePastIsListedToItsLastPage) {
  NarrowServer server;
  server.nodes = {"a", "b", "c"};
  const auto nodes = server.Connect()->ListPast(Kind::kNode, "", int64_t{41});
  ASSERT_TRUE(nodes.ok()) << nodes.status();
  std::vector<std::string> names;
  for (const Item& node : *nodes) names.push_back(NameOf(node));
  EXPECT_EQ(names, server.nodes);
  EXPECT_EQ(server.lists.size(), 3U);
}

TEST(NarrowApiTest, ChangesAreListedBackToAMoment) {
  NarrowServer server;
  server.changed = {50, 40, 30, 20, 10};
  const auto list = [&](int limit, absl::Time since) {
    server.pages_of_changes = 0;
    const auto told = server.Connect()->ListChanges({Kind::kCluster, "example"}, limit, since);
    EXPECT_TRUE(told.ok()) << told.status();
    return told.ok() ? told->answer : history::v1::ListChangesResponse();
  };
  const auto at = [](int64_t seconds) { return absl::FromUnixSeconds(seconds); };
  const auto since_30 = list(20, at(30));
  EXPECT_EQ(since_30.changes_size(), 3);
  EXPECT_TRUE(since_30.complete()) << "what was before was not asked for";
  EXPECT_EQ(since_30.next_page_token(), "") << "nor was more";
  EXPECT_EQ(server.pages_of_changes, 2) << "it asks for no older page";
  EXPECT_EQ(list(20, at(30) + absl::Nanoseconds(1)).changes_size(), 2);
  const auto none = list(20, at(51));
  EXPECT_EQ(none.changes_size(), 0);
  EXPECT_TRUE(none.complete());
  const auto two_of_three = list(2, at(30));
  EXPECT_EQ(two_of_three.changes_size(), 2);
  EXPECT_NE(two_of_three.next_page_token(), "");
  const auto both = list(2, at(40));
  EXPECT_EQ(both.changes_size(), 2);
  EXPECT_EQ(both.next_page_token(), "") << "the next is older";
  EXPECT_EQ(list(5, absl::InfinitePast()).next_page_token(), "") << "there is none";
  const auto all = list(20, absl::InfinitePast());
  EXPECT_EQ(all.changes_size(), 5);
  EXPECT_FALSE(all.complete()) << "as the server says";
  const auto three = list(3, absl::InfinitePast());
  EXPECT_EQ(three.changes_size(), 3);
  EXPECT_NE(three.next_page_token(), "");
}

TEST(NarrowApiTest, WatchesAskForNoMoreThanTheirRange) {
  NarrowServer server;
  const auto prefix = [&](const WatchRange& range, const Scope& scope = {"acme", "example"}) {
    const auto go_on = [](const WatchMessage&) { return true; };
    EXPECT_FALSE(server.Connect(scope)->Watch(range, type::v1::WatchStart(), go_on).ok());
    return server.prefixes.back();
  };
  const std::string in = absl::StrCat(kCluster, "/");
  const std::string far = "organizations/beta/clusters/c2/nodePools/far";
  EXPECT_EQ(prefix({.kind = Kind::kNode}), in);
  EXPECT_EQ(prefix({.kind = Kind::kNodePool, .ids = {"x"}}), in + "nodePools/x");
  EXPECT_EQ(prefix({.kind = Kind::kNodePool, .ids = {"x", "xy"}}), in + "nodePools/");
  EXPECT_EQ(prefix({.kind = Kind::kNodePool, .ids = {far}}), far);
  EXPECT_EQ(prefix({.kind = Kind::kNodePool, .ids = {"x", far}}), "organizations/");
  EXPECT_EQ(prefix({.kind = Kind::kNode, .ids = {"x/g1"}}), in + "nodePools/x/nodes/g1");
  EXPECT_EQ(prefix({.kind = Kind::kNode, .ids = {"x/g1", "x/g2"}}), in + "nodePools/x/nodes/");
  EXPECT_EQ(prefix({.kind = Kind::kNode, .ids = {"g1"}}), in) << "whose it is is not known";
  EXPECT_EQ(prefix({.kind = Kind::kNode, .pool = "x"}), in + "nodePools/x/");
  EXPECT_EQ(prefix({.kind = Kind::kEvent, .pool = "x"}), in);
  EXPECT_EQ(prefix({.kind = Kind::kEvent, .pool = far}), "organizations/beta/clusters/c2/");
  EXPECT_EQ(prefix({.kind = Kind::kQuota}), "organizations/acme/quotas/");
  EXPECT_EQ(prefix({.kind = Kind::kQuota, .ids = {"z~t~spot"}}),
            "organizations/acme/quotas/z~t~spot");
  EXPECT_EQ(prefix({.kind = Kind::kQuota, .ids = {"z~t~spot"}}, {"-", "-"}), "");
  EXPECT_EQ(prefix({.kind = Kind::kNode, .pool = "x"}, {"acme", "-"}),
            "organizations/acme/clusters/");
}

}  // namespace
}  // namespace muster::musterctl
