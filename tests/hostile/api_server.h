#pragma once

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "services/common/mutex.h"

namespace muster::testing {

// A hostile Kubernetes API server: it grants a Lease to every client, has nothing else, and sends
// what no client should accept. Stopped by the destructor.
class ApiServer {
 public:
  enum class Malice {
    kEndlessLine,  // every watch is one line that does not end
    kBrackets,     // every list is 200 MB of `[`
  };

  explicit ApiServer(Malice malice);
  ~ApiServer();
  std::string address() const;
  // How often a client was attacked so.
  int attacked() const { return attacked_; }

 private:
  void Accept();
  void Serve(int client);
  // One request. False: the connection is to be closed.
  bool Answer(int client, const std::string& head, const std::string& body);
  void Attack(int client);

  const Malice malice_;
  const int listener_;
  std::atomic<bool> stopped_ = false;
  std::atomic<int> attacked_ = 0;
  Mutex mutex_;
  std::string lease_ MUSTER_GUARDED_BY(mutex_);
  std::vector<int> clients_ MUSTER_GUARDED_BY(mutex_);
  std::vector<std::thread> serving_ MUSTER_GUARDED_BY(mutex_);
  std::thread accepting_;
};

}  // namespace muster::testing
