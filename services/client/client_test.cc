#include "services/client/client.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"

namespace muster::client {
namespace {

using LifecycleStub = lifecycle::v1::LifecycleService::Stub;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;

// Answers as it is told to, and remembers what it was asked.
class FakeLifecycleServer final : public lifecycle::v1::LifecycleService::Service {
 public:
  FakeLifecycleServer() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    builder.RegisterService(&history_);
    server_ = builder.BuildAndStart();
  }
  Options options() const {
    return {.server = absl::StrCat("127.0.0.1:", port_),
            .request_id = "id",
            .reason = "a test",
            .sleep = [](absl::Duration) {}};
  }

  std::string asked_service = {};       // what the last history call was marked with
  absl::Duration left = {};             // until the deadline of the last Get
  int failures = 0;                     // calls that fail before one is answered
  std::vector<std::string> asked = {};  // request ids

  grpc::Status ResizeNodePool(grpc::ServerContext* context,
                              const lifecycle::v1::ResizeNodePoolRequest* request,
                              lifecycle::v1::NodePool* pool) override {
    asked.push_back(request->request_id());
    const auto reason = context->client_metadata().find("x-muster-reason");
    EXPECT_TRUE(reason != context->client_metadata().end() && reason->second == "a test");
    if (failures-- > 0) return {grpc::StatusCode::UNKNOWN, "nobody knows"};
    pool->set_name(request->name());
    return grpc::Status::OK;
  }
  grpc::Status DeleteCluster(grpc::ServerContext* context,
                             const lifecycle::v1::DeleteClusterRequest* request,
                             google::protobuf::Empty*) override {
    if (request->name() != "old") context->AddTrailingMetadata("x-muster-revision", "42");
    return grpc::Status::OK;
  }
  grpc::Status GetNodePool(grpc::ServerContext* context,
                           const lifecycle::v1::GetNodePoolRequest* request,
                           lifecycle::v1::NodePool* pool) override {
    left = absl::FromChrono(context->deadline()) - absl::Now();
    if (request->name() == "gone") return {grpc::StatusCode::NOT_FOUND, "gone"};
    if (request->name() == "secret") return {grpc::StatusCode::PERMISSION_DENIED, "no"};
    pool->set_name(request->name());
    return grpc::Status::OK;
  }
  grpc::Status ListNodePools(grpc::ServerContext*,
                             const lifecycle::v1::ListNodePoolsRequest* request,
                             lifecycle::v1::ListNodePoolsResponse* page) override {
    const int first = request->page_token().empty() ? 0 : std::stoi(request->page_token());
    for (int i = first; i < first + request->page_size() && i < 5; ++i)
      page->add_node_pools()->set_name(absl::StrCat(i));
    if (first + request->page_size() < 5)
      page->set_next_page_token(absl::StrCat(first + request->page_size()));
    return grpc::Status::OK;
  }

 private:
  struct FakeHistory final : public history::v1::HistoryService::Service {
    explicit FakeHistory(FakeLifecycleServer& server_in) : server(server_in) {}
    grpc::Status GetPast(grpc::ServerContext* context, const history::v1::GetPastRequest*,
                         history::v1::GetPastResponse*) override {
      const auto service = context->client_metadata().find("x-muster-service");
      if (service == context->client_metadata().end())
        return {grpc::StatusCode::INVALID_ARGUMENT, "of which service?"};
      server.asked_service.assign(service->second.data(), service->second.size());
      return grpc::Status::OK;
    }
    FakeLifecycleServer& server;
  };

  int port_ = 0;
  FakeHistory history_{*this};
  std::unique_ptr<grpc::Server> server_;
};

class ClientTest : public ::testing::Test {
 protected:
  FakeLifecycleServer server_;
  Client client_{server_.options()};
};

TEST_F(ClientTest, AMutationIsRepeatedUnderOneId) {
  server_.failures = 2;
  lifecycle::v1::ResizeNodePoolRequest request;
  request.set_name("train");
  const absl::StatusOr<lifecycle::v1::NodePool> pool =
      client_.Call(&LifecycleStub::ResizeNodePool, request);
  ASSERT_TRUE(pool.ok()) << pool.status();
  EXPECT_EQ(pool->name(), "train");
  EXPECT_TRUE(client_.Call(&LifecycleStub::ResizeNodePool, request).ok());
  request.set_request_id("mine");
  EXPECT_TRUE(client_.Call(&LifecycleStub::ResizeNodePool, request).ok());
  request.clear_request_id();
  request.set_validate_only(true);
  EXPECT_TRUE(client_.Call(&LifecycleStub::ResizeNodePool, request).ok());
  EXPECT_THAT(server_.asked, ElementsAre("id", "id", "id", "id.2", "mine", ""));
}

TEST_F(ClientTest, ACallEndsWithTheWaitThatItIsPartOf) {
  Options options = server_.options();
  options.timeout = absl::Hours(4);
  Client client(options);
  const auto left = [&] {
    EXPECT_TRUE(client.Find(&LifecycleStub::GetNodePool, "train").ok());
    return server_.left;
  };
  EXPECT_GT(left(), absl::Hours(3));
  client.EndWithin(absl::Hours(2));
  EXPECT_GT(left(), absl::Hours(1));
  EXPECT_LE(left(), absl::Hours(2.5));  // gRPC sends three digits, rounded up
  client.EndWithin(absl::Hours(9));
  EXPECT_GT(left(), absl::Hours(3));
  EXPECT_LE(left(), absl::Hours(5));
  // The last look is answered, too.
  client.EndWithin(-absl::Hours(1));
  EXPECT_LE(left(), absl::Seconds(3));
  client.EndWithin(absl::InfiniteDuration());
  EXPECT_GT(left(), absl::Hours(3));
}

// However much those before it asked for.
TEST_F(ClientTest, AnOrderOfSeveralIsNamedByItsPlace) {
  const lifecycle::v1::ResizeNodePoolRequest request;
  const auto resize = [&] {
    EXPECT_TRUE(client_.Call(&LifecycleStub::ResizeNodePool, request).ok());
  };
  client_.BeginOrder(1);
  resize();
  resize();
  client_.BeginOrder(2);
  client_.BeginOrder(3);
  resize();
  resize();
  EXPECT_THAT(server_.asked, ElementsAre("id", "id.1.2", "id.3", "id.3.2"));
}

// Servers take no longer ones.
TEST_F(ClientTest, TheLongestIdLeavesRoomForNumbers) {
  const auto ids_of = [&](const std::string& id) {
    Options options = server_.options();
    options.request_id = id;
    Client client(options);
    server_.asked.clear();
    for (int i = 0; i < 2; ++i)
      EXPECT_TRUE(
          client.Call(&LifecycleStub::ResizeNodePool, lifecycle::v1::ResizeNodePoolRequest()).ok());
    return server_.asked;
  };
  const std::string longest(64, 'x');
  const std::vector<std::string> ids = ids_of(longest);
  ASSERT_EQ(ids.size(), 2u);
  EXPECT_EQ(ids[0], longest);
  EXPECT_LE(ids[1].size(), 64u);
  EXPECT_EQ(ids_of(longest), ids) << "the same again is done once";
  EXPECT_NE(ids_of(std::string(63, 'x') + "y")[1], ids[1]);
  EXPECT_THAT(ids_of(std::string(62, 'x')),
              ElementsAre(std::string(62, 'x'), std::string(62, 'x') + ".2"));
}

TEST_F(ClientTest, AnAnswerSaysWhichRevisionItShows) {
  lifecycle::v1::DeleteClusterRequest request;
  int64_t revision = 7;
  request.set_name("old");  // a server that does not tell it
  EXPECT_TRUE(client_.Call(&LifecycleStub::DeleteCluster, request, &revision).ok());
  EXPECT_EQ(revision, 7);
  request.set_name("example");
  EXPECT_TRUE(client_.Call(&LifecycleStub::DeleteCluster, request).ok());
  EXPECT_TRUE(client_.Call(&LifecycleStub::DeleteCluster, request, &revision).ok());
  EXPECT_EQ(revision, 42);
}

TEST_F(ClientTest, ButNotForEver) {
  server_.failures = 100;
  EXPECT_THAT(
      client_.Call(&LifecycleStub::ResizeNodePool, lifecycle::v1::ResizeNodePoolRequest()).status(),
      StatusIs(absl::StatusCode::kUnknown, "nobody knows"));
  EXPECT_EQ(server_.asked.size(), 4);
}

TEST_F(ClientTest, WhatIsNotThereIsNoError) {
  const auto found = client_.Find(&LifecycleStub::GetNodePool, "train");
  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_EQ((*found)->name(), "train");
  const auto gone = client_.Find(&LifecycleStub::GetNodePool, "gone");
  EXPECT_TRUE(gone.ok() && !gone->has_value());
  EXPECT_TRUE(
      absl::IsPermissionDenied(client_.Find(&LifecycleStub::GetNodePool, "secret").status()));
}

TEST_F(ClientTest, AskingForAHistorySaysWhose) {
  history::v1::GetPastRequest request;
  request.set_name("organizations/acme/quotas/q");
  const auto past = client_.Call(&history::v1::HistoryService::Stub::GetPast, request);
  EXPECT_TRUE(past.ok()) << past.status();
  EXPECT_EQ(server_.asked_service, "quota");
}

TEST_F(ClientTest, PagesComeOneAfterTheOther) {
  lifecycle::v1::ListNodePoolsRequest request;
  request.set_page_size(2);
  std::vector<std::string> names;
  size_t most = 100;
  const auto list = [&] {
    names.clear();
    return client_.Pages(&LifecycleStub::ListNodePools, request,
                         [&](lifecycle::v1::ListNodePoolsResponse& page) {
                           for (const lifecycle::v1::NodePool& pool : page.node_pools())
                             names.push_back(pool.name());
                           return names.size() < most;
                         });
  };
  EXPECT_TRUE(list().ok());
  EXPECT_THAT(names, ElementsAre("0", "1", "2", "3", "4"));
  most = 3;
  EXPECT_TRUE(list().ok());
  EXPECT_THAT(names, ElementsAre("0", "1", "2", "3"));
}

}  // namespace
}  // namespace muster::client
