#include "services/kubernetes/writer.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "services/kubernetes/api/client.h"
#include "tests/kubernetes/fake_api_server/fake_api_server.h"

namespace muster::testing {
namespace {

using kubernetes::Client;
using kubernetes::Writer;

// One that was made again under the name of the one that is meant stays.
TEST(Writer, DeletesTheObjectOfThatUidOnly) {
  constexpr char kNodes[] = "/api/v1/nodes";
  constexpr char kNode[] = "/api/v1/nodes/node-7";
  FakeApiServer server;
  const auto client = Client::Create({.server = server.url()}, {});
  ASSERT_TRUE(client.ok()) << client.status();
  const auto made = (*client)->Create(
      kNodes, {{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", {{"name", "node-7"}}}});
  ASSERT_TRUE(made.ok()) << made.status();

  const absl::Status refused = Writer(client->get()).Delete(kNode, "uid-of-a-former-one");
  EXPECT_EQ(refused.code(), absl::StatusCode::kAborted) << refused;
  EXPECT_TRUE((*client)->Get(kNode).ok());

  const std::string uid = (*made)["metadata"]["uid"].get<std::string>();
  // Another writer: the first one does not try again so soon.
  EXPECT_TRUE(Writer(client->get()).Delete(kNode, uid).ok());
  EXPECT_TRUE(absl::IsNotFound((*client)->Get(kNode).status()));
}

}  // namespace
}  // namespace muster::testing
