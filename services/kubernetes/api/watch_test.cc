#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "absl/strings/numbers.h"
#include "services/kubernetes/api/client.h"
#include "services/kubernetes/api/testing/server.h"
#include "tests/testing/status_matchers.h"

namespace muster::kubernetes {
namespace {

using ::muster::testing::IsOk;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::string_view kAdded = R"({"type":"ADDED","object":{"metadata":{"name":"a"}}})";

// A server whose every answer is prepared by the test, and a client of it.
class WatchTest : public ::testing::Test {
 protected:
  // `on_open`: what the server feeds to each stream that is opened.
  void Serve(std::function<void(Feed& feed)> on_open, ClientOptions options = {}) {
    server_ =
        std::make_unique<TestServer>([on_open](auto& self, const auto& request, auto& response) {
          if (request.path != "/nodes") return SendJson(response, "{}");
          on_open(*self.SendFeed(response));
        });
    auto client = Client::Create({.server = server_->url()}, std::move(options));
    ASSERT_THAT(client.status(), IsOk());
    client_ = *std::move(client);
  }
  // Watches until the end; `events` has the types.
  absl::Status Watch() {
    return client_->Watch("/nodes", {{"labelSelector", "a=b"}}, "7",
                          [this](absl::string_view type, const Json&) {
                            events_.emplace_back(type);
                            return on_event_();
                          });
  }

  std::function<bool()> on_event_ = [] { return true; };
  std::vector<std::string> events_;
  std::unique_ptr<TestServer> server_;
  std::unique_ptr<Client> client_;
};

TEST_F(WatchTest, StreamsEventsAsTheyComeUntilTheServerEnds) {
  std::promise<Feed*> opened;
  Serve([&](Feed& feed) {
    feed.Push(absl::StrCat(kAdded, "\n", kAdded.substr(0, 9)));
    opened.set_value(&feed);
  });
  Feed* feed = nullptr;
  on_event_ = [&] {
    // The rest is sent only after the first event was seen.
    if (events_.size() > 1) return true;
    feed = opened.get_future().get();
    feed->Push(absl::StrCat(kAdded.substr(9), "\n"));
    feed->Push(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}})"
               "\n");
    feed->End();
    return true;
  };
  EXPECT_THAT(Watch(), IsOk());
  EXPECT_THAT(events_, ElementsAre("ADDED", "ADDED", "BOOKMARK"));

  const auto requests = server_->requests();
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].get_param_value("watch"), "true");
  EXPECT_EQ(requests[0].get_param_value("allowWatchBookmarks"), "true");
  EXPECT_EQ(requests[0].get_param_value("resourceVersion"), "7");
  EXPECT_EQ(requests[0].get_param_value("labelSelector"), "a=b");
  int seconds = 0;
  ASSERT_TRUE(absl::SimpleAtoi(requests[0].get_param_value("timeoutSeconds"), &seconds));
  EXPECT_GE(seconds, 300);
  EXPECT_LE(seconds, 600);
}

TEST_F(WatchTest, AnErrorEventEndsIt) {
  Serve([&](Feed& feed) {
    feed.Push(R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired",)"
              R"("message":"too old"}})"
              "\n");
  });
  const absl::Status status = Watch();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kOutOfRange, "too old"));
  EXPECT_EQ(ErrorOf(status).reason, "Expired");
  EXPECT_TRUE(events_.empty());
}

TEST_F(WatchTest, AStatusThatRefusesItIsAnError) {
  TestServer refusing([](auto&, const auto&, auto& response) {
    response.set_header("Retry-After", "3");
    SendJson(response, R"({"kind":"Status","message":"slow down"})", 429);
  });
  const auto client = *Client::Create({.server = refusing.url()}, {});
  const absl::Status status =
      client->Watch("/nodes", {}, "7", [](absl::string_view, const Json&) { return true; });
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted, "slow down"));
  EXPECT_EQ(ErrorOf(status).retry_after, absl::Seconds(3));
}

TEST_F(WatchTest, AStreamCutWithinAnEventIsUnavailable) {
  Serve([&](Feed& feed) {
    feed.Push(absl::StrCat(kAdded, "\n", kAdded.substr(0, 9)));
    feed.Cut();
  });
  EXPECT_THAT(Watch(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(events_, ElementsAre("ADDED"));
}

TEST_F(WatchTest, AStreamEndedWithinAnEventIsUnavailable) {
  Serve([&](Feed& feed) {
    feed.Push(kAdded);
    feed.End();
  });
  EXPECT_THAT(Watch(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("within an event")));
  EXPECT_TRUE(events_.empty());
}

TEST_F(WatchTest, GarbageIsUnknown) {
  Serve([&](Feed& feed) { feed.Push("<html>\n"); });
  EXPECT_THAT(Watch(), StatusIs(absl::StatusCode::kUnknown));
}

TEST_F(WatchTest, SilenceIsNoAnswerInTime) {
  Serve([&](Feed& feed) { feed.Push(absl::StrCat(kAdded, "\n")); },
        {.watch_silence = absl::Seconds(2)});
  EXPECT_THAT(Watch(),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("nothing came for")));
  EXPECT_THAT(events_, ElementsAre("ADDED"));
}

TEST_F(WatchTest, ItsReceiverMayEndItAndTheClientGoesOn) {
  Serve([&](Feed& feed) { feed.Push(absl::StrCat(kAdded, "\n", kAdded, "\n")); });
  on_event_ = [] { return false; };
  EXPECT_THAT(Watch(), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(events_, ElementsAre("ADDED"));
  EXPECT_THAT(client_->Get("/other").status(), IsOk());
}

// Nothing but Stop can end it: it may be silent for hours, and on a connection that is there
// already libcurl has no timers of its own.
TEST_F(WatchTest, StopEndsIt) {
  std::vector<int> told;
  std::promise<void> watching;
  Serve([&](Feed& feed) { feed.Push(absl::StrCat(kAdded, "\n")); },
        {.connect_timeout = absl::Hours(1),
         .watch_silence = absl::Hours(1),
         .on_request = [&](const RequestEnd& end) { told.push_back(end.code); }});
  on_event_ = [&] {
    EXPECT_THAT(told, ElementsAre(200, 200)) << "it counts when it begins";
    watching.set_value();
    return true;
  };
  EXPECT_THAT(client_->Get("/other").status(), IsOk());
  std::thread stopper([&] {
    watching.get_future().wait();
    client_->Stop();
  });
  EXPECT_THAT(Watch(), StatusIs(absl::StatusCode::kCancelled));
  stopper.join();
  EXPECT_THAT(told, ElementsAre(200, 200));
  EXPECT_THAT(Watch(), StatusIs(absl::StatusCode::kCancelled));
}

}  // namespace
}  // namespace muster::kubernetes
