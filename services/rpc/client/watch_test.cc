#include "services/rpc/client/watch.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <muster/quota/v1/quota_service.grpc.pb.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/latch.h"
#include "services/common/mutex.h"

namespace muster::rpc {
namespace {

namespace v1 = quota::v1;
using Response = v1::WatchQuotasResponse;
using ::testing::ElementsAre;

Response Message(type::v1::WatchEventType type, int64_t revision) {
  Response message;
  message.set_type(type);
  message.set_revision(revision);
  return message;
}

// Plays one stream after the other; the last one stays open until its client goes.
class FakeServer final : public v1::QuotaService::Service {
 public:
  struct Play {
    std::vector<Response> messages = {};
    grpc::Status end = grpc::Status::OK;
  };

  explicit FakeServer(std::vector<Play> plays) : plays_(std::move(plays)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }
  // Each request's start; after the last one was asked for.
  std::vector<std::string> AwaitStarts() {
    last_.Wait();
    MutexLock lock(mutex_);
    return starts_;
  }

  grpc::Status WatchQuotas(grpc::ServerContext* context, const v1::WatchQuotasRequest* request,
                           grpc::ServerWriter<Response>* writer) override {
    Play play;
    bool last = false;
    {
      MutexLock lock(mutex_);
      const size_t at = starts_.size();
      starts_.push_back(request->start().ShortDebugString());
      last = at + 1 >= plays_.size();
      if (at < plays_.size()) play = plays_[at];
    }
    for (const Response& message : play.messages) writer->Write(message);
    if (last) last_.Set(true);
    Stopper poll;
    while (last && !context->IsCancelled()) poll.Sleep(absl::Milliseconds(1));
    return play.end;
  }

 private:
  const std::vector<Play> plays_;
  Mutex mutex_;
  std::vector<std::string> starts_ MUSTER_GUARDED_BY(mutex_);
  Awaited<bool> last_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// What a watch tells, one word after the other.
class WatchTest : public ::testing::Test {
 protected:
  Watch::Options Options(const FakeServer& server) {
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

using Plays = std::vector<FakeServer::Play>;
const auto kSnapshot = Message(type::v1::WATCH_EVENT_TYPE_SNAPSHOT, 3);
const auto kEnd = Message(type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END, 5);
const auto kChange = Message(type::v1::WATCH_EVENT_TYPE_CHANGED, 6);

TEST_F(WatchTest, GoesOnWhereAStreamBrokeAndBeginsAnewWhereThatIsGone) {
  FakeServer server(Plays{{{kSnapshot}, {grpc::StatusCode::UNAVAILABLE, "cut short"}},
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
  FakeServer server(Plays{{{kSnapshot, kEnd}}, {}});
  Watch::Options options = Options(server);
  options.resumes = false;
  Watch watch(std::move(options));
  watch.Start();
  EXPECT_THAT(server.AwaitStarts(), ElementsAre("bundle: true", "bundle: true"));
}

TEST_F(WatchTest, BeginsAnewWhenToldToThoughItCouldGoOn) {
  FakeServer server(Plays{{{kSnapshot, kEnd}}, {{kChange}}, {}});
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
  FakeServer server(Plays{{}});
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
