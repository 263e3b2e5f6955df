#pragma once

#include "absl/time/time.h"

namespace muster::storage {

// A socket from which an answer is to come; -1: none.
struct AwaitedSocket {
  int fd = -1;
  bool unsent = false;  // and by which more is to be sent as soon as it takes it
};
struct SocketEvents {
  bool readable = false;  // or at its end
  bool writable = false;
};

// What a thread sleeps on that waits for others of its process and for a socket at once.
class Wakeup {
 public:
  Wakeup();
  ~Wakeup();
  Wakeup(const Wakeup&) = delete;
  Wakeup& operator=(const Wakeup&) = delete;

  // Wakes who waits, or the next that will. Any thread.
  void Signal();
  // Until Signal was called, something that is awaited happens to `socket`, or `longest` has passed.
  SocketEvents Wait(AwaitedSocket socket, absl::Duration longest);

 private:
  const int event_;
};

// What of it is so now.
SocketEvents EventsOf(AwaitedSocket socket);
// Whether `socket` is readable or at its end now.
bool IsReadable(int socket);

}  // namespace muster::storage
