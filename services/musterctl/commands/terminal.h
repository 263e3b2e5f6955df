#pragma once

#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::musterctl {

enum class Key { kQuit, kUp, kDown, kPageUp, kPageDown, kHome, kEnd, kRedraw };

// The terminal that somebody looks at.
class Terminal {
 public:
  struct Size {
    size_t width = 80;
    size_t height = 24;
  };

  virtual ~Terminal() = default;

  virtual Size size() const = 0;
  // From now on: a screen of its own, keys as they are pressed and unseen. Until Leave, which gives
  // the terminal back as it was. Both idempotent.
  virtual void Enter() = 0;
  virtual void Leave() = 0;
  // Keys that were pressed, waiting at most so long. kQuit also when the process was asked to end,
  // kRedraw when the size changed.
  virtual std::vector<Key> Await(absl::Duration patience) = 0;
};

// What bytes of a terminal mean: letters as in `less`, arrows as VT100 and xterm send them. Others
// mean nothing.
std::vector<Key> KeysOf(absl::string_view bytes);

}  // namespace muster::musterctl
