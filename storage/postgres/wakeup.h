#pragma once

#include "absl/time/time.h"

namespace muster::storage {

// What a thread sleeps on that waits for others of its process and for a socket at once.
class Wakeup {
 public:
  Wakeup();
  ~Wakeup();
  Wakeup(const Wakeup&) = delete;
  Wakeup& operator=(const Wakeup&) = delete;

  // Wakes who waits, or the next that will. Any thread.
  void Signal();
  // Until Signal was called, `socket` (unless it is -1) is readable or at its end, or `longest` has
  // passed. Whether `socket` is.
  bool Wait(int socket, absl::Duration longest);

 private:
  const int event_;
};

// Whether `socket` is readable or at its end now.
bool IsReadable(int socket);

}  // namespace muster::storage
