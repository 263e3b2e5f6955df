// Files with tokens, read again as they change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "services/kubernetes/api/errors.h"
#include "services/kubernetes/api/testing/client.h"
#include "tests/testing/status_matchers.h"

namespace muster::kubernetes {
namespace {

using ::muster::testing::IsOk;
using ::muster::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

std::string WriteFile(const std::string& name, absl::string_view text) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/kubernetes-", getpid(), "-", name);
  std::ofstream(path) << text;
  return path;
}

TEST(ClientTest, AFileWithATokenIsReadAgain) {
  const std::string file = WriteFile("token", "first\n");
  TestServer server([](auto&, const auto&, auto& response) { SendJson(response, "{}"); });
  const auto client = ClientAt(server.url(), {}, {.token = "never", .token_file = file});
  EXPECT_THAT(client->Get("/x").status(), IsOk());
  WriteFile("token", "second");
  EXPECT_THAT(client->Get("/x").status(), IsOk());
  unlink(file.c_str());
  EXPECT_THAT(client->Get("/x").status(), IsOk());
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[0].get_header_value("Authorization"), "Bearer first");
  EXPECT_EQ(requests[1].get_header_value("Authorization"), "Bearer second");
  EXPECT_EQ(requests[2].get_header_value("Authorization"), "Bearer second");
}

TEST(ClientTest, A401IsTriedAgainOnceWithARenewedToken) {
  const std::string file = WriteFile("renewed", "secret-0");
  std::atomic<int> count = 0;
  TestServer server([&](auto&, const auto& request, auto& response) {
    ++count;
    if (request.path != "/same") WriteFile("renewed", absl::StrCat("secret-", count.load()));
    const bool good = request.path == "/good" && count == 2;
    SendJson(response, "{}", good ? 200 : 401);
  });
  const auto client = ClientAt(server.url(), {}, {.token_file = file});
  EXPECT_THAT(client->Get("/good").status(), IsOk());
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].get_header_value("Authorization"), "Bearer secret-0");
  EXPECT_EQ(requests[1].get_header_value("Authorization"), "Bearer secret-1");
  const absl::Status status = client->Get("/bad").status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnauthenticated));
  EXPECT_THAT(status.ToString(), Not(HasSubstr("secret")));
  EXPECT_EQ(server.requests().size(), 4u) << "a renewed token is tried once";
  EXPECT_THAT(client->Get("/same").status(), StatusIs(absl::StatusCode::kUnauthenticated));
  EXPECT_EQ(server.requests().size(), 5u) << "the same token is not tried again";
  unlink(file.c_str());
}

TEST(ClientTest, WithoutItsTokenNothingIsSent) {
  TestServer server([](auto&, const auto&, auto& response) { SendJson(response, "{}"); });
  const auto client = ClientAt(server.url(), {}, {.token_file = "/nonexistent/token"});
  EXPECT_THAT(client->Get("/x").status(),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("/nonexistent/token")));
  EXPECT_TRUE(server.requests().empty());
}

}  // namespace
}  // namespace muster::kubernetes
