#pragma once

#include <ostream>
#include <streambuf>
#include <string>

#include "absl/strings/string_view.h"

// What others wrote, on a terminal. A Node's agent, a Pod's name or an event's message may hold
// bytes that a terminal obeys: they could paint over what stands there, or forge lines of a table.
namespace muster::musterctl {

// With every control character (C0, DEL, C1; the ends of lines too) as `\uNNNN`, as JSON has them, so that JSON stays so.
std::string Printable(absl::string_view text);

// Passes on what is written to it, control characters but ends of lines and tabs as Printable has
// them: whatever a command prints, no terminal obeys it.
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
