#include "services/page/core/request.h"

#include <gtest/gtest.h>

namespace muster::page {
namespace {

TEST(RequestTest, TakesAddressesAndGivenNamesAsItsHost) {
  for (const char* host : {"127.0.0.1:7605", "127.0.0.1", "localhost:1", "LOCALHOST", "[::1]:7605",
                           "[fe80::1]", "10.1.2.3:80", "fleet.example:7605"})
    EXPECT_TRUE(IsOurHost(host, {"fleet.example"})) << host;
}

TEST(RequestTest, RefusesHostsThatAreNotIts) {
  for (const char* host :
       {"", "evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "1.2.3",
        "1.2.3.400", "[::1].evil.example", "[evil]", "fleet.example.evil:80"})
    EXPECT_FALSE(IsOurHost(host, {"fleet.example"})) << host;
}

TEST(RequestTest, KnowsWhatOnlyThisMachineReaches) {
  for (const char* address : {"127.0.0.1:0", "127.9.9.9:1", "localhost:7605", "[::1]:7605"})
    EXPECT_TRUE(IsLoopback(address)) << address;
  for (const char* address : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "127.evil:1", "host:1"})
    EXPECT_FALSE(IsLoopback(address)) << address;
}

TEST(RequestTest, ReadsAFieldOfAQuery) {
  EXPECT_EQ(QueryField("name=organizations%2Facme&x=1", "name"), "organizations/acme");
  EXPECT_EQ(QueryField("x=1", "name"), "");
  EXPECT_EQ(QueryField("", "name"), "");
  EXPECT_EQ(QueryField("name=%zz", "name"), "");
  EXPECT_EQ(QueryField("name=%4", "name"), "");
  EXPECT_EQ(QueryField("name=%00", "name"), "");
  EXPECT_EQ(QueryField("name=" + std::string(513, 'a'), "name"), "");
}

TEST(RequestTest, AMomentIsMillisecondsThatServicesKnow) {
  EXPECT_EQ(ReadMoment("1750000000123"), absl::FromUnixMillis(1'750'000'000'123));
  EXPECT_EQ(ReadMoment("0"), absl::UnixEpoch());
  for (const char* wrong : {"", "-1", "now", "1.5", "253402300799001", "99999999999999999999"})
    EXPECT_EQ(ReadMoment(wrong), std::nullopt) << wrong;
}

TEST(RequestTest, ResumesWithinAnEpochOnly) {
  const Place place{17, 12, 9};
  EXPECT_EQ(ResumePlace(EventId("ab", place), "ab"), place);
  for (const char* id :
       {"cd.17.12.9", "ab.17", "ab.17.12", "ab.x.12.9", "ab.17.12.", "", "ab", "ab.-1.0.0"})
    EXPECT_EQ(ResumePlace(id, "ab"), Place()) << id;
}

}  // namespace
}  // namespace muster::page
