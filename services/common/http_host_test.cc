#include "services/common/http_host.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(HttpHost, TakesAddressesAndGivenNamesAsItsHost) {
  for (const char* host : {"127.0.0.1:7605", "127.0.0.1", "localhost:1", "LOCALHOST", "[::1]:7605",
                           "[fe80::1]", "10.1.2.3:80", "fleet.example:7605"})
    EXPECT_TRUE(IsOurHost(host, {"fleet.example"})) << host;
}

TEST(HttpHost, RefusesHostsThatAreNotIts) {
  for (const char* host :
       {"", "evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "1.2.3",
        "1.2.3.400", "[::1].evil.example", "[evil]", "fleet.example.evil:80"})
    EXPECT_FALSE(IsOurHost(host, {"fleet.example"})) << host;
}

TEST(HttpHost, KnowsWhatOnlyThisMachineReaches) {
  for (const char* address : {"127.0.0.1:0", "127.9.9.9:1", "localhost:7605", "[::1]:7605"})
    EXPECT_TRUE(IsLoopback(address)) << address;
  for (const char* address : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "127.evil:1", "host:1"})
    EXPECT_FALSE(IsLoopback(address)) << address;
}

}  // namespace
}  // namespace muster
