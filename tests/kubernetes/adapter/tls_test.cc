#include "tests/kubernetes/adapter/adapter_test_base.h"

// The adapter and the fleet's agents call Muster by mutual TLS.
namespace muster::testing {
namespace {

class MutualTlsTest : public AdapterTest<MutualTlsTest> {
 public:
  static AdapterStack::Options MakeOptions() {
    AdapterStack::Options options;
    options.muster.tls = true;
    return options;
  }
};

TEST_F(MutualTlsTest, APoolComesUpAndGrows) {
  const std::string pool = Name();
  const std::string uid = CreateHealthyPool(pool, {{"targetNodes", 1}});
  PatchSpec(pool, {{"targetNodes", 2}});
  EXPECT_TRUE(stack().AwaitHealthy(pool, 2)) << stack().GetNodePool(pool).dump(2);
  EXPECT_EQ(NodesOf(uid).size(), 2u);
}

}  // namespace
}  // namespace muster::testing
