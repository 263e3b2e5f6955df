#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "services/kubernetes/api/client.h"
#include "services/kubernetes/api/testing/server.h"
#include "tests/testing/status_matchers.h"

namespace muster::kubernetes {
namespace {

using ::muster::testing::IsOk;
using ::muster::testing::StatusIs;
using ::testing::HasSubstr;

std::unique_ptr<Client> ClientOf(const TestServer& server, Endpoint endpoint = {}) {
  endpoint.server = server.url();
  auto client = Client::Create(std::move(endpoint), {});
  EXPECT_TRUE(client.ok()) << client.status();
  return *std::move(client);
}

TEST(Impersonation, IsInEveryRequest) {
  TestServer server([](auto&, const auto& request, auto& response) {
    SendJson(response, request.has_param("watch") ? "" : "{}");
  });
  Endpoint endpoint;
  endpoint.token = "own";
  endpoint.as = "muster-fleetsim";
  endpoint.as_groups = {"system:masters", "system:nodes"};
  const auto client = ClientOf(server, endpoint);
  EXPECT_THAT(client->Get("/x").status(), IsOk());
  EXPECT_THAT(client->Create("/x", Json::object()).status(), IsOk());
  EXPECT_THAT(client->Watch("/x", {}, "1", [](absl::string_view, const Json&) { return true; }),
              IsOk());
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 3u);
  for (const httplib::Request& request : requests) {
    EXPECT_EQ(request.get_header_value("Authorization"), "Bearer own");
    EXPECT_EQ(request.get_header_value_count("Impersonate-User"), 1u);
    EXPECT_EQ(request.get_header_value("Impersonate-User"), "muster-fleetsim");
    ASSERT_EQ(request.get_header_value_count("Impersonate-Group"), 2u);
    EXPECT_EQ(request.get_header_value("Impersonate-Group", 0), "system:masters");
    EXPECT_EQ(request.get_header_value("Impersonate-Group", 1), "system:nodes");
  }
  ASSERT_THAT(ClientOf(server)->Get("/x").status(), IsOk());
  EXPECT_FALSE(server.requests().back().has_header("Impersonate-User"));
}

// What cannot stand in a header would make another request of it.
TEST(Impersonation, RefusesWhatIsNoName) {
  const auto create = [](const std::string& as, std::vector<std::string> groups) {
    Endpoint endpoint{.server = "http://127.0.0.1:1"};
    endpoint.as = as;
    endpoint.as_groups = std::move(groups);
    return Client::Create(std::move(endpoint), {}).status();
  };
  EXPECT_THAT(create("a\r\nImpersonate-Group: system:masters", {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("as: holds control")));
  EXPECT_THAT(create("a", {"b", " c"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("as_groups: one holds")));
  EXPECT_THAT(create("a", {""}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("as_groups: one is empty")));
  EXPECT_THAT(create("", {"b"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("as_groups: needs `as`")));
}

}  // namespace
}  // namespace muster::kubernetes
