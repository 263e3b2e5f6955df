#include "services/common/resource_name.h"

#include <gtest/gtest.h>

#include <string>

namespace muster {
namespace {

using Parts = std::vector<std::string>;

TEST(MatchNameTest, GivesThePartsAtTheStars) {
  EXPECT_EQ(MatchName("organizations/*/clusters/*", "organizations/acme/clusters/c1"),
            (Parts{"acme", "c1"}));
  EXPECT_EQ(MatchName("zones/*", "zones/US-EAST-04A"), (Parts{"US-EAST-04A"}));
  EXPECT_EQ(MatchName("organizations/*", "organizations/-"), (Parts{"-"}));
}

TEST(MatchNameTest, RefusesOtherShapes) {
  for (const char* name : {"", "organizations", "organizations/", "organizations/acme/",
                           "organizations/acme/clusters", "organizations/acme/clusters/",
                           "organizations//clusters/c1", "organizations/a/b/clusters/c1",
                           "orgs/acme/clusters/c1", "/organizations/acme/clusters/c1"}) {
    SCOPED_TRACE(name);
    EXPECT_EQ(MatchName("organizations/*/clusters/*", name), std::nullopt);
  }
}

TEST(LastIdOfTest, IsWhatFollowsTheLastSlash) {
  EXPECT_EQ(LastIdOf("a/b/c"), "c");
  EXPECT_EQ(LastIdOf("c"), "c");
}

TEST(ResourceIdTest, DnsLabel) {
  for (const char* good : {"a", "0", "a-b", "example-nodepool"})
    EXPECT_TRUE(IsDnsLabel(good)) << good;
  for (const char* bad : {"", "-a", "a-", "A", "a.b", "a_b", "a/b", "\xc3\xa4"})
    EXPECT_FALSE(IsDnsLabel(bad)) << bad;
  EXPECT_TRUE(IsDnsLabel(std::string(63, 'a')));
  EXPECT_FALSE(IsDnsLabel(std::string(64, 'a')));
}

TEST(ResourceIdTest, DnsSubdomain) {
  for (const char* good : {"a", "a.b", "node.coreweave.cloud"})
    EXPECT_TRUE(IsDnsSubdomain(good)) << good;
  for (const char* bad : {"", ".", "a.", ".a", "a..b", "a.-b"})
    EXPECT_FALSE(IsDnsSubdomain(bad)) << bad;
  EXPECT_TRUE(IsDnsSubdomain("ab.cd", 5));
  EXPECT_FALSE(IsDnsSubdomain("ab.cd", 4));
}

// Kubernetes bounds a prefix as a whole.
TEST(ResourceIdTest, LabelKey) {
  const std::string word(63, 'a');
  for (const std::string& good : {std::string("a"), std::string("node.example.com/Disk_1"),
                                  word + "/" + word, std::string(64, 'a') + "/b",
                                  std::string(240, 'a') + ".com/b", std::string(253, 'a') + "/b"})
    EXPECT_TRUE(IsLabelKey(good)) << good;
  for (const std::string& bad :
       {std::string(), std::string("/a"), std::string("a/"), std::string("a/b/c"),
        std::string("A/b"), std::string("a..b/c"), std::string("-a/b"), std::string("a-/b"),
        word + "a", "b/" + word + "a", std::string(254, 'a') + "/b",
        std::string(250, 'a') + ".com/b"})
    EXPECT_FALSE(IsLabelKey(bad)) << bad;
}

TEST(ResourceIdTest, LabelValue) {
  EXPECT_TRUE(IsLabelValue(""));
  EXPECT_TRUE(IsLabelValue(std::string(63, 'a')));
  for (const std::string& bad : {std::string(64, 'a'), std::string("-"), std::string("a b")})
    EXPECT_FALSE(IsLabelValue(bad)) << bad;
}

TEST(ResourceIdTest, ZoneId) {
  for (const char* good : {"US-EAST-04A", "A1B", "LAB-A"}) EXPECT_TRUE(IsZoneId(good)) << good;
  for (const char* bad : {"", "A", "us-east-04a", "US-EAST-04", "US EAST A"})
    EXPECT_FALSE(IsZoneId(bad)) << bad;
  EXPECT_TRUE(IsZoneId(std::string(32, 'A')));
  EXPECT_FALSE(IsZoneId(std::string(33, 'A')));
}

TEST(ResourceIdTest, MinorVersion) {
  for (const char* good : {"1.33", "0.1", "123456789.1"}) EXPECT_TRUE(IsMinorVersion(good)) << good;
  for (const char* bad : {"", "1", "1.", ".1", "v1.33", "1.33.1", "1.3a", "1234567890.1"})
    EXPECT_FALSE(IsMinorVersion(bad)) << bad;
}

TEST(ResourceIdTest, ARegionIsALabelsValue) {
  EXPECT_EQ(RegionOf("US-EAST-04A"), "US-EAST-04");
  EXPECT_EQ(RegionOf("LAB-A"), "LAB");
  EXPECT_EQ(RegionOf("A--B"), "A");
  EXPECT_EQ(RegionOf("-A"), "");
  EXPECT_EQ(RegionOf(""), "");
}

TEST(ResourceIdTest, InstanceTypeId) {
  for (const char* good : {"gd-8xh100ib-i128", "H100_NVLINK_80GB.8.xeon.128", "a"})
    EXPECT_TRUE(IsInstanceTypeId(good)) << good;
  for (const char* bad : {"", "a b", "a/b", "a~b"}) EXPECT_FALSE(IsInstanceTypeId(bad)) << bad;
  for (const char* of_old : {"-a", "a.", "_"}) {
    EXPECT_TRUE(IsInstanceTypeId(of_old)) << of_old;
    EXPECT_FALSE(IsLabelWord(of_old)) << of_old;
  }
  EXPECT_TRUE(IsInstanceTypeId(std::string(63, 'a')));
  EXPECT_FALSE(IsInstanceTypeId(std::string(64, 'a')));
}

TEST(ResourceIdTest, PoolUid) {
  for (const char* good : {"019a", "5f0c3f4e-8f6b-7aaa-9d7f-0a1b2c3d4e5f"})
    EXPECT_TRUE(IsPoolUid(good)) << good;
  for (const char* bad : {"", "A", "a_b", "a/b"}) EXPECT_FALSE(IsPoolUid(bad)) << bad;
  EXPECT_TRUE(IsPoolUid(std::string(64, 'a')));
  EXPECT_FALSE(IsPoolUid(std::string(65, 'a')));
}

TEST(ResourceNameTest, APrefixEndsWhereAPartEnds) {
  EXPECT_TRUE(IsUnder("clusters/example", ""));
  EXPECT_TRUE(IsUnder("clusters/example", "clusters/example"));
  EXPECT_TRUE(IsUnder("clusters/example/nodePools/a", "clusters/example"));
  EXPECT_FALSE(IsUnder("clusters/example", "clusters/exa"));
  EXPECT_FALSE(IsUnder("clusters/example", "clusters/example/"));
  EXPECT_TRUE(IsUnder("clusters/example/nodePools/a", "clusters/example/"));
  EXPECT_FALSE(IsUnder("clusters", "clusters/example"));
}

}  // namespace
}  // namespace muster
