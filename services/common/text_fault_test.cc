#include "services/common/text_fault.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(FindTextFault, TextHasNone) {
  for (const char* text : {"", "a\n\tb\r\n", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80",
                           "\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbd", "\xf0\x90\x80\x80",
                           "\xf4\x8f\xbf\xbf", "Zürich: 東京\n", "\xef\xbb\xbf with a mark"})
    EXPECT_FALSE(FindTextFault(text).has_value()) << text;
}

TEST(FindTextFault, WhatIsNoCharacterIsFoundInItsLine) {
  for (const char* bad : {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2 ", "\xe0\x9f\xbf",
                          "\xe2\x82", "\xe2\x82 ", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
                          "\xf0\x90\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xfe", "\xff"}) {
    const auto fault = FindTextFault(std::string("a: b\nc: ") + bad);
    ASSERT_TRUE(fault.has_value()) << bad;
    EXPECT_EQ(fault->what, "is not UTF-8 text");
    EXPECT_EQ(fault->line, 2);
  }
}

TEST(FindTextFault, NorIsAZeroByteText) {
  const auto fault = FindTextFault(absl::string_view("a\n\nb\0", 5));
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->what, "has a zero byte");
  EXPECT_EQ(fault->line, 3);
}

}  // namespace
}  // namespace muster
