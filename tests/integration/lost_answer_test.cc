// kill -9 between a change and its answer: whoever repeats it under its request_id is told what was
// done, and it is done once.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/rpc/status.h"
#include "tests/integration/mini_muster.h"
#include "tests/repeats/line.h"
#include "tests/testing/patience.h"
#include "tests/testing/status_matchers.h"

namespace muster::testing {
namespace {

namespace lv1 = lifecycle::v1;

class LostAnswer : public ::testing::Test {
 protected:
  LostAnswer() {
    muster_.ApplyCatalogue();
    muster_.ApplyExample();
    EXPECT_TRUE(muster_.AwaitSettled(1)) << muster_.LogEnds();
  }

  static lv1::ResizeNodePoolRequest Resize(int64_t nodes, const std::string& id) {
    lv1::ResizeNodePoolRequest request;
    request.set_name(MiniMuster::kPool);
    request.set_target_nodes(nodes);
    request.set_request_id(id);
    return request;
  }
  static absl::StatusOr<lv1::NodePool> Call(const std::shared_ptr<grpc::Channel>& channel,
                                            const lv1::ResizeNodePoolRequest& request) {
    const auto stub = lv1::LifecycleService::NewStub(channel);
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(20)));
    lv1::NodePool answer;
    const absl::Status status =
        rpc::FromGrpcStatus(stub->ResizeNodePool(&context, request, &answer));
    if (!status.ok()) return status;
    return answer;
  }
  std::shared_ptr<grpc::Channel> ChannelTo(const Line& line) {
    return grpc::CreateChannel(line.address(), grpc::InsecureChannelCredentials());
  }
  int port() const {
    const std::string address = muster_.address();
    int port = 0;
    EXPECT_TRUE(absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port));
    return port;
  }
  void AwaitKept(const std::string& id) {
    const std::string sql =
        absl::StrCat("SELECT count(*) FROM lifecycle.kept_request WHERE request_id = '", id, "'");
    Until([&] { return muster_.database().QueryValue(sql) != "0"; }, id);
  }

  MiniMuster muster_;
};

TEST_F(LostAnswer, KillNineBetweenTheChangeAndItsAnswer) {
  Line line(port());
  const auto channel = ChannelTo(line);
  channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::minutes(1));
  line.LoseAnswers();
  absl::StatusOr<lv1::NodePool> lost = absl::UnknownError("not called");
  std::thread caller([&] { lost = Call(channel, Resize(4, "four")); });
  AwaitKept("four");
  muster_.Kill();
  line.Cut();
  caller.join();
  EXPECT_THAT(lost, StatusIs(absl::StatusCode::kUnavailable));
  muster_.Start();
  // Somebody else has another wish meanwhile: the repeat must not undo it.
  ASSERT_THAT(Call(muster_.channel(), Resize(2, "two")), IsOk());
  const auto again = Call(channel, Resize(4, "four"));
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(again->spec().target_nodes(), 4);
  EXPECT_EQ(again->generation(), 2);
  EXPECT_THAT(Call(channel, Resize(5, "four")), HasReason("REQUEST_ID_REUSED"));
  ASSERT_TRUE(muster_.AwaitSettled(2)) << muster_.LogEnds();
  EXPECT_EQ(muster_.GetPool()->generation(), 3);
  EXPECT_EQ(muster_.CheckBooks(2), "");
}

// musterctl names what it asks for, and repeats it when the answer is lost.
TEST_F(LostAnswer, MusterctlRepeatsWhatItWasNotTold) {
  Line line(port());
  line.LoseAnswers();
  const std::string server = absl::StrCat("--server=", line.address());
  std::thread cutter([&] {
    AwaitKept("from-the-shell");
    line.Cut();
  });
  const Finished scaled = muster_.Ctl({server, "scale", "nodepool", "example-nodepool", "--nodes=3",
                                       "--timeout=60s", "--request-id=from-the-shell"});
  cutter.join();
  EXPECT_EQ(scaled.exit_code, 0) << scaled.output;
  EXPECT_THAT(scaled.output, ::testing::HasSubstr("scaled to 3"));
  ASSERT_TRUE(muster_.AwaitSettled(3)) << muster_.LogEnds();
  EXPECT_EQ(muster_.GetPool()->generation(), 2);
}

}  // namespace
}  // namespace muster::testing
