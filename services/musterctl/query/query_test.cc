#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>
#include <utility>

#include "services/musterctl/query/columns.h"
#include "services/musterctl/query/json_path.h"
#include "services/musterctl/query/patching.h"
#include "services/musterctl/query/selectors.h"
#include "services/musterctl/query/sorting.h"

namespace muster::musterctl {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

json Pools() {
  return json::parse(R"({"kind": "List", "items": [
    {"metadata": {"name": "a", "labels": {"team.x/y": "ml"}}, "spec": {"nodes": 3, "on": true},
     "list": ["x", "y", "z"], "conditions": [{"type": "Ready", "status": "True"}, {"type": "Quota", "status": "False"}]},
    {"metadata": {"name": "b"}, "spec": {"nodes": 12}, "conditions": []}]})");
}

TEST(JsonPathTest, RendersWhatKubectlRenders) {
  const std::pair<const char*, const char*> cases[] = {
      {"{.items[0].metadata.name}", "a"},
      {"{.items[*].metadata.name}", "a b"},
      {"{$.items[1].spec.nodes}", "12"},
      {"{.items[-1].metadata.name}", "b"},
      {"{.items[0].list[1:]}", "y z"},
      {"{.items[0].list[0:-1]}", "x y"},
      {"{.items[0].list}", R"(["x","y","z"])"},
      {"{.items[0].spec.on}", "true"},
      {"{.items[0].spec}", R"({"nodes":3,"on":true})"},
      {"{.items[0].metadata.labels.team\\.x/y}", "ml"},
      {"{.items[0].metadata.labels['team.x/y']}", "ml"},
      {"{.items[0].nosuch}", ""},
      {"{..name}", "a b"},
      {"{.items[0].conditions[?(@.type==\"Ready\")].status}", "True"},
      {"{.items[0].conditions[?(@.type != 'Ready')].status}", "False"},
      {"{.items[?(@.spec.nodes > 3)].metadata.name}", "b"},
      {"{.items[?(@.spec.nodes<=3)].metadata.name}", "a"},
      {"{.items[?(@.spec.on)].metadata.name}", "a"},
      {"{.items[?(@.spec.on==true)].metadata.name}", "a"},
      {"{range .items[*]}{.metadata.name}{\"\\t\"}{.spec.nodes}{'\\n'}{end}", "a\t3\nb\t12\n"},
      {"{range .items[*]}{@.metadata.name}:{range .conditions[*]}{.type},{end};{end}",
       "a:Ready,Quota,;b:;"},
      {"{.kind} of {.items[0].metadata.name}!", "List of a!"},
      {"text", "text"},
      {"{.items[0].spec.*}", "3 true"}};
  for (const auto& [text, wanted] : cases) {
    SCOPED_TRACE(text);
    const auto parsed = JsonPathTemplate::Parse(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    const auto rendered = parsed->Render(Pools());
    ASSERT_TRUE(rendered.ok()) << rendered.status();
    EXPECT_EQ(*rendered, wanted);
  }
}

TEST(JsonPathTest, RefusesTheRestAndSaysWhere) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "a template is missing"},
      {"{.a", "} is expected"},
      {"{.a .b}", "one path a pair of braces"},
      {"{a}", "a path begins with"},
      {"{range .a}", "without {end}"},
      {"{.a}{end}", "at character 10: {end} without {range ...}"},
      {"{.a[}", "] is missing"},
      {"{.a[x]}", "in [] may stand"},
      {"{.a[0,1]}", "in [] may stand"},
      {"{.a[?(.b==1)]}", "a filter begins with @"},
      {"{.a[?(@.b==x)]}", "a value is a number"},
      {"{.a[?(@.b=~/x/)]}", "a filter is ?(@.path OPERATOR value)"},
      {"{.a[?(@.b==1 && @.c==2)]}", "a value is a number"},
      {"{..}", "a field's name must follow `..`"},
      {"{\"text}", "does not end"}};
  for (const auto& [text, wanted] : cases) {
    SCOPED_TRACE(text);
    const auto parsed = JsonPathTemplate::Parse(text);
    ASSERT_FALSE(parsed.ok());
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(parsed.status().message()), HasSubstr(wanted));
  }
  EXPECT_FALSE(JsonPath::Parse("{.a").ok());
  EXPECT_FALSE(JsonPath::Parse(".a .b").ok());
  EXPECT_FALSE(JsonPath::Parse("").ok());
}

TEST(JsonPathTest, AnIndexBeyondTheEndIsAnError) {
  const auto rendered = JsonPathTemplate::Parse("{.items[2].metadata.name}")->Render(Pools());
  EXPECT_EQ(rendered.status().message(), "jsonpath: index 2 of a list that has 2");
  EXPECT_FALSE(JsonPathTemplate::Parse("{.items[-3]}")->Render(Pools()).ok());
}

bool Fits(const char* selector, const json& labels) {
  const auto parsed = LabelSelector::Parse(selector);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return parsed.ok() && parsed->Matches(labels);
}

TEST(SelectorsTest, LabelsByEqualityAndSet) {
  const json labels = {{"env", "prod"}, {"tier", ""}};
  for (const char* fits :
       {"env=prod", "env==prod", "env = prod", "env!=dev", "zone!=a", "env in (dev, prod)",
        "env notin (dev)", "zone notin (a,b)", "env", "!zone", "tier=", "env=prod,tier,!zone",
        "env in (prod),tier notin (x)"}) {
    EXPECT_TRUE(Fits(fits, labels)) << fits;
  }
  for (const char* misses : {"env=dev", "env!=prod", "zone=a", "env in (dev)", "env notin (prod)",
                             "zone in (a)", "zone", "!env", "env=prod,zone"}) {
    EXPECT_FALSE(Fits(misses, labels)) << misses;
  }
  EXPECT_FALSE(Fits("env", json()));
  EXPECT_TRUE(Fits("!env", json()));
  for (const char* bad :
       {"", "=x", "env in", "env in prod", "env near (a)", "a b", "env,,tier", "k(y=1"}) {
    const auto parsed = LabelSelector::Parse(bad);
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
}

TEST(SelectorsTest, LabelsAsAFilterOfTheApi) {
  const auto filter = [](const char* text) { return LabelSelector::Parse(text)->Filter("m.l"); };
  EXPECT_EQ(filter("a.b/c=x"), R"((m.l."a.b/c" = "x"))");
  EXPECT_EQ(filter("k!=x"), R"((m.l."k" != "x"))");
  EXPECT_EQ(filter("k,!j"), R"(m.l:"k" AND NOT m.l:"j")");
  EXPECT_EQ(filter("k in (x, y),j notin (z,w)"),
            R"((m.l."k" = "x" OR m.l."k" = "y") AND (m.l."j" != "z" AND m.l."j" != "w"))");
  // What is empty is to a filter as what is not there; `*` stands for anything.
  for (const char* other : {"k=", "k=x*", "k in (x,)", R"(k=x" OR m.l:"j)"})
    EXPECT_EQ(filter(other), "") << other;
}

TEST(SelectorsTest, FieldsByPath) {
  const json object = Pools()["items"][0];
  const auto fits = [&](const char* text) { return FieldSelector::Parse(text)->Matches(object); };
  EXPECT_TRUE(fits("metadata.name=a"));
  EXPECT_TRUE(fits("metadata.name=a,spec.nodes==3,spec.on=true"));
  EXPECT_TRUE(fits("spec.nodes!=4"));
  EXPECT_FALSE(fits("metadata.name=a,spec.nodes=4"));
  EXPECT_TRUE(fits("spec.nosuch="));
  EXPECT_FALSE(fits("spec.nosuch=x"));
  EXPECT_TRUE(fits("conditions[*].type=Quota"));
  EXPECT_FALSE(FieldSelector::Parse("metadata.name").ok());
  EXPECT_FALSE(FieldSelector::Parse("=x").ok());
  const auto selector = FieldSelector::Parse("metadata.name=a,spec.tpyo=1");
  std::set<std::string> unknown = selector->Paths();
  EXPECT_EQ(unknown, std::set<std::string>({"metadata.name", "spec.tpyo"}));
  selector->DropKnown({object}, unknown);
  EXPECT_EQ(unknown, std::set<std::string>({"spec.tpyo"}));
}

TEST(ColumnsTest, HeadersAndCells) {
  const auto columns = ParseColumns(
      "NAME:.metadata.name,TYPES:.conditions[*].type,R:.conditions[?(@.type==\"a,b\")].status,X:{."
      "nosuch}");
  ASSERT_TRUE(columns.ok()) << columns.status();
  EXPECT_EQ((*columns)[1].header, "TYPES");
  EXPECT_THAT(CellsOf(*columns, Pools()["items"][0]),
              ElementsAre("a", "Ready,Quota", "<none>", "<none>"));
  for (const char* bad : {"", "NAME", ":.x", "NAME:", "A:.a,", "A:.a[x]"})
    EXPECT_FALSE(ParseColumns(bad).ok()) << bad;
}

TEST(PatchingTest, SaysWhereAPatchIsWrong) {
  const json pool = {{"spec", {{"nodes", 3}}}};
  const std::tuple<const char*, const char*, absl::StatusCode, const char*> cases[] = {
      {"merge", R"({"spec":{"nodes":,}})", absl::StatusCode::kInvalidArgument,
       "patch: at character 18: must be JSON, e.g. "},
      {"json", R"({"op":"remove"})", absl::StatusCode::kInvalidArgument,
       "patch: parse error: JSON patch must be an array of objects"},
      {"json", R"([{"op":"test","path":"/spec/nodes","value":3},{"op":"remove","path":"/gone"}])",
       absl::StatusCode::kFailedPrecondition, "patch: operation 2: key 'gone' not found"},
      {"json", R"([{"op":"add","path":"/spec/nodes/x","value":3}])",
       absl::StatusCode::kFailedPrecondition,
       "patch: operation 1: /spec/nodes/x: /spec/nodes is neither an object nor a list"},
      {"json", R"([{"op":"move"}])", absl::StatusCode::kInvalidArgument,
       "patch: operation 1: parse error: operation 'move' must have member 'path'"}};
  for (const auto& [type, patch, code, message] : cases) {
    const auto patched = Patched(pool, type, patch);
    EXPECT_EQ(patched.status().code(), code) << patch;
    EXPECT_THAT(std::string(patched.status().message()), StartsWith(message)) << patch;
  }
}

TEST(SortingTest, NumbersTextAndWhatIsMissing) {
  const std::vector<json> objects = {
      {{"n", 12}, {"s", "g10"}}, {{"n", 3}, {"s", "g9"}}, {{"s", "g09a"}}};
  EXPECT_THAT(*SortedBy(".n", objects), ElementsAre(2, 1, 0));
  EXPECT_THAT(*SortedBy("{.s}", objects), ElementsAre(1, 2, 0));
  EXPECT_FALSE(SortedBy(".x", objects).ok());
  EXPECT_THAT(*SortedBy(".x", {}), ElementsAre());
  EXPECT_TRUE(NaturalLess("a2b", "a10"));
  EXPECT_TRUE(NaturalLess("a", "ab"));
  EXPECT_FALSE(NaturalLess("b", "a9"));
  EXPECT_FALSE(NaturalLess("a1", "a1"));
}

}  // namespace
}  // namespace muster::musterctl
