#pragma once

#include <grpcpp/security/credentials.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/time/time.h"
#include "services/common/stopper.h"

namespace muster::rpc {

// Checks, as a client would, whether a listener of this process still takes connections.
//
// Debian's gRPC 1.51 stops to listen, for good and without a word to us, when accept() finds no
// file descriptor left (CVE-2023-4785): the port stays open, health stays SERVING, and nobody is
// answered. A process like that is better ended, and started anew by whoever watches over it.
class ListenerWatch {
 public:
  struct Options {
    std::string address = {};                                    // `127.0.0.1:7600`
    std::shared_ptr<grpc::ChannelCredentials> credentials = {};  // null: plain text
    absl::Duration interval = absl::Seconds(2);
    absl::Duration patience = absl::Seconds(5);  // with one connection
    int failures_to_tell = 3;                    // in a row
    // Whether a failure may have another reason than a dead listener, so that it does not count.
    // Null: never.
    std::function<bool()> excused = {};
    // Called once, from the watch's thread, with what is wrong.
    std::function<void(const std::string& what)> on_dead = {};
  };

  explicit ListenerWatch(Options options);
  // Ends at once, also in the middle of a look.
  ~ListenerWatch();

  // One look: connects and waits for HTTP/2's first frame, which comes from the threads of gRPC
  // however busy the handlers are. Empty: it answers; else what is wrong. `stopped` is looked at
  // every 100 ms.
  static std::string Look(const std::string& address,
                          const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                          absl::Duration patience, const std::function<bool()>& stopped);

 private:
  void Run();

  const Options options_;
  Stopper stopper_;
  std::thread thread_;
};

}  // namespace muster::rpc
