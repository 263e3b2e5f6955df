// Connections that break, requests that are given up, threads that share a client.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/kubernetes/api/errors.h"
#include "services/kubernetes/api/testing/client.h"
#include "tests/testing/status_matchers.h"

namespace muster::kubernetes {
namespace {

using ::muster::testing::IsOk;
using ::muster::testing::StatusIs;
using ::testing::HasSubstr;

TEST(ClientTest, ARefusedConnectionIsUnavailable) {
  // A port that is taken, and where nobody listens.
  const int socket_fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  ASSERT_EQ(bind(socket_fd, reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(getsockname(socket_fd, reinterpret_cast<sockaddr*>(&address), &length), 0);
  int code = -1;
  const std::string host = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  const auto client = ClientAt(absl::StrCat("http://", host),
                               {.on_request = [&](const RequestEnd& end) { code = end.code; }},
                               {.token = "sesame"});
  const absl::Status status = client->Get("/x", {{"continue", "hidden"}}).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable,
                               HasSubstr(absl::StrCat("GET ", host, "/x: "))));
  EXPECT_FALSE(absl::StrContains(status.ToString(), "sesame"));
  EXPECT_FALSE(absl::StrContains(status.ToString(), "hidden"));
  EXPECT_EQ(ErrorOf(status).code, 0);
  EXPECT_EQ(code, 0);
  close(socket_fd);
}

TEST(ClientTest, NoAnswerInTimeIsDeadlineExceeded) {
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  TestServer server([&](auto&, const auto&, auto&) { released.wait(); });
  const auto client = ClientAt(server.url(), {.timeout = absl::Milliseconds(50)});
  EXPECT_THAT(client->Get("/x").status(), StatusIs(absl::StatusCode::kDeadlineExceeded));
  release.set_value();
}

TEST(ClientTest, AnAnswerThatBreaksOffIsUnavailable) {
  TestServer server([](auto& self, const auto&, auto& response) {
    const auto feed = self.SendFeed(response);
    feed->Push("{");
    feed->Cut();
  });
  const auto client = ClientAt(server.url());
  EXPECT_THAT(client->Get("/x").status(), StatusIs(absl::StatusCode::kUnavailable));
}

// Nothing but Stop can end the request: it may take hours, and on a connection that is there
// already libcurl has no timers of its own.
TEST(ClientTest, StopEndsRequestsUnderWayAndToCome) {
  std::promise<void> arrived;
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  TestServer server([&](auto&, const auto& request, auto& response) {
    if (request.path == "/quick") return SendJson(response, "{}");
    arrived.set_value();
    released.wait();
  });
  int sent = 0;
  const auto client = ClientAt(server.url(), {.connect_timeout = absl::Hours(1),
                                              .timeout = absl::Hours(1),
                                              .on_request = [&](const RequestEnd&) { ++sent; }});
  EXPECT_THAT(client->Get("/quick").status(), IsOk());
  std::thread stopper([&] {
    arrived.get_future().wait();
    client->Stop();
  });
  EXPECT_THAT(client->Get("/x").status(), StatusIs(absl::StatusCode::kCancelled));
  stopper.join();
  EXPECT_EQ(sent, 2);
  EXPECT_THAT(client->Get("/x").status(), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_EQ(sent, 2);
  release.set_value();
}

TEST(ClientTest, ManyThreadsShareIt) {
  TestServer server([](auto&, const auto& request, auto& response) {
    SendJson(response, absl::StrCat(R"({"path":")", request.path, R"("})"));
  });
  const auto client = ClientAt(server.url(), {.max_connections = 2});
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&, i] {
      const std::string path = absl::StrCat("/", i);
      for (int j = 0; j < 20; ++j) {
        const auto answer = client->Get(path);
        ASSERT_THAT(answer.status(), IsOk());
        EXPECT_EQ((*answer)["path"], path);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace muster::kubernetes
