#include "services/musterctl/manifest/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace muster::musterctl {
namespace {

using ::testing::StartsWith;
using Type = Value::Type;

Value Read(absl::string_view text) {
  const auto documents = ParseDocuments("f.yaml", absl::StrCat("a: ", text, "\n"));
  EXPECT_TRUE(documents.ok()) << text << documents.status();
  if (!documents.ok() || documents->size() != 1) return {};
  const Value* value = documents->front().value.Find("a");
  EXPECT_NE(value, nullptr) << text;
  return value == nullptr ? Value() : *value;
}

// "Types as in YAML 1.2: a plain `true` is a boolean, a plain `8` an integer, everything quoted a
// string; `yes` and `010` are strings."
TEST(DocumentTest, PlainTextsHaveTheTypesOfYaml12) {
  const std::vector<std::pair<Type, std::vector<const char*>>> kTable = {
      {Type::kNull, {"", "~", "null", "Null", "NULL"}},
      {Type::kBool, {"true", "True", "TRUE", "false", "False", "FALSE"}},
      {Type::kInteger, {"0", "8", "+8", "-8", "9223372036854775807", "-9223372036854775808"}},
      {Type::kHugeInteger, {"9223372036854775808", "-9223372036854775809"}},
      {Type::kNumber, {"1.5", "-1.5", "0.5", "1e3", "0e3", "0.0", ".5", "1.5E+3"}},
      {Type::kString, {"yes",   "no",    "on",    "010",    "00",   "007.5",   "0E1",       "1_000",
                       "12:30", "1.2.3", "0x1f",  "e",      "+",    "-a",      "tRUE",      "nULL",
                       "nan",   "1.5f",  "\"8\"", "'true'", "\"\"", "!!str 8", "!!str true"}},
  };
  for (const auto& [type, texts] : kTable) {
    for (const char* text : texts) EXPECT_EQ(Read(text).type, type) << text;
  }
  for (const char* text : {"true", "True", "TRUE"}) EXPECT_TRUE(Read(text).boolean) << text;
  for (const char* text : {"false", "False", "FALSE"}) EXPECT_FALSE(Read(text).boolean) << text;
  EXPECT_EQ(Read("-8").integer, -8);
  EXPECT_EQ(Read("+8").integer, 8);
}

// Empty ones count, whatever ends their lines and stands before them.
TEST(DocumentTest, AFaultNamesItsDocumentAndLine) {
  const auto fault = [](absl::string_view text) {
    return std::string(ParseDocuments("f", text).status().message());
  };
  constexpr char kTwice[] = "b: 1\nb: 2\n";
  const auto after = [&](absl::string_view text) { return fault(absl::StrCat(text, kTwice)); };
  EXPECT_THAT(after("a: 1\n---\n"), StartsWith("f: document 2, line 4: "));
  EXPECT_THAT(after("a: 1\r\n---\r\n"), StartsWith("f: document 2, line 4: "));
  EXPECT_THAT(after("a: 1\n--- \n"), StartsWith("f: document 2, line 4: "));
  EXPECT_THAT(after("a: 1\n---\t# next\n"), StartsWith("f: document 2, line 4: "));
  EXPECT_THAT(after("a: 1\n---\n---\n"), StartsWith("f: document 3, line 5: "));
  EXPECT_THAT(after("---\n"), StartsWith("f: document 1, line 3: "));
  EXPECT_THAT(after("# a comment\n  \n---\n"), StartsWith("f: document 1, line 5: "));
  EXPECT_THAT(after("%YAML 1.2\n---\n"), StartsWith("f: document 1, line 4: "));
  EXPECT_THAT(after("a: 1\n...\n# of the next\n%YAML 1.2\n---\n"),
              StartsWith("f: document 2, line 7: "));
  EXPECT_THAT(after("a: |\n  ---x\n---\n"), StartsWith("f: document 2, line 5: "));
  EXPECT_THAT(fault("a: 1\n---\nb: {[c]: 1}\n"), StartsWith("f: document 2, line 3: a key must"));
}

TEST(DocumentTest, WhatIsEmptyIsLeftOutAndCounts) {
  const auto documents = ParseDocuments("f", "a: 1\n---\n# nothing\n---\nb: 2");
  ASSERT_TRUE(documents.ok());
  ASSERT_EQ(documents->size(), 2u);
  EXPECT_EQ(documents->at(0).number, 1);
  EXPECT_EQ(documents->at(1).number, 3);
  EXPECT_EQ(documents->at(1).value.Find("b")->line, 5);
  EXPECT_EQ(documents->at(1).value.Find("a"), nullptr);
}

TEST(DocumentTest, IsNestedSoDeepAndNoDeeper) {
  const auto nested = [](int deep) {
    return ParseDocuments("f", absl::StrCat(std::string(static_cast<size_t>(deep), '['),
                                            std::string(static_cast<size_t>(deep), ']')));
  };
  EXPECT_TRUE(nested(kMaxDepth).ok());
  EXPECT_THAT(std::string(nested(kMaxDepth + 2).status().message()),
              StartsWith("f: document 1, line 1: nested deeper than 64"));
}

}  // namespace
}  // namespace muster::musterctl
