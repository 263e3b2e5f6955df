#include "services/page/core/request.h"

#include <gtest/gtest.h>

namespace muster::page {
namespace {

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
