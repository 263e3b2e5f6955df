#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "services/musterctl/client/errors.h"
#include "services/musterctl/client/testing/api_test_base.h"

namespace muster::musterctl {
namespace {

using ::testing::ElementsAre;

TEST_F(ApiTest, AWatchEndsWhenNoAnswerBeginsInTime) {
  // Takes connections and never says a word.
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(socket, 8), 0);
  ASSERT_EQ(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string server = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  const auto api = Api::Create({.server = server, .timeout = absl::Milliseconds(20)});
  const absl::Status status = api->Watch({.kind = Kind::kNode}, type::v1::WatchStart(),
                                         [](const WatchMessage&) { return true; });
  EXPECT_EQ(RenderError(status),
            absl::StrCat("error: no answer from ", server, " within 20ms (DEADLINE_EXCEEDED)\n"));
  ::close(socket);
}

TEST_F(ApiTest, AWatchOfQuotasAddsUpTheirHoldings) {
  const auto message = [&](type::v1::WatchEventType type, int64_t revision,
                           const std::string& key) {
    auto& added = server_.stream.emplace_back();
    added.set_type(type);
    added.set_revision(revision);
    added.set_key(key);
    return &added;
  };
  const quota::v1::Quota quota = Quota("A-1A", 10);
  *message(type::v1::WATCH_EVENT_TYPE_SNAPSHOT, 1, quota.name())->mutable_quota() = quota;
  for (const char* pool : {"p1", "p2"}) {
    const std::string name = quota.name() + "/holdings/" + pool;
    message(type::v1::WATCH_EVENT_TYPE_SNAPSHOT, 2, name)->mutable_holding()->set_nodes(3);
  }
  message(type::v1::WATCH_EVENT_TYPE_DELETED, 3, quota.name() + "/holdings/p2");
  std::vector<int64_t> held;
  const absl::Status status = api_->Watch(
      {.kind = Kind::kQuota}, type::v1::WatchStart(), [&](const WatchMessage& received) {
        held.push_back(std::get<quota::v1::Quota>(*received.item).held());
        return true;
      });
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(held, ElementsAre(0, 3, 6, 3));
}

}  // namespace
}  // namespace muster::musterctl
