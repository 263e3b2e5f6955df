#include "tests/proto/lint.h"

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/proto/parse_proto.h"

namespace muster::proto_lint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Breaks no rule. The tests replace one thing in it.
constexpr char kGood[] = R"(syntax = "proto3";
package muster.box.v1;
// Boxes.
service BoxService {
  // One.
  rpc GetBox(GetBoxRequest) returns (Box);
  // All.
  rpc ListBoxes(ListBoxesRequest) returns (ListBoxesResponse);
}
// A box.
message Box {
  // Its name.
  string name = 1;
  // Its lid.
  Lid lid = 2;
  // What is inside.
  map<string, int32> inside = 3;
}
// A lid.
enum Lid {
  // Never sent.
  LID_UNSPECIFIED = 0;
  // Open.
  LID_OPEN = 1;
}
// Request of GetBox.
message GetBoxRequest {
  // Which.
  string name = 1;
}
// Request of ListBoxes.
message ListBoxesRequest {}
// Response of ListBoxes.
message ListBoxesResponse {
  // All.
  repeated Box boxes = 1;
}
)";

Parsed Parse(const std::string& text, const std::string& name = "muster/box/v1/box_service.proto") {
  return ParseProto(text, name);
}

TEST(Lint, LetsAGoodFilePass) { EXPECT_THAT(Lint(*Parse(kGood).file), IsEmpty()); }

struct Bad {
  const char* from;
  const char* to;
  const char* fault;
};
class LintRule : public ::testing::TestWithParam<Bad> {};

TEST_P(LintRule, IsReported) {
  const std::string text = absl::StrReplaceAll(kGood, {{GetParam().from, GetParam().to}});
  ASSERT_NE(text, kGood);
  EXPECT_THAT(Lint(*Parse(text).file), ElementsAre(HasSubstr(GetParam().fault)));
}

constexpr Bad kBad[] = {
    {"// Boxes.", "", "BoxService: has no comment"},
    {"// One.", "", "GetBox: has no comment"},
    {"// A box.", "", ":11: muster.box.v1.Box: has no comment"},
    {"// Its lid.", "", ":15: muster.box.v1.Box.lid: has no comment"},
    {"// A lid.", "", "Lid: has no comment"},
    {"// Open.", "", "LID_OPEN: has no comment"},
    {"// Request of GetBox.", "", "GetBoxRequest: has no comment"},
    {"muster.box.v1", "muster.crate.v1", "the package is not the folder"},
    {"Lid lid", "Lid topLid", "a field is lower_snake"},
    {"LID_OPEN", "OPEN", "begins with LID_"},
    {"LID_OPEN", "LID_open", "an enum value is UPPER_SNAKE"},
    {"LID_UNSPECIFIED", "LID_NONE", "the zero value is LID_UNSPECIFIED"},
    {"BoxService", "Boxes", "ends with Service"},
    {"ListBoxesRequest", "AllBoxesRequest", "takes ListBoxesRequest"},
    {"ListBoxesResponse", "AllBoxesResponse", "answers with ListBoxesResponse"},
    {"returns (Box)", "returns (stream Box)", "answers with GetBoxResponse"},
};
INSTANTIATE_TEST_SUITE_P(One, LintRule, ::testing::ValuesIn(kBad));

TEST(Lint, ReportsASharedRequest) {
  const std::string text =
      absl::StrReplaceAll(kGood, {{"ListBoxes(ListBoxesRequest)", "ListBoxes(GetBoxRequest)"}});
  EXPECT_THAT(Lint(*Parse(text).file),
              ElementsAre(HasSubstr("takes ListBoxesRequest"), HasSubstr("shares its request")));
}

// GetBox under another name, with one more field in its request.
std::vector<std::string> FaultsOf(const char* rpc, const char* field) {
  const std::string text = absl::StrReplaceAll(
      kGood,
      {{"GetBox", rpc},
       {"// Which.\n  string name = 1;", absl::StrCat("// Which.\n  string name = 1;\n", field)}});
  return Lint(*Parse(text).file);
}

TEST(Lint, WantsWhatChangesSomethingToBeTriedFirst) {
  constexpr char kTried[] = "// Only try.\n  bool validate_only = 2;";
  EXPECT_THAT(FaultsOf("OpenBox", kTried), IsEmpty());
  EXPECT_THAT(FaultsOf("OpenBox", ""),
              ElementsAre(HasSubstr("OpenBox: changes something: takes `bool validate_only`")));
  EXPECT_THAT(FaultsOf("OpenBox", "// Only try.\n  string validate_only = 2;"),
              ElementsAre(HasSubstr("takes `bool validate_only`")));
  EXPECT_THAT(FaultsOf("FindBox", ""), IsEmpty());
  EXPECT_THAT(FaultsOf("SyncClaim", ""), IsEmpty()) << "CheckClaims stands in";
  EXPECT_THAT(FaultsOf("SyncClaim", kTried),
              ElementsAre(HasSubstr("not listed with \"a Check RPC takes the same request")));
}

TEST(Lint, WantsAVersionAndALowerSnakeFile) {
  const std::string text = absl::StrReplaceAll(kGood, {{"muster.box.v1", "muster.box"}});
  EXPECT_THAT(
      Lint(*Parse(text, "muster/box/Box.proto").file),
      ElementsAre(HasSubstr("end with a version"), HasSubstr("file name is not lower_snake")));
}

TEST(Surface, ListsWhatClientsRelyOn) {
  EXPECT_THAT(
      Surface(*Parse(kGood).file),
      ElementsAre("muster.box.v1.Box.inside = 3 map<string, int32>",
                  "muster.box.v1.Box.lid = 2 muster.box.v1.Lid",
                  "muster.box.v1.Box.name = 1 string",
                  "muster.box.v1.GetBoxRequest.name = 1 string", "muster.box.v1.Lid.LID_OPEN = 1",
                  "muster.box.v1.Lid.LID_UNSPECIFIED = 0",
                  "muster.box.v1.ListBoxesResponse.boxes = 1 repeated muster.box.v1.Box",
                  "rpc muster.box.v1.BoxService.GetBox(muster.box.v1.GetBoxRequest) returns "
                  "(muster.box.v1.Box)",
                  "rpc muster.box.v1.BoxService.ListBoxes(muster.box.v1.ListBoxesRequest) returns "
                  "(muster.box.v1.ListBoxesResponse)"));
}

TEST(Broken, TellsRemovedRenumberedAndRetypedFromAdded) {
  const std::vector<std::string> golden = Surface(*Parse(kGood).file);
  const auto broken_by = [&](const char* from, const char* to) {
    return Broken(golden, Surface(*Parse(absl::StrReplaceAll(kGood, {{from, to}})).file));
  };
  const auto lid = ElementsAre("muster.box.v1.Box.lid = 2 muster.box.v1.Lid");
  EXPECT_THAT(broken_by("Lid lid = 2;", ""), lid);
  EXPECT_THAT(broken_by("Lid lid = 2;", "Lid lid = 4;"), lid);
  EXPECT_THAT(broken_by("Lid lid = 2;", "int32 lid = 2;"), lid);
  EXPECT_THAT(broken_by("Lid lid = 2;", "repeated Lid lid = 2;"), lid);
  EXPECT_THAT(broken_by("Lid lid = 2;", "Lid lid = 2; string colour = 4;"), IsEmpty());
}

}  // namespace
}  // namespace muster::proto_lint
