#include "services/tls/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace muster::tls {
namespace {

using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(TlsFlagsTest, AreGivenTogetherOrNotAtAll) {
  const auto none = CheckFiles({});
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->has_value());
  const auto all = CheckFiles(
      {.certificates = "c", .key = "k", .authorities = "a", .trust_domain = "muster.test"});
  ASSERT_TRUE(all.ok());
  EXPECT_EQ((*all)->key, "k");
  EXPECT_THAT(CheckFiles({.certificates = "c", .authorities = "a"}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("--tls_key_file: is required"),
                             HasSubstr("--trust_domain: is required"))));
}

TEST(TlsFlagsTest, TheTrustDomainIsAName) {
  EXPECT_THAT(CheckFiles({.certificates = "c",
                          .key = "k",
                          .authorities = "a",
                          .trust_domain = "spiffe://muster.test"})
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--trust_domain: must be")));
}

TEST(LocalAddressTest, IsOneThatOnlyThisMachineReaches) {
  for (const char* address :
       {"127.0.0.1:7600", "127.8.0.1:0", "localhost:1", "[::1]:7600", "unix:/run/muster.sock"})
    EXPECT_TRUE(IsLocal(address)) << address;
  for (const char* address :
       {"0.0.0.0:7600", "[::]:7600", "10.0.0.1:7600", "127.0.0.1.example.org:7600", "127.0.0:1",
        "127.0.0.256:1", "muster.example.org:7600", ":7600", ""})
    EXPECT_FALSE(IsLocal(address)) << address;
}

}  // namespace
}  // namespace muster::tls
