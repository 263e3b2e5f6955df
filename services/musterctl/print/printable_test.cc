#include "services/musterctl/print/printable.h"

#include <gtest/gtest.h>

#include <sstream>

#include "services/musterctl/print/table.h"

namespace muster::musterctl {
namespace {

TEST(Printable, NoControlCharacterIsLeft) {
  EXPECT_EQ(Printable("a\x1b[2J\r\nb\x7f\tc"), "a\\u001b[2J\\u000d\\u000ab\\u007f\\u0009c");
  EXPECT_EQ(Printable("\xc2\x9b"), "\\u009b") << "CSI of eight bits";
  EXPECT_EQ(Printable("g\xc3\xbcnstig \xc2\xa7 \xe2\x9c\x93"),
            "g\xc3\xbcnstig \xc2\xa7 \xe2\x9c\x93");
}

// What stands behind them in the line would read backwards.
TEST(Printable, NothingTurnsTheDirectionOfText) {
  EXPECT_EQ(Printable("a\xe2\x80\xae gnp\xe2\x81\xa9"), "a\\u202e gnp\\u2069");
  EXPECT_EQ(Printable("\xd7\xa9\xd7\x9c\xe2\x80\x8f"), "\xd7\xa9\xd7\x9c\xe2\x80\x8f")
      << "marks do not";
}

TEST(Printable, AStreamKeepsItsLines) {
  std::ostringstream out;
  PrintableBuffer buffer(out);
  std::ostream stream(&buffer);
  stream << "one\ttwo\n\x1b]0;title\x07" << '\r' << "\xc2"
         << "\x9b"
         << "\xc2"
         << "\xa7" << 7 << std::endl;
  EXPECT_EQ(out.str(),
            "one\ttwo\n\\u001b]0;title\\u0007\\u000d\\u009b\xc2\xa7"
            "7\n");
}

TEST(Printable, ACellOfATableForgesNoLine) {
  EXPECT_EQ(TablePrinter({"NAME", "MESSAGE"}).Print({{"a", "broken\nb   healthy"}}),
            "NAME   MESSAGE\na      broken\\u000ab   healthy\n");
}

}  // namespace
}  // namespace muster::musterctl
