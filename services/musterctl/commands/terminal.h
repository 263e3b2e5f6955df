#pragma once

#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::musterctl {

enum class Key { kQuit, kUp, kDown, kPageUp, kPageDown, kHome, kEnd, kRedraw };

// The terminal of the user who looks at `top`.
class Terminal {
 public:
  struct Size {
    size_t width = 80;
    size_t height = 24;
  };

  virtual ~Terminal() = default;

  virtual Size size() const = 0;
  // From Enter to Leave the terminal shows a screen of its own, and keys come as they are pressed,
  // without echo. Leave restores it as it was. Both idempotent.
  virtual void Enter() = 0;
  virtual void Leave() = 0;
  // The keys that were pressed; waits for one at most `patience`. kQuit also when the process is
  // asked to end, kRedraw when the size changed.
  virtual std::vector<Key> Await(absl::Duration patience) = 0;
};

// The keys that bytes of a terminal stand for: letters as in `less`, arrows as VT100 and xterm send
// them. Other bytes are skipped.
std::vector<Key> KeysOf(absl::string_view bytes);

}  // namespace muster::musterctl
