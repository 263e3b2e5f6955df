#include "services/kubernetes/adapter.h"

#include <gtest/gtest.h>

#include "prometheus/registry.h"

namespace muster::kubernetes {
namespace {

// Of whichever Kubernetes the API server is, it has not answered yet.
TEST(Adapter, IsNotReadyBeforeItKnowsWhereItIs) {
  AdapterOptions options{
      .organization = "acme", .cluster = "c1", .zone = "RNO2A", .muster_server = "127.0.0.1:1"};
  options.endpoint.server = "http://127.0.0.1:1";
  options.lease.identity = "me";
  prometheus::Registry registry;
  const auto adapter = Adapter::Create(options, registry);
  ASSERT_TRUE(adapter.ok()) << adapter.status();
  EXPECT_FALSE((*adapter)->ready());
}

}  // namespace
}  // namespace muster::kubernetes
