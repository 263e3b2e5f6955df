#include "services/client/watch.h"

#include <gmock/gmock.h>

#include <string>
#include <thread>
#include <vector>

#include "services/client/client.h"
#include "services/rpc/client/testing/fake_watch_server.h"
#include "tests/testing/status_matchers.h"

namespace muster::client {
namespace {

using Response = quota::v1::WatchQuotasResponse;
using QuotaStub = quota::v1::QuotaService::Stub;
using ::muster::rpc::FakeWatchServer;
using ::muster::rpc::WatchMessage;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const auto kSnapshot = type::v1::WATCH_EVENT_TYPE_SNAPSHOT;
const auto kEnd = type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END;
const auto kChanged = type::v1::WATCH_EVENT_TYPE_CHANGED;

Options OptionsOf(const FakeWatchServer& server) { return {.server = server.address()}; }

const WatchOptions kQuick{.first_retry = absl::Milliseconds(1),
                          .last_retry = absl::Milliseconds(2)};

// Revisions of the first `count` messages.
std::vector<int64_t> Revisions(Watch<Response>& watch, size_t count) {
  std::vector<int64_t> revisions;
  for (const Response& message : watch) {
    revisions.push_back(message.revision());
    if (revisions.size() == count) break;
  }
  return revisions;
}

TEST(WatchTest, GoesOnAfterTheLastRevisionAndTellsBundlesApart) {
  Response bundle = WatchMessage(kChanged, 6);
  *bundle.add_bundle() = WatchMessage(kChanged, 7);
  *bundle.add_bundle() = WatchMessage(kChanged, 8);
  bundle.mutable_bundle(1)->set_incarnation("h");
  bundle.mutable_bundle(1)->set_view("v");
  FakeWatchServer server({{{WatchMessage(kSnapshot, 3), WatchMessage(kEnd, 5), bundle},
                           {grpc::StatusCode::UNAVAILABLE, "going down"}},
                          {},
                          {{WatchMessage(kChanged, 9)}}});
  Client client(OptionsOf(server));
  std::vector<std::string> broke;
  WatchOptions options = kQuick;
  options.broke = [&](const absl::Status& end) { broke.emplace_back(end.message()); };
  auto watch = client.Watch(&QuotaStub::WatchQuotas, quota::v1::WatchQuotasRequest(), options);
  EXPECT_THAT(Revisions(watch, 6), ElementsAre(3, 5, 6, 7, 8, 9));
  EXPECT_TRUE(watch.status().ok());
  EXPECT_THAT(
      server.AwaitStarts(),
      ElementsAre("bundle: true", "after_revision: 8 bundle: true incarnation: \"h\" view: \"v\"",
                  "after_revision: 8 bundle: true incarnation: \"h\" view: \"v\""));
  EXPECT_THAT(broke, ElementsAre("going down")) << "once until something came again";
}

TEST(WatchTest, BeginsWithASnapshotWhereTheRevisionIsGone) {
  FakeWatchServer server(
      {{{}, {grpc::StatusCode::OUT_OF_RANGE, "compacted"}}, {{WatchMessage(kSnapshot, 1)}}});
  Client client(OptionsOf(server));
  quota::v1::WatchQuotasRequest request;
  request.mutable_start()->set_after_revision(4);
  auto watch = client.Watch(&QuotaStub::WatchQuotas, request, kQuick);
  EXPECT_THAT(Revisions(watch, 1), ElementsAre(1));
  EXPECT_THAT(server.AwaitStarts(), ElementsAre("after_revision: 4 bundle: true", "bundle: true"));
}

TEST(WatchTest, SaysWhereASnapshotBegins) {
  FakeWatchServer server(
      {{{WatchMessage(kSnapshot, 1)}, {grpc::StatusCode::UNAVAILABLE, "cut short"}},
       {{WatchMessage(kSnapshot, 1), WatchMessage(kEnd, 2)},
        {grpc::StatusCode::UNAVAILABLE, "going down"}},
       {{WatchMessage(kChanged, 3)}}});
  Client client(OptionsOf(server));
  auto watch = client.Watch(&QuotaStub::WatchQuotas, quota::v1::WatchQuotasRequest(), kQuick);
  std::vector<bool> begins;
  for (size_t i = 0; i < 4 && watch.Next(); ++i) begins.push_back(watch.begins_snapshot());
  EXPECT_THAT(begins, ElementsAre(true, true, false, false));
}

TEST(WatchTest, EndsWhenItIsRefused) {
  FakeWatchServer server(
      {{{WatchMessage(kEnd, 1)}, {grpc::StatusCode::PERMISSION_DENIED, "not yours"}}});
  Client client(OptionsOf(server));
  auto watch = client.Watch(&QuotaStub::WatchQuotas, quota::v1::WatchQuotasRequest(), kQuick);
  EXPECT_THAT(Revisions(watch, 5), ElementsAre(1));
  EXPECT_THAT(watch.status(), StatusIs(absl::StatusCode::kPermissionDenied, "not yours"));
  EXPECT_FALSE(watch.Next()) << "it stays ended";
}

TEST(WatchTest, MustBeginInTime) {
  WatchOptions options = kQuick;
  options.begins_within = absl::Milliseconds(50);
  FakeWatchServer silent({FakeWatchServer::Play{}});
  Client client(OptionsOf(silent));
  auto watch = client.Watch(&QuotaStub::WatchQuotas, quota::v1::WatchQuotasRequest(), options);
  EXPECT_FALSE(watch.Next());
  EXPECT_THAT(watch.status(),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("within 50ms")));

  options.begins_within = absl::Seconds(3);
  Client nobody(Options{.server = "127.0.0.1:1"});
  auto never = nobody.Watch(&QuotaStub::WatchQuotas, quota::v1::WatchQuotasRequest(), options);
  EXPECT_FALSE(never.Next());
  EXPECT_TRUE(absl::IsUnavailable(never.status())) << never.status();
}

TEST(WatchTest, AnySoonOrLateStopEndsIt) {
  FakeWatchServer server({{{WatchMessage(kEnd, 1)}}});
  Client client(OptionsOf(server));
  auto watch = client.Watch(&QuotaStub::WatchQuotas, quota::v1::WatchQuotasRequest(), kQuick);
  ASSERT_TRUE(watch.Next());
  std::thread stops([&] { watch.Stop(); });
  EXPECT_FALSE(watch.Next());
  EXPECT_TRUE(absl::IsCancelled(watch.status())) << watch.status();
  stops.join();

  auto stopped = client.Watch(&QuotaStub::WatchQuotas, quota::v1::WatchQuotasRequest(), kQuick);
  stopped.Stop();
  EXPECT_FALSE(stopped.Next());
}

TEST(WatchTest, OfOneStream) {
  FakeWatchServer server(
      {{{WatchMessage(kEnd, 1)}, {grpc::StatusCode::UNAVAILABLE, "going down"}}});
  Client client(OptionsOf(server));
  WatchOptions options = kQuick;
  options.resumes = false;
  auto watch = client.Watch(&QuotaStub::WatchQuotas, quota::v1::WatchQuotasRequest(), options);
  EXPECT_THAT(Revisions(watch, 5), ElementsAre(1));
  EXPECT_THAT(watch.status(), StatusIs(absl::StatusCode::kUnavailable, "going down"));
}

}  // namespace
}  // namespace muster::client
