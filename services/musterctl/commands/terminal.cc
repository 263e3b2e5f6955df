#include "services/musterctl/commands/terminal.h"

#include <utility>

#include "absl/strings/strip.h"

namespace muster::musterctl {
namespace {

// A sequence that begins another one stands after it: the first match counts.
constexpr std::pair<absl::string_view, Key> kKeys[] = {
    {"\x1b[A", Key::kUp},        {"\x1bOA", Key::kUp},     {"k", Key::kUp},
    {"\x1b[B", Key::kDown},      {"\x1bOB", Key::kDown},   {"j", Key::kDown},
    {"\x1b[5~", Key::kPageUp},   {"\x02", Key::kPageUp},   {"b", Key::kPageUp},
    {"\x1b[6~", Key::kPageDown}, {"\x06", Key::kPageDown}, {" ", Key::kPageDown},
    {"\x1b[H", Key::kHome},      {"\x1bOH", Key::kHome},   {"g", Key::kHome},
    {"\x1b[F", Key::kEnd},       {"\x1bOF", Key::kEnd},    {"G", Key::kEnd},
    {"\x0c", Key::kRedraw},      {"q", Key::kQuit},        {"Q", Key::kQuit},
    {"\x03", Key::kQuit},
};

// Another key's sequence, which is to be skipped as a whole: `ESC [ parameters letter`.
size_t LengthOfOther(absl::string_view bytes) {
  if (bytes.size() < 2 || bytes[0] != '\x1b' || (bytes[1] != '[' && bytes[1] != 'O')) return 1;
  size_t length = 2;
  while (length < bytes.size() && bytes[length] >= '0' && bytes[length] <= '?') ++length;
  return length + (length < bytes.size() ? 1 : 0);
}

}  // namespace

std::vector<Key> KeysOf(absl::string_view bytes) {
  std::vector<Key> keys;
  while (!bytes.empty()) {
    bool known = false;
    for (const auto& [sequence, key] : kKeys) {
      known = absl::ConsumePrefix(&bytes, sequence);
      if (!known) continue;
      keys.push_back(key);
      break;
    }
    if (!known) bytes.remove_prefix(LengthOfOther(bytes));
  }
  return keys;
}

}  // namespace muster::musterctl
