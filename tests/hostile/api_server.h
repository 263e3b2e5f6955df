#pragma once

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "services/common/mutex.h"

namespace muster::testing {

// A Kubernetes API server that means ill: it has a Lease for whoever wants it and nothing else, and
// sends what no client should take. Ends with this object.
class ApiServer {
 public:
  enum class Malice {
    kEndlessLine,  // every watch is one line that does not end
    kBrackets,     // every list is 200 MB of `[`
  };

  explicit ApiServer(Malice malice);
  ~ApiServer();
  std::string address() const;
  // Times that a client was sent that.
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
