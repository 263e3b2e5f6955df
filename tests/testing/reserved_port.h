#pragma once

#include <cstdint>

namespace muster::testing {

// A port of 127.0.0.1 for a server of a test that stops and comes back: for the life of this object no other ReservedPort of this
// machine is the same, and none of what takes any free port is given it, because it is outside the range of those.
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
