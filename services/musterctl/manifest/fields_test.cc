#include "services/musterctl/manifest/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "services/musterctl/manifest/document.h"
#include "services/musterctl/manifest/manifest.h"

// Each kind of field as a manifest says it, and what is told of one that is wrong.
namespace muster::musterctl {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// What is told of a map that is read so.
std::vector<std::string> Told(absl::string_view map, const std::function<void(Fields&)>& read) {
  const auto documents = ParseDocuments("f", map);
  EXPECT_TRUE(documents.ok()) << documents.status();
  Problems problems("f", 1);
  {
    Fields fields(&documents->front().value, "spec", problems);
    read(fields);
  }
  return problems.lines();
}

TEST(FieldsTest, ATimeIsOneThatHasBeenOrWillBe) {
  for (const char* good : {"2026-01-31T12:00:00Z", "\"2026-01-31T12:00:00.5+01:00\""}) {
    EXPECT_THAT(Told(std::string("at: ") + good,
                     [](Fields& fields) { EXPECT_TRUE(fields.Time("at").has_value()); }),
                IsEmpty());
  }
  for (const char* bad : {"soon", "infinite-future", "infinite-past", "2026-01-31"}) {
    EXPECT_THAT(Told(std::string("at: ") + bad,
                     [](Fields& fields) { EXPECT_FALSE(fields.Time("at").has_value()); }),
                ElementsAre("f: document 1, line 1: spec.at: must be a time such as "
                            "2026-01-31T12:00:00Z, is \"" +
                            std::string(bad) + "\""));
  }
  EXPECT_THAT(Told("{}", [](Fields& fields) { EXPECT_FALSE(fields.Time("at").has_value()); }),
              IsEmpty());
}

TEST(FieldsTest, AnIntegerMayBeAtItsBounds) {
  const auto read = [](Fields& fields) { fields.Integer("n", Need::kOptional, 2, 5); };
  for (const char* good : {"n: 2", "n: 5"}) EXPECT_THAT(Told(good, read), IsEmpty());
  EXPECT_THAT(Told("n: 1", read),
              ElementsAre("f: document 1, line 1: spec.n: must be 2 to 5, is 1"));
  EXPECT_THAT(Told("n: 6", read),
              ElementsAre("f: document 1, line 1: spec.n: must be 2 to 5, is 6"));
  EXPECT_THAT(
      Told("n: 9223372036854775808", read),
      ElementsAre("f: document 1, line 1: spec.n: 9223372036854775808 does not fit a 64-bit "
                  "integer"));
  const auto read32 = [](Fields& fields) { fields.Integer32("n"); };
  EXPECT_THAT(Told("n: 2147483647", read32), IsEmpty());
  EXPECT_THAT(Told("n: 2147483648", read32),
              ElementsAre("f: document 1, line 1: spec.n: must be -2147483648 to 2147483647, is "
                          "2147483648"));
}

// Only a plain text can be meant as a string.
TEST(FieldsTest, WhatIsMeantAsAStringIsToBeQuoted) {
  const auto text = [](Fields& fields) { fields.String("s"); };
  EXPECT_THAT(Told("s: 8", text), ElementsAre("f: document 1, line 1: spec.s: must be a string, is "
                                              "the integer 8; write it in quotes: \"8\""));
  EXPECT_THAT(Told("s: 9223372036854775808", text),
              ElementsAre("f: document 1, line 1: spec.s: must be a string, is the integer "
                          "9223372036854775808; write it in quotes: \"9223372036854775808\""));
  for (const char* part : {"[a]", "{a: b}"}) {
    EXPECT_THAT(Told(std::string("s: ") + part, text),
                ElementsAre(::testing::Not(::testing::HasSubstr("quotes"))));
  }
  EXPECT_THAT(
      Told("n: x", [](Fields& fields) { fields.Integer("n"); }),
      ElementsAre("f: document 1, line 1: spec.n: must be an integer, is the string \"x\""));
}

TEST(FieldsTest, OnlyWhatIsRequiredMustNotBeEmpty) {
  for (const char* empty : {"s: \"\"", "s:"}) {
    EXPECT_THAT(Told(empty, [](Fields& fields) { fields.String("s", Need::kRequired); }),
                ElementsAre("f: document 1, line 1: spec.s: must not be empty"));
    EXPECT_THAT(Told(empty, [](Fields& fields) { fields.String("s"); }), IsEmpty());
  }
  EXPECT_THAT(Told("{}", [](Fields& fields) { fields.String("s", Need::kRequired); }),
              ElementsAre("f: document 1, line 1: spec.s: is missing"));
  EXPECT_THAT(
      Told("s: \"\"", [](Fields& fields) { fields.Id("s"); }),
      ElementsAre("f: document 1, line 1: spec.s: must be an id without `/`, `~` or spaces, "
                  "is \"\""));
}

TEST(FieldsTest, EachEntryOfAListOrMapIsAString) {
  const auto list = [](Fields& fields) { EXPECT_THAT(fields.Strings("l"), ElementsAre("a", "b")); };
  EXPECT_THAT(Told("l: [a, b]", list), IsEmpty());
  EXPECT_THAT(Told("l:\n- a\n- 1\n- b", list),
              ElementsAre("f: document 1, line 3: spec.l[1]: must be a string, is the integer 1"));
  const auto map = [](Fields& fields) {
    EXPECT_THAT(fields.StringMap("m"), ElementsAre(Pair("a", "b")));
  };
  EXPECT_THAT(Told("m: {a: b}", map), IsEmpty());
  EXPECT_THAT(
      Told("m: {a: b, c: true}", map),
      ElementsAre("f: document 1, line 1: spec.m[c]: must be a string, is the boolean true; "
                  "write it in quotes"));
  EXPECT_THAT(Told("m: {a: b, c: [d]}", map),
              ElementsAre("f: document 1, line 1: spec.m[c]: must be a string, is a list"));
  EXPECT_THAT(Told("m: {a: b, c: {d: e}}", map),
              ElementsAre("f: document 1, line 1: spec.m[c]: must be a string, is a mapping"));
}

TEST(FieldsTest, OfWhatIsNoMapItsFieldsAreNotMissed) {
  EXPECT_THAT(Told("[a]", [](Fields& fields) { fields.String("s", Need::kRequired); }),
              ElementsAre("f: document 1, line 1: spec: must be a mapping, is a list"));
}

TEST(ManifestTest, AQuotasOverridesAreRead) {
  const auto manifests = ParseManifests("f", R"(
apiVersion: muster/v1
kind: Quota
metadata: {}
spec:
  zone: US-EAST-04A
  instanceType: t
  limit: 4
  overrides:
  - {limit: 8, effectiveTime: 2026-01-31T12:00:00.5Z, expireTime: 2026-02-01T12:00:00Z, reason: x}
)",
                                        {.organization = "acme"});
  ASSERT_TRUE(manifests.ok()) << manifests.status();
  const auto& quota = std::get<quota::v1::Quota>(manifests->front().resource);
  ASSERT_EQ(quota.overrides_size(), 1);
  const quota::v1::LimitOverride& read = quota.overrides(0);
  EXPECT_EQ(read.limit(), 8);
  EXPECT_EQ(read.effective_time().seconds(), 1'769'860'800);
  EXPECT_EQ(read.effective_time().nanos(), 500'000'000);
  EXPECT_EQ(read.expire_time().seconds(), 1'769'947'200);
  EXPECT_EQ(read.reason(), "x");
  EXPECT_TRUE(manifests->front().says_overrides);
}

}  // namespace
}  // namespace muster::musterctl
