#include "services/common/address.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(AddressTest, WhatIsListenedAtHasAPort) {
  for (const char* good :
       {"127.0.0.1:0", "0.0.0.0:65535", "[::]:7603", "localhost:7600", ":7600"}) {
    EXPECT_TRUE(IsHostPort(good)) << good;
    EXPECT_TRUE(IsListenAddress(good)) << good;
  }
  for (const char* bad : {"", "7600", "host", "host:", "host:x", "host:-1", "host:+1", "host: 1",
                          "host:65536", "host:76000", "host:99999999999"}) {
    EXPECT_FALSE(IsHostPort(bad)) << bad;
    EXPECT_FALSE(IsListenAddress(bad)) << bad;
  }
  EXPECT_TRUE(IsListenAddress("unix:/run/muster.sock"));
  EXPECT_FALSE(IsHostPort("unix:/run/muster.sock"));
  EXPECT_FALSE(IsListenAddress("unix:"));
}

TEST(AddressTest, WhatIsCalledHasAHostAndAPort) {
  for (const char* good :
       {"127.0.0.1:7600", "[::1]:7600", "[fe80::1%eth0]:7600", "musterd.muster.svc:7600",
        "my_host:1", "dns:///musterd.muster.svc:7600", "dns://10.0.0.1/musterd:7600",
        "dns:musterd:65535", "unix:/run/muster.sock", "unix-abstract:muster",
        "ipv4:10.0.0.1:1,10.0.0.2:1"}) {
    EXPECT_TRUE(IsTarget(good)) << good;
  }
  for (const char* bad :
       {"", "SET_ME", "host", "host:", "host:0", "host:65536", "host:x", ":7600", "dns:///host",
        "dns:///:7600", "dns://host:7600", "http://host:7600", "a b:1", "::1:7600", "unix:"}) {
    EXPECT_FALSE(IsTarget(bad)) << bad;
  }
}

TEST(AddressTest, APlainHostIsANameAlone) {
  for (const char* good : {"muster.example.org", "fleet", "10.1.2.3"})
    EXPECT_TRUE(IsPlainHost(good)) << good;
  for (const char* bad :
       {"", "muster.example.org:8443", "https://muster.example.org", "a/b", "*", "[::1]"})
    EXPECT_FALSE(IsPlainHost(bad)) << bad;
}

}  // namespace
}  // namespace muster
