// The watches against a service of a few lines, behind real gRPC.
#include "services/page/page_watches.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <muster/capacity/v1/capacity_service.grpc.pb.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/common/mutex.h"
#include "services/page/live_board.h"
#include "tests/testing/patience.h"

namespace muster::page {
namespace {

using capacity::v1::WatchCapacityRequest;
using capacity::v1::WatchCapacityResponse;
using muster::testing::Until;
using ::testing::HasSubstr;

WatchCapacityResponse MachineAt(type::v1::WatchEventType type, int64_t revision,
                                const std::string& id) {
  WatchCapacityResponse message;
  message.set_type(type);
  message.set_revision(revision);
  message.set_key("machines/" + id);
  message.mutable_machine()->set_name(message.key());
  message.mutable_machine()->set_state(capacity::v1::Machine::STATE_FREE);
  return message;
}

WatchCapacityResponse EndAt(int64_t revision) {
  WatchCapacityResponse message;
  message.set_type(type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END);
  message.set_revision(revision);
  message.set_incarnation("one");
  return message;
}

// Answers each watch as a test says.
class FakeCapacity final : public capacity::v1::CapacityService::Service {
 public:
  using Watch = std::function<grpc::Status(grpc::ServerWriter<WatchCapacityResponse>& writer)>;

  explicit FakeCapacity(std::vector<Watch> watches) : watches_(std::move(watches)) {
    server_ = grpc::ServerBuilder().RegisterService(this).BuildAndStart();
  }
  ~FakeCapacity() override { server_->Shutdown(); }

  std::shared_ptr<grpc::Channel> channel() { return server_->InProcessChannel({}); }

  // Those beyond the answers stay open without news.
  grpc::Status WatchCapacity(grpc::ServerContext* context, const WatchCapacityRequest* request,
                             grpc::ServerWriter<WatchCapacityResponse>* writer) override {
    size_t index = 0;
    {
      MutexLock lock(mutex_);
      index = requests_.size();
      requests_.push_back(*request);
    }
    if (index < watches_.size()) return watches_[index](*writer);
    Until([&] { return context->IsCancelled(); }, "the end of the watch");
    return grpc::Status::CANCELLED;
  }

  std::vector<WatchCapacityRequest> requests() const {
    MutexLock lock(mutex_);
    return requests_;
  }

 private:
  const std::vector<Watch> watches_;
  mutable Mutex mutex_;
  std::vector<WatchCapacityRequest> requests_ MUSTER_GUARDED_BY(mutex_);
  std::unique_ptr<grpc::Server> server_;
};

grpc::Status Away() { return {grpc::StatusCode::UNAVAILABLE, "the database is away"}; }

// A snapshot of one machine, then the end of the stream.
FakeCapacity::Watch Snapshot(const std::string& machine, int64_t revision) {
  return [=](auto& writer) {
    writer.Write(MachineAt(type::v1::WATCH_EVENT_TYPE_SNAPSHOT, 1, machine));
    writer.Write(EndAt(revision));
    return Away();
  };
}

std::string All(const LiveBoard& board) {
  const auto frame = board.TellAfter(board.epoch(), {}, 1000);
  return frame ? frame->json : "";
}

TEST(PageWatchesTest, GoesOnFromTheLastRevisionThenBeginsAnewWhereThatIsGone) {
  LiveBoard board("run");
  FakeCapacity capacity(
      {Snapshot("g1", 7),
       [](auto&) { return grpc::Status(grpc::StatusCode::OUT_OF_RANGE, "compacted"); },
       Snapshot("g2", 9)});
  PageWatches watches({.capacity = capacity.channel()}, &board);
  watches.Start();
  Until([&] { return capacity.requests().size() == 4; }, "four watches");
  watches.Stop();
  const std::vector<WatchCapacityRequest> requests = capacity.requests();
  EXPECT_FALSE(requests[0].start().has_after_revision());
  EXPECT_EQ(requests[1].start().after_revision(), 7);
  EXPECT_EQ(requests[1].start().incarnation(), "one");
  EXPECT_FALSE(requests[2].start().has_after_revision());
  EXPECT_EQ(requests[3].start().after_revision(), 9);
  EXPECT_THAT(All(board), HasSubstr("\"g2\""));
  EXPECT_FALSE(absl::StrContains(All(board), "\"g1\""));
}

TEST(PageWatchesTest, SaysWhetherNewsComes) {
  LiveBoard board("run");
  FakeCapacity capacity({[](auto&) { return Away(); }});
  PageWatches watches({.capacity = capacity.channel()}, &board);
  ASSERT_EQ(watches.health().size(), 1U);
  EXPECT_EQ(watches.health()[0].service, "capacity");
  EXPECT_FALSE(watches.health()[0].live);
  watches.Start();
  Until([&] { return watches.health()[0].error == "the database is away"; }, "the reason");
  EXPECT_EQ(watches.health()[0].told, "It does not answer.") << "not the service's own word";
  EXPECT_FALSE(watches.health()[0].live);
}

TEST(PageWatchesTest, BeginsAnewWhenTheBoardIsOvergrown) {
  LiveBoard board("run");
  FakeCapacity capacity({[](auto& writer) {
                           writer.Write(EndAt(1));
                           // Fabrics that no machine stands on any more.
                           for (size_t i = 0; i <= kManyWords; i += 1000) {
                             WatchCapacityResponse message;
                             for (size_t j = i; j < i + 1000; ++j) {
                               *message.add_bundle() =
                                   MachineAt(type::v1::WATCH_EVENT_TYPE_CHANGED, 2, "g1");
                               message.mutable_bundle()->rbegin()->mutable_machine()->set_fabric(
                                   absl::StrCat("f", j));
                             }
                             if (!writer.Write(message)) break;
                           }
                           return grpc::Status::OK;
                         },
                         Snapshot("g2", 9)});
  PageWatches watches({.capacity = capacity.channel()}, &board);
  watches.Start();
  Until([&] { return capacity.requests().size() == 3; }, "three watches");
  watches.Stop();
  EXPECT_FALSE(capacity.requests()[1].start().has_after_revision());
  EXPECT_EQ(board.epoch(), "run-1");
  EXPECT_THAT(All(board), HasSubstr("\"g2\""));
  EXPECT_LT(All(board).size(), 1000U);
}

}  // namespace
}  // namespace muster::page
