#include "services/page/questions.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <muster/history/v1/history_service.grpc.pb.h>

#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/common/log.h"
#include "services/common/timestamp.h"
#include "services/page/core/testing/boards.h"
#include "services/rpc/client/unretried_channel.h"
#include "services/rpc/status.h"
#include "tests/testing/patience.h"

namespace muster::page {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const absl::Time kThen = absl::FromUnixSeconds(1'750'000'000);

TEST(Questions, WhereAServiceThatIsAwayShouldBeIsNotTold) {
  const auto nowhere = rpc::MakeUnretriedChannel("unix:/nowhere/muster.sock");
  const Questions questions({.capacity = nowhere, .lifecycle = nowhere});
  const Questions::Answer pool = questions.Pool("organizations/acme/clusters/c1/nodePools/train");
  EXPECT_EQ(pool.status, 503);
  EXPECT_EQ(pool.json, R"({"error":"Lifecycle does not answer."})");
  const Questions::Answer claim = questions.Claim("uid-1");
  EXPECT_EQ(claim.status, 503);
  EXPECT_EQ(claim.json, R"({"error":"Capacity does not answer."})");
  EXPECT_EQ(questions.Past(kThen, Board()).json, R"({"error":"Lifecycle does not answer."})");
}

// A page that stands open asks, and so do people: the log is not filled by them.
TEST(Questions, AServiceThatIsAwayIsLoggedOnceHoweverManyAsk) {
  const auto nowhere = rpc::MakeUnretriedChannel("unix:/nowhere/muster.sock");
  const Questions questions({.capacity = nowhere, .lifecycle = nowhere});
  std::vector<std::string> lines;
  log::SetSink([&](absl::string_view line) { lines.emplace_back(line); });
  for (int i = 0; i < 5; ++i) {
    (void)questions.Pool("organizations/acme/clusters/c1/nodePools/train");
    (void)questions.Claim("uid-1");
    (void)questions.Past(kThen, Board());
  }
  log::SetSink({});
  EXPECT_THAT(lines, ElementsAre(AllOf(HasSubstr(R"("service":"lifecycle","code":"UNAVAILABLE")"),
                                       HasSubstr("nowhere")),
                                 HasSubstr(R"("service":"capacity")")));
}

// Tells each collection's rows one a page.
class FakeHistory final : public history::v1::HistoryService::Service {
 public:
  FakeHistory() { server_ = grpc::ServerBuilder().RegisterService(this).BuildAndStart(); }
  ~FakeHistory() override { server_->Shutdown(); }

  std::shared_ptr<grpc::Channel> channel() { return server_->InProcessChannel({}); }
  template <class Row>
  void Add(const std::string& collection, const Row& row) {
    rows_[collection].emplace_back().PackFrom(row);
  }

  grpc::Status ListPast(grpc::ServerContext* context, const history::v1::ListPastRequest* request,
                        history::v1::ListPastResponse* response) override {
    asked.push_back(
        absl::StrCat(request->parent(), " ", request->collection(), " ", request->page_token()));
    EXPECT_EQ(FromTimestamp(request->time()), kThen);
    if (request->collection() == refuses) return rpc::ToGrpcStatus(refusal);
    if (request->collection() == hangs) {
      hung.set_value();
      testing::Until([&] { return context->IsCancelled(); }, "the end of a call");
      return grpc::Status::CANCELLED;
    }
    const auto& rows = rows_[request->collection()];
    const size_t at = request->page_token().size();
    if (at < rows.size()) *response->add_resources()->mutable_resource() = rows[at];
    if (at + 1 < rows.size()) response->set_next_page_token(std::string(at + 1, 'x'));
    return grpc::Status::OK;
  }

  std::vector<std::string> asked = {};
  std::string refuses = {};
  absl::Status refusal = {};
  std::string hangs = {};
  std::promise<void> hung = {};

 private:
  std::map<std::string, std::vector<google::protobuf::Any>> rows_;
  std::unique_ptr<grpc::Server> server_;
};

class PastTest : public ::testing::Test {
 protected:
  PastTest() {
    history_.Add("nodePools", PoolMessage(2).node_pool());
    history_.Add("nodes", NodeMessage("g1", lifecycle::v1::Node::STATE_PRODUCTION).node());
    history_.Add("nodes", NodeMessage("g9", lifecycle::v1::Node::STATE_BOOTING).node());
    history_.Add("quotas", QuotaLimit(9).quota());
    quota::v1::Holding holding = HoldingMessage("u1", 2).holding();
    holding.set_name(HoldingMessage("u1", 2).key());
    history_.Add("holdings", holding);
    for (const char* id : {"g1", "g2"})
      places_.Take(page::MachineMessage(id, capacity::v1::Machine::STATE_FREE));
  }
  Questions::Answer Ask() {
    const Questions questions({.quota = history_.channel(), .lifecycle = history_.channel()});
    return questions.Past(kThen, places_.PlacesAlone());
  }

  FakeHistory history_;
  Board places_;
};

TEST_F(PastTest, IsAFrameWithAllThatThereWas) {
  const Questions::Answer answer = Ask();
  EXPECT_EQ(answer.status, 200);
  const json told = json::parse(answer.json);
  EXPECT_EQ(told["at"], absl::ToUnixMillis(kThen));
  EXPECT_EQ(told["frame"]["caughtUp"], true);
  std::map<std::string, int> states;
  for (const json& cell : told["frame"]["cells"]) states[cell[5]] = cell[1];
  EXPECT_THAT(states, ElementsAre(std::pair("g1", static_cast<int>(CellState::kProduction)),
                                  std::pair("g2", static_cast<int>(CellState::kNodeless)),
                                  std::pair("g9", static_cast<int>(CellState::kBooting))));
  std::map<std::string, json> documents;
  for (const json& row : told["frame"]["documents"]) documents[row[1]] = row[2];
  EXPECT_EQ(documents[kPool]["target"], 2);
  EXPECT_EQ(documents[kQuota]["held"], 2);
  EXPECT_EQ(documents[kQuota]["inForce"], 9);
  EXPECT_THAT(history_.asked, ElementsAre("organizations/- nodePools ", "organizations/- nodes ",
                                          "organizations/- nodes x", "organizations/- quotas ",
                                          "organizations/- holdings "));
}

TEST_F(PastTest, WhatIsNotKeptIsSaidInTheServicesWords) {
  history_.refusal =
      error::Make(absl::StatusCode::kOutOfRange, "From then on.", {.reason = "REVISION_COMPACTED"});
  for (const char* collection : {"nodes", "holdings"}) {
    history_.refuses = collection;
    const Questions::Answer answer = Ask();
    EXPECT_EQ(answer.status, 410);
    EXPECT_EQ(answer.json, R"({"error":"From then on."})");
  }
}

// In milliseconds, as the slider asks; what is a fraction of one later is refused.
TEST_F(PastTest, FromWhenOnItIsKeptIsSaidAsAMomentThatCanBeAskedFor) {
  history_.refuses = "nodes";
  for (const auto& [named, asked] :
       {std::pair("2025-06-15T15:06:40.123+00:00", 1'750'000'000'123),
        std::pair("2025-06-15T15:06:40.123001+00:00", 1'750'000'000'124)}) {
    history_.refusal =
        error::Make(absl::StatusCode::kOutOfRange, "From then on.",
                    {.reason = "REVISION_COMPACTED", .metadata = {{"oldest_time", named}}});
    EXPECT_EQ(Ask().json, absl::StrCat(R"({"error":"From then on.","oldest":)", asked, "}"));
  }
}

// The process that ends waits for nobody's slider.
TEST_F(PastTest, WhoeverAsksIsAnsweredWhenThePageEnds) {
  history_.hangs = "nodes";
  Questions questions({.lifecycle = history_.channel()});
  std::future<Questions::Answer> answer =
      std::async(std::launch::async, [&] { return questions.Past(kThen, places_.PlacesAlone()); });
  testing::Await(history_.hung.get_future(), "a call");
  questions.Stop();
  EXPECT_EQ(testing::Await(std::move(answer), "the answer").status, 503);
  EXPECT_EQ(questions.Past(kThen, Board()).status, 503);
}

TEST_F(PastTest, WithoutQuotaItIsWhatLifecycleTells) {
  const Questions questions({.lifecycle = history_.channel()});
  const Questions::Answer answer = questions.Past(kThen, Board());
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.json, HasSubstr(kPool));
  EXPECT_EQ(Questions(Channels()).Past(kThen, Board()).status, 503);
}

}  // namespace
}  // namespace muster::page
