// What was done and not told, because the line to the server was cut before the answer arrived.
#include <thread>

#include "absl/time/clock.h"
#include "services/common/testing/fake_clock.h"
#include "services/rpc/client/calls.h"
#include "tests/repeats/line.h"
#include "tests/repeats/replica.h"
#include "tests/testing/patience.h"

namespace muster::testing {
namespace {

class LostAnswerTest : public ::testing::Test {
 protected:
  using Stub = quota::v1::QuotaService::Stub;
  static constexpr char kName[] = "organizations/acme/quotas/RNO2A~gd-8xa100-i128~default";

  LostAnswerTest()
      : one_(database_, &clock_),
        two_(database_, &clock_),
        line_(one_.port()),
        channel_(grpc::CreateChannel(line_.address(), grpc::InsecureChannelCredentials())),
        stub_(quota::v1::QuotaService::NewStub(channel_)),
        other_(quota::v1::QuotaService::NewStub(two_.channel())) {}
  ~LostAnswerTest() override { EXPECT_EQ(one_.Compare(), ""); }

  template <class Request, class Response>
  static absl::StatusOr<Response> Call(Stub& stub,
                                       grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                                    const Request&, Response*),
                                       const Request& request) {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Minutes(1)));
    return rpc::Call(context, stub, method, request);
  }

  // Calls over the line, which loses the answer and is cut once `is_done` gives "t".
  template <class Request, class Response>
  void CallAndLose(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                   const Request& request, const std::string& is_done) {
    channel_->WaitForConnected(std::chrono::system_clock::now() + std::chrono::minutes(1));
    line_.LoseAnswers();
    absl::StatusOr<Response> lost = absl::UnknownError("not called");
    std::thread caller([&] { lost = Call(*stub_, method, request); });
    Until([&] { return database_.QueryValue(is_done) == "t"; }, "the change");
    line_.Cut();
    caller.join();
    EXPECT_THAT(lost, StatusIs(absl::StatusCode::kUnavailable));
  }

  FakeClock clock_;
  TestDatabase database_;
  Replica one_, two_;
  Line line_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<Stub> stub_, other_;
};

TEST_F(LostAnswerTest, IsToldToWhoAsksAgain) {
  quota::v1::CreateQuotaRequest create;
  create.set_parent("organizations/acme");
  create.set_quota_id("RNO2A~gd-8xa100-i128~default");
  create.mutable_quota()->set_limit(3);
  create.set_request_id("create");
  CallAndLose(&Stub::CreateQuota, create, "SELECT count(*) > 0 FROM quota.quota");
  const std::string before = Journals(database_);
  for (Stub* stub : {stub_.get(), other_.get()}) {
    const auto again = Call(*stub, &Stub::CreateQuota, create);
    ASSERT_THAT(again, IsOk());
    EXPECT_EQ(again->limit(), 3);
  }
  EXPECT_EQ(Journals(database_), before);
  // Who gives no id cannot know.
  create.clear_request_id();
  EXPECT_THAT(Call(*stub_, &Stub::CreateQuota, create), StatusIs(absl::StatusCode::kAlreadyExists));
}

// Whoever changed it since is not undone by the repeat.
TEST_F(LostAnswerTest, OfAChangeThatIsNoLongerTrue) {
  quota::v1::UpdateQuotaRequest update;
  update.mutable_quota()->set_name(kName);
  update.mutable_quota()->set_limit(7);
  update.set_allow_missing(true);
  update.set_request_id("seven");
  CallAndLose(&Stub::UpdateQuota, update, "SELECT count(*) > 0 FROM quota.quota");
  quota::v1::UpdateQuotaRequest since = update;
  since.mutable_quota()->set_limit(9);
  since.set_request_id("nine");
  ASSERT_THAT(Call(*other_, &Stub::UpdateQuota, since), IsOk());
  const auto again = Call(*stub_, &Stub::UpdateQuota, update);
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(again->limit(), 7);
  EXPECT_EQ(database_.QueryValue("SELECT limit_nodes FROM quota.quota"), "9");
}

}  // namespace
}  // namespace muster::testing
