#include "services/access/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "tests/testing/status_matchers.h"

namespace muster::access {
namespace {

using ::muster::testing::HasFieldViolation;
using ::muster::testing::IsOk;
using ::testing::HasSubstr;

std::shared_ptr<const Policy> PolicyOf(absl::string_view text) {
  const auto policy = Policy::Parse(text);
  EXPECT_THAT(policy.status(), IsOk());
  return policy.ok() ? *policy : Policy::Open(false);
}

TEST(Policy, RolesHaveTheirVerbs) {
  std::map<std::string, std::set<std::string>> verbs;
  for (const Role role : kRoles) {
    for (const Verb verb : VerbsOf(role))
      verbs[std::string(RoleName(role))].emplace(VerbName(verb));
  }
  const std::map<std::string, std::set<std::string>> expected = {
      {"viewer", {"read"}},
      {"editor", {"read", "write"}},
      {"operator", {"read", "write", "operate", "debug"}},
      {"agent", {"read", "report"}},
      {"adapter", {"read", "write", "report", "sync"}},
      {"service", {"read", "sync"}},
      {"auditor", {"read"}}};
  EXPECT_EQ(verbs, expected);
}

TEST(Policy, ACallerHasWhatAllItsBindingsGive) {
  const auto policy = PolicyOf(R"(
bindings:
- role: editor
  principals: ["spiffe://m.test/org/acme/*"]
  organizations: [acme]
- role: viewer
  principals: ["spiffe://m.test/org/*", local]
  zones: [US-EAST-04A]
- role: operator
  principals: ["spiffe://m.test/admin"]
  everywhere: true
)");
  const auto ann = policy->RightsOf("spiffe://m.test/org/acme/ann");
  EXPECT_TRUE(ann->Of(Verb::kRead).Covers("organizations/acme/clusters/c1"));
  EXPECT_TRUE(ann->Of(Verb::kRead).Covers("organizations/beta", "US-EAST-04A"));
  EXPECT_TRUE(ann->Of(Verb::kWrite).Covers("organizations/acme/clusters/c1"));
  EXPECT_FALSE(ann->Of(Verb::kWrite).Covers("organizations/beta", "US-EAST-04A"));
  EXPECT_TRUE(ann->Of(Verb::kOperate).empty());
  EXPECT_EQ(policy->RightsOf("spiffe://m.test/org/acme/ann"), ann) << "kept";
  EXPECT_TRUE(policy->RightsOf("spiffe://m.test/admin")->Of(Verb::kDebug).everywhere());
  EXPECT_FALSE(policy->RightsOf("local")->none());
  for (const char* stranger :
       {"anonymous", "spiffe://m.test/org", "spiffe://m.test/organization/acme/ann",
        "spiffe://other.test/org/acme/ann", "spiffe://m.test/admin/x", "spiffe://m.test/adm", ""})
    EXPECT_TRUE(policy->RightsOf(stranger)->none()) << stranger;
}

// "A caller's name: `local`, `anonymous`, `spiffe://DOMAIN/PATH`, `token/SUBJECT`; the last two
// perhaps with `/*` at their end."
TEST(Policy, BindsCallersOfEachKind) {
  const auto policy = PolicyOf(R"(
bindings:
- role: viewer
  principals: [local, anonymous, "spiffe://m.test/a", "spiffe://m.test/*", token/ann, "token/ns/*"]
  everywhere: true
)");
  for (const char* bound : {"local", "anonymous", "spiffe://m.test/a", "spiffe://m.test/b/c",
                            "token/ann", "token/ns/robot"})
    EXPECT_TRUE(policy->RightsOf(bound)->Of(Verb::kRead).everywhere()) << bound;
  for (const char* stranger : {"token/bob", "token/ns", "token/nsa/robot", "spiffe://m.test"})
    EXPECT_TRUE(policy->RightsOf(stranger)->none()) << stranger;
}

TEST(Policy, AnAdapterHasItsClusters) {
  const auto policy = PolicyOf(R"(
bindings:
- role: adapter
  principals: ["spiffe://m.test/adapter/c1"]
  clusters: [organizations/acme/clusters/c1, organizations/acme/clusters/c2]
)");
  const auto rights = policy->RightsOf("spiffe://m.test/adapter/c1");
  for (const char* own : {"organizations/acme/clusters/c1", "organizations/acme/clusters/c2"})
    EXPECT_TRUE(rights->Of(Verb::kSync).Covers(own)) << own;
  EXPECT_FALSE(rights->Of(Verb::kSync).Covers("organizations/acme/clusters/c3"));
}

// A caller may choose its token's subject, but not how much is remembered of it.
TEST(Policy, RemembersOnlySoManyCallers) {
  const auto policy =
      PolicyOf("bindings: [{role: viewer, principals: [\"token/*\"], zones: [US-EAST-04A]}]");
  for (int i = 0; i < 10'000; ++i) policy->RightsOf(absl::StrCat("token/", i));
  EXPECT_EQ(policy->RightsOf("token/9999"), policy->RightsOf("token/9999"));
  const auto late = policy->RightsOf("token/late");
  EXPECT_NE(policy->RightsOf("token/late"), late) << "it is not kept";
  EXPECT_EQ(*policy->RightsOf("token/late"), *late);
}

TEST(Policy, AProcessMayCallItself) {
  const auto policy = PolicyOf("bindings: [{role: viewer, principals: [local], everywhere: true}]");
  EXPECT_EQ(*policy->RightsOf(kSelf), Rights::All());
}

TEST(Policy, WithoutAFileWhoCallsInPlainTextMayDoEverything) {
  EXPECT_EQ(*Policy::Open(false)->RightsOf("local"), Rights::All());
  EXPECT_TRUE(Policy::Open(false)->RightsOf("anonymous")->none());
  EXPECT_EQ(*Policy::Open(true)->RightsOf("anonymous"), Rights::All());
  EXPECT_TRUE(Policy::Open(true)->RightsOf("spiffe://m.test/a")->none());
}

TEST(Policy, ItsHashIsThatOfItsText) {
  constexpr char kText[] = "bindings: [{role: viewer, principals: [local], everywhere: true}]";
  EXPECT_EQ(PolicyOf(kText)->hash().size(), 12u);
  EXPECT_EQ(PolicyOf(kText)->hash(), PolicyOf(kText)->hash());
  EXPECT_NE(PolicyOf(kText)->hash(), PolicyOf(absl::StrCat(kText, " "))->hash());
  EXPECT_EQ(Policy::Open(true)->hash(), "");
}

struct BadCase {
  const char* text;
  const char* field;
  const char* says;
};

TEST(Policy, SaysWhatIsWrongAndWhere) {
  const BadCase kCases[] = {
      {"", "policy", "must be a map"},
      {"[]", "policy", "must be a map"},
      {"bindings: [", "policy", "is no YAML: line 1:"},
      {"bindings:\n- {role: viewer, principals: [l\xf6"
       "cal], everywhere: true}",
       "policy", "is not UTF-8 text. (line 2)"},
      {"bindings: [{role: viewer, principals: [local], everywhere: true}]\n---\nbindings: []",
       "policy", "must be one document. (line 3)"},
      {"bindings: [{role: viewer, principals: [local], everywhere: true}]\n---\nbindings: [",
       "policy", "is no YAML: line"},
      {"{}", "bindings", "must be a list of 1 to 10000"},
      {"bindings: []", "bindings", "must be a list"},
      {"bindings: 1", "bindings", "must be a list"},
      {"bindings: [{role: viewer, principals: [local], everywhere: true}]\nmore: 1", "policy",
       "has \"more\"; allowed are bindings. (line 2)"},
      {"bindings: {role: viewer}", "bindings", "must be a list"},
      {"bindings: [x]", "bindings[0]", "must be a map"},
      {"bindings: [{principals: [local], everywhere: true}]", "bindings[0].role",
       "must be one of viewer, editor, operator, agent, adapter, service, auditor."},
      {"bindings: [{role: root, principals: [local], everywhere: true}]", "bindings[0].role",
       "must be one of viewer"},
      {"bindings: [{role: viewer, everywhere: true}]", "bindings[0].principals", "at least one"},
      {"bindings: [{role: viewer, principals: local, everywhere: true}]", "bindings[0].principals",
       "must be a list"},
      {"bindings: [{role: viewer, principals: [\"*\"], everywhere: true}]",
       "bindings[0].principals", "has \"*\""},
      {"bindings: [{role: viewer, principals: [self], everywhere: true}]", "bindings[0].principals",
       "has \"self\""},
      {"bindings: [{role: viewer, principals: [\"spiffe://a/b*\"], everywhere: true}]",
       "bindings[0].principals", "with `/*` at its end"},
      {"bindings: [{role: viewer, principals: [\"spiffe://a/*/b\"], everywhere: true}]",
       "bindings[0].principals", "has"},
      {"bindings: [{role: viewer, principals: [\"spiffe://*\"], everywhere: true}]",
       "bindings[0].principals", "has"},
      {"bindings: [{role: viewer, principals: [user/ann], everywhere: true}]",
       "bindings[0].principals", "has \"user/ann\""},
      {"bindings: [{role: viewer, principals: [token/], everywhere: true}]",
       "bindings[0].principals", "has \"token/\""},
      {"bindings: [{role: viewer, principals: [\"token/a b\"], everywhere: true}]",
       "bindings[0].principals", "has \"token/a b\""},
      {"bindings: [{role: viewer, principals: [\"spiffe:///a\"], everywhere: true}]",
       "bindings[0].principals", "has \"spiffe:///a\""},
      {"bindings: [{role: viewer, principals: [\"spiffe://m.test/\"], everywhere: true}]",
       "bindings[0].principals", "has \"spiffe://m.test/\""},
      {"bindings: [{role: viewer, principals: [local]}]", "bindings[0]", "says nowhere"},
      {"bindings: [{role: viewer, principals: [local], everywhere: false}]",
       "bindings[0].everywhere", "must be true, or left out"},
      {"bindings: [{role: viewer, principals: [local], everywhere: true, zones: [US-EAST-04A]}]",
       "bindings[0]", "and for less"},
      {"bindings: [{role: viewer, principals: [local], organizations: [Acme]}]",
       "bindings[0].organizations", "is not a DNS label"},
      {"bindings: [{role: viewer, principals: [local], organizations: []}]",
       "bindings[0].organizations", "not empty"},
      {"bindings: [{role: viewer, principals: [local], clusters: [c1]}]", "bindings[0].clusters",
       "organizations/{organization}/clusters/{cluster}"},
      {"bindings: [{role: viewer, principals: [local], clusters: [organizations/A/clusters/c1]}]",
       "bindings[0].clusters", "which is not"},
      {"bindings: [{role: viewer, principals: [local], clusters: [organizations/a/clusters/C1]}]",
       "bindings[0].clusters", "which is not"},
      {"bindings: [{role: viewer, principals: [local], zones: [east]}]", "bindings[0].zones",
       "is not a zone id"},
      {"bindings: [{role: adapter, principals: [local], everywhere: true}]", "bindings[0]",
       "is an adapter's"},
      {"bindings: [{role: adapter, principals: [local], organizations: [acme]}]", "bindings[0]",
       "is an adapter's"},
      {"bindings: [{role: adapter, principals: [local], clusters: [organizations/acme/clusters/c1],"
       " organizations: [beta]}]",
       "bindings[0]", "is an adapter's"},
      {"bindings: [{role: adapter, principals: [local], clusters: [organizations/acme/clusters/c1],"
       " zones: [US-EAST-04A]}]",
       "bindings[0]", "is an adapter's"},
      {"bindings: [{role: viewer, role: editor, principals: [local], everywhere: true}]",
       "bindings[0]", "has \"role\" twice"},
  };
  for (const BadCase& bad : kCases) {
    const absl::Status status = Policy::Parse(bad.text).status();
    EXPECT_THAT(status, HasFieldViolation(bad.field)) << bad.text;
    EXPECT_THAT(status.message(), HasSubstr(bad.says)) << bad.text;
  }
}

TEST(Policy, TellsAllFaultsAtOnce) {
  const absl::Status status =
      Policy::Parse("bindings:\n- {role: root, principals: [], zones: [x]}\n- {role: viewer}\n")
          .status();
  for (const char* field : {"bindings[0].role", "bindings[0].principals", "bindings[0].zones",
                            "bindings[1].principals", "bindings[1]"})
    EXPECT_THAT(status, HasFieldViolation(field));
}

TEST(Policy, MayBeSoLargeAndNoLarger) {
  std::string text = "bindings: [{role: viewer, principals: [local], everywhere: true}]\n";
  text.resize(1 << 20, ' ');
  EXPECT_THAT(Policy::Parse(text).status(), IsOk());
  EXPECT_THAT(Policy::Parse(text + " ").status().message(), HasSubstr("is larger than"));
  std::string bindings = "bindings:\n";
  for (int i = 0; i <= 10'000; ++i) bindings += "- 1\n";
  EXPECT_THAT(Policy::Parse(bindings).status().message(), HasSubstr("a list of 1 to 10000"));
}

TEST(Policy, TellsOnlySoManyFaults) {
  std::string bindings = "bindings:\n";
  for (int i = 0; i < 30; ++i) bindings += "- x\n";
  const auto detail = error::DetailOf(Policy::Parse(bindings).status());
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->fields.size(), 20u);
}

}  // namespace
}  // namespace muster::access
