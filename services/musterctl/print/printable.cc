#include "services/musterctl/print/printable.h"

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace muster::musterctl {
namespace {

constexpr unsigned char kC1Lead = 0xC2;

// Turn the direction of what follows them in the line, be it of another cell.
constexpr std::array<std::pair<absl::string_view, absl::string_view>, 9> kTurns = {
    {{"\xe2\x80\xaa", "\\u202a"},
     {"\xe2\x80\xab", "\\u202b"},
     {"\xe2\x80\xac", "\\u202c"},
     {"\xe2\x80\xad", "\\u202d"},
     {"\xe2\x80\xae", "\\u202e"},
     {"\xe2\x81\xa6", "\\u2066"},
     {"\xe2\x81\xa7", "\\u2067"},
     {"\xe2\x81\xa8", "\\u2068"},
     {"\xe2\x81\xa9", "\\u2069"}}};

bool IsControl(unsigned char byte) { return byte < 0x20 || byte == 0x7F; }
bool IsC1Tail(unsigned char byte) { return byte >= 0x80 && byte <= 0x9F; }

std::string Shown(unsigned char byte) {
  return absl::StrCat("\\u", absl::Hex(byte, absl::kZeroPad4));
}

// `lead`: a kC1Lead was held back before.
void AppendByte(unsigned char byte, bool keep_layout, bool& lead, std::string& out) {
  if (lead) {
    lead = false;
    if (IsC1Tail(byte)) {
      out += Shown(byte);
      return;
    }
    out += static_cast<char>(kC1Lead);
  }
  if (byte == kC1Lead) {
    lead = true;
  } else if (IsControl(byte) && !(keep_layout && (byte == '\n' || byte == '\t'))) {
    out += Shown(byte);
  } else {
    out += static_cast<char>(byte);
  }
}

}  // namespace

std::string Printable(absl::string_view text) {
  std::string out;
  bool lead = false;
  for (const char c : text) AppendByte(static_cast<unsigned char>(c), false, lead, out);
  if (lead) out += static_cast<char>(kC1Lead);
  return absl::StrReplaceAll(out, kTurns);
}

PrintableBuffer::int_type PrintableBuffer::overflow(int_type byte) {
  if (traits_type::eq_int_type(byte, traits_type::eof())) return traits_type::not_eof(byte);
  const char c = traits_type::to_char_type(byte);
  return xsputn(&c, 1) == 1 ? byte : traits_type::eof();
}

std::streamsize PrintableBuffer::xsputn(const char* bytes, std::streamsize count) {
  std::string out;
  for (std::streamsize i = 0; i < count; ++i)
    AppendByte(static_cast<unsigned char>(bytes[i]), true, c1_, out);
  shown_ << out;
  return shown_ ? count : 0;
}

int PrintableBuffer::sync() { return shown_.flush() ? 0 : -1; }

}  // namespace muster::musterctl
