#include "services/rpc/call_info.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace muster::rpc {
namespace {

TEST(NewIdTest, IsFifteenHexDigitsAndNew) {
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) {
    const std::string id = NewId();
    EXPECT_EQ(id.size(), 15u);
    EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos);
    ids.insert(id);
  }
  EXPECT_EQ(ids.size(), 1000u);
}

TEST(PrincipalTest, IsWhomTheCertificateNames) {
  EXPECT_EQ(PrincipalOf({.ids = {"spiffe://muster.test/ci"}, .address = "ipv4:10.0.0.1:5000"}),
            "spiffe://muster.test/ci");
  EXPECT_EQ(PrincipalOf({.ids = {"spiffe://a.test/x", "spiffe://b.test/y"},
                         .address = "ipv4:127.0.0.1:5000"}),
            "anonymous");
}

TEST(PrincipalTest, WithoutOneItIsLocalOrNobody) {
  for (const char* peer : {"ipv4:127.0.0.1:5000", "ipv4:127.8.0.1:5000", "ipv6:[::1]:5000",
                           "ipv6:%5B::1%5D:5000", "unix:", "unix:/run/x"})
    EXPECT_EQ(PrincipalOf({.address = peer}), "local") << peer;
  for (const char* peer :
       {"ipv4:10.0.0.1:5000", "ipv4:128.0.0.1:5000", "ipv6:%5B2001:db8::1%5D:5000", ""})
    EXPECT_EQ(PrincipalOf({.address = peer}), "anonymous") << peer;
  EXPECT_EQ(PrincipalOf({.address = "unknown"}), "self") << "within the process";
}

TEST(PrincipalTest, ByTlsNobodyIsLocalForWantOfACertificate) {
  EXPECT_EQ(PrincipalOf({.encrypted = true, .address = "ipv4:127.0.0.1:5000"}), "anonymous");
}

}  // namespace
}  // namespace muster::rpc
