#pragma once

#include <ostream>
#include <streambuf>
#include <string>

#include "absl/strings/string_view.h"

// Makes text that others wrote safe for a terminal. What an agent reports, a Pod's name or an
// event's message may contain control characters, which could overwrite the screen or forge lines
// of a table.
namespace muster::musterctl {

// The text with every control character (C0, DEL, C1; also newlines, and those that turn the
// direction of text) as `\uNNNN`. JSON has the same escapes, so JSON stays valid.
std::string Printable(absl::string_view text);

// Passes on what is written to it with the control characters C0, DEL and C1, except newlines and
// tabs, escaped as by Printable: whatever a command prints is harmless on a terminal.
//
//   PrintableBuffer buffer(std::cout);
//   std::ostream out(&buffer);
class PrintableBuffer final : public std::streambuf {
 public:
  // `shown` must outlive it.
  explicit PrintableBuffer(std::ostream& shown) : shown_(shown) {}

 private:
  int_type overflow(int_type byte) override;
  std::streamsize xsputn(const char* bytes, std::streamsize count) override;
  int sync() override;

  std::ostream& shown_;
  bool c1_ = false;  // 0xC2 was read, the first byte of a C1 character and of others
};

}  // namespace muster::musterctl
