#pragma once

#include <cstdint>

namespace muster::testing {

// A port of 127.0.0.1 for a test's server that stops and comes back. For the life of this object no
// other ReservedPort on this machine has the same number, and no program that asks for any free
// port gets it: it is outside the range of those.
class ReservedPort {
 public:
  // Throws std::runtime_error if none is free.
  ReservedPort();
  ~ReservedPort();
  ReservedPort(const ReservedPort&) = delete;
  ReservedPort& operator=(const ReservedPort&) = delete;

  uint16_t number() const { return number_; }

 private:
  uint16_t number_ = 0;
  int mark_ = -1;  // a socket bound to the same port of 127.0.0.2, which is what others see
};

}  // namespace muster::testing
