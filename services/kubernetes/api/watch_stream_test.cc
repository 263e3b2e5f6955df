#include "services/kubernetes/api/watch_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"

namespace muster::kubernetes {
namespace {

using ::muster::testing::StatusIs;
using ::testing::ElementsAre;

// What comes out, e.g. `ADDED a`; an error as `error`.
void Drain(WatchStream& stream, std::vector<std::string>& out) {
  while (const auto event = stream.Next()) {
    if (!event->ok()) {
      out.push_back("error");
      continue;
    }
    out.push_back(
        absl::StrCat((*event)->type, " ", (*event)->object.value("name", std::string("?"))));
  }
}

constexpr absl::string_view kEvents = R"({"type":"ADDED","object":{"name":"a\n{}"}})"
                                      "\n"
                                      R"({"type":"MODIFIED","object":{"name":"ü"}})"
                                      "\r\n\n"
                                      R"({"type":"DELETED","object":{}})"
                                      "\n";

TEST(WatchStreamTest, PutsEventsTogetherSplitAnywhere) {
  for (size_t first = 0; first <= kEvents.size(); ++first) {
    for (size_t second = first; second <= kEvents.size(); ++second) {
      WatchStream stream;
      std::vector<std::string> out;
      for (const absl::string_view part :
           {kEvents.substr(0, first), kEvents.substr(first, second - first),
            kEvents.substr(second)}) {
        stream.Append(part);
        Drain(stream, out);
      }
      ASSERT_THAT(out, ElementsAre("ADDED a\n{}", "MODIFIED ü", "DELETED ?"))
          << first << " " << second;
      ASSERT_TRUE(stream.whole());
    }
  }
}

TEST(WatchStreamTest, KnowsWhenItIsWhole) {
  WatchStream stream;
  std::vector<std::string> out;
  EXPECT_TRUE(stream.whole());
  stream.Append(kEvents.substr(0, kEvents.size() - 1));
  Drain(stream, out);
  EXPECT_EQ(out.size(), 2u);
  EXPECT_FALSE(stream.whole());
  stream.Append("\n \n");
  Drain(stream, out);
  EXPECT_EQ(out.size(), 3u);
  stream.Append(" ");
  EXPECT_TRUE(stream.whole());
}

TEST(WatchStreamTest, WhatIsNoEventIsAnError) {
  for (const char* line : {"x", "{}", "7", "[]", R"({"type":"ADDED"})", R"({"object":{}})",
                           R"({"type":1,"object":{}})", R"({"type":"ADDED","object":[]})",
                           R"({"type":"ADDED","object":{}} x)"}) {
    WatchStream stream;
    stream.Append(absl::StrCat(line, "\n"));
    const auto event = stream.Next();
    ASSERT_TRUE(event.has_value()) << line;
    EXPECT_THAT(event->status(), StatusIs(absl::StatusCode::kUnknown)) << line;
  }
}

TEST(WatchStreamTest, ALineWithoutAnEndIsNotKept) {
  WatchStream stream;
  const std::string part(size_t{1} << 20, 'x');
  std::vector<std::string> out;
  for (size_t bytes = 0; bytes < kMaxEventBytes; bytes += part.size()) {
    stream.Append(part);
    Drain(stream, out);
  }
  EXPECT_TRUE(out.empty());
  stream.Append("x");
  const auto event = stream.Next();
  ASSERT_TRUE(event.has_value());
  EXPECT_THAT(event->status(), StatusIs(absl::StatusCode::kUnknown,
                                        ::testing::HasSubstr("of more than 16777216 bytes")));
}

TEST(WatchStreamTest, AnEventOfNothingButBracketsIsNone) {
  WatchStream stream;
  stream.Append(
      absl::StrCat(R"({"type":"ADDED","object":{"a":)", std::string(1'000'000, '['), "\n"));
  std::vector<std::string> out;
  Drain(stream, out);
  EXPECT_THAT(out, ElementsAre("error"));
}

}  // namespace
}  // namespace muster::kubernetes
