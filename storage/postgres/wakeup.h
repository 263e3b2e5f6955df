#pragma once

#include "absl/time/time.h"

namespace muster::storage {

// A socket from which an answer is to come.
struct AwaitedSocket {
  int fd = -1;          // -1: none
  bool unsent = false;  // more is to be sent through it as soon as it takes it: `writable` matters
};
struct SocketEvents {
  bool readable = false;  // or at its end
  bool writable = false;
};

// Lets a thread wait for other threads and for a socket at once.
class Wakeup {
 public:
  Wakeup();
  ~Wakeup();
  Wakeup(const Wakeup&) = delete;
  Wakeup& operator=(const Wakeup&) = delete;

  // Ends the present Wait, or else the next one. Any thread.
  void Signal();
  // Waits until Signal is called, `socket` is readable (or writable, if awaited), or `longest` has
  // passed. Returns what `socket` is then.
  SocketEvents Wait(AwaitedSocket socket, absl::Duration longest);

 private:
  const int event_;
};

// What `socket` is now, without waiting.
SocketEvents EventsOf(AwaitedSocket socket);
// Whether `socket` is readable or at its end now.
bool IsReadable(int socket);

}  // namespace muster::storage
