#pragma once

#include <ostream>
#include <streambuf>
#include <string>

#include "absl/strings/string_view.h"

// What others wrote, on a terminal. A Node's agent, a Pod's name or an event's message may hold
// bytes that a terminal obeys: they could paint over what stands there, or forge lines of a table.
namespace muster::musterctl {

// With every control character (C0, DEL, C1; the ends of lines too) as `\\xNN`.
std::string Printable(absl::string_view text);

// Passes on what is written to it, control characters but ends of lines and tabs as Printable has
// them: whatever a command prints, no terminal obeys it.
class PrintableStream : private std::streambuf, public std::ostream {
 public:
  explicit PrintableStream(std::ostream& out) : std::ostream(this), out_(out) {}

 private:
  int_type overflow(int_type byte) override;
  std::streamsize xsputn(const char* bytes, std::streamsize count) override;
  int sync() override;

  std::ostream& out_;
  bool c1_ = false;  // 0xC2 was read, the first byte of a C1 character and of others
};

}  // namespace muster::musterctl
