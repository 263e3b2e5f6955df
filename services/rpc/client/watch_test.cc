#include "services/rpc/client/watch.h"

#include <gmock/gmock.h>
#include <muster/quota/v1/quota_service.grpc.pb.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/rpc/client/testing/fake_watch_server.h"

namespace muster::rpc {
namespace {

namespace v1 = quota::v1;
using Response = v1::WatchQuotasResponse;
using ::testing::ElementsAre;

// What a watch tells, one word after the other.
class WatchTest : public ::testing::Test {
 protected:
  Watch::Options Options(const FakeWatchServer& server) {
    const std::shared_ptr<v1::QuotaService::Stub> stub =
        v1::QuotaService::NewStub(MakeChannel(server.address()));
    Watch::Options options;
    options.stream = StreamOf<Response>(
        v1::WatchQuotasRequest(), [stub](auto... call) { stub->async()->WatchQuotas(call...); },
        [this](const Response& message) { told_.push_back(absl::StrCat(message.revision())); });
    options.first_retry = absl::Milliseconds(1);
    options.begins = [this](bool snapshot) { told_.push_back(snapshot ? "snapshot" : "on"); };
    options.ended = [this](const absl::Status& status) {
      told_.push_back(absl::StatusCodeToString(status.code()));
    };
    return options;
  }

  std::vector<std::string> told_;
};

using Plays = std::vector<FakeWatchServer::Play>;
const auto kSnapshot = WatchMessage(type::v1::WATCH_EVENT_TYPE_SNAPSHOT, 3);
const auto kEnd = WatchMessage(type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END, 5);
const auto kChange = WatchMessage(type::v1::WATCH_EVENT_TYPE_CHANGED, 6);

TEST_F(WatchTest, GoesOnWhereAStreamBrokeAndBeginsAnewWhereThatIsGone) {
  FakeWatchServer server(Plays{{{kSnapshot}, {grpc::StatusCode::UNAVAILABLE, "cut short"}},
                               {{kSnapshot, kEnd, kChange}},
                               {{}, {grpc::StatusCode::OUT_OF_RANGE, "gone"}},
                               {}});
  Watch watch(Options(server));
  watch.Start();
  EXPECT_THAT(server.AwaitStarts(), ElementsAre("bundle: true", "bundle: true",
                                                "after_revision: 6 bundle: true", "bundle: true"));
  watch.Stop();
  EXPECT_THAT(told_, ElementsAre("snapshot", "3", "UNAVAILABLE",            //
                                 "snapshot", "3", "5", "6", "UNAVAILABLE",  // the server ended it
                                 "on", "OUT_OF_RANGE",                      //
                                 "snapshot"))
      << "the end that Stop made is not told";
}

TEST_F(WatchTest, MayAlwaysBeginWithASnapshot) {
  FakeWatchServer server(Plays{{{kSnapshot, kEnd}}, {}});
  Watch::Options options = Options(server);
  options.resumes = false;
  Watch watch(std::move(options));
  watch.Start();
  EXPECT_THAT(server.AwaitStarts(), ElementsAre("bundle: true", "bundle: true"));
}

TEST_F(WatchTest, BeginsAnewWhenToldToThoughItCouldGoOn) {
  FakeWatchServer server(Plays{{{kSnapshot, kEnd}}, {{kChange}}, {}});
  Watch::Options options = Options(server);
  Watch* restarted = nullptr;
  options.begins = [&](bool snapshot) {
    if (!snapshot) restarted->Restart();  // before the stream is open: it ends at once
    told_.push_back(snapshot ? "snapshot" : "on");
  };
  Watch watch(std::move(options));
  restarted = &watch;
  watch.Start();
  EXPECT_THAT(server.AwaitStarts().back(), "bundle: true");
  watch.Stop();
  EXPECT_THAT(told_, ::testing::Contains("on"));
}

TEST_F(WatchTest, StopsWhileTheServerIsAwayAndBeforeItBegan) {
  FakeWatchServer server(Plays{{}});
  Watch::Options options = Options(server);
  options.first_retry = absl::InfiniteDuration();
  options.last_retry = absl::InfiniteDuration();
  Awaited<bool> ended;
  options.stream = [](auto&...) { return absl::UnavailableError("away"); };
  options.ended = [&](const absl::Status&) { ended.Set(true); };
  Watch watch(std::move(options));
  watch.Start();
  ended.Wait();
  watch.Stop();
  Watch never(Options(server));
  never.Stop();
}

}  // namespace
}  // namespace muster::rpc
