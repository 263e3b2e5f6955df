#pragma once

#include <cstdint>
#include <thread>

#include "absl/random/random.h"
#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "services/kubernetes/muster_client.h"
#include "services/kubernetes/muster_view.h"

namespace muster::kubernetes {

// Keeps a view level with Muster: a snapshot, then changes; a broken stream goes on from the last
// revision, or with a snapshot where that is gone. What fails is tried again with growing, jittered
// pauses.
class MusterWatch {
 public:
  // Both must outlive it. Call MusterClient::Stop before Stop.
  MusterWatch(MusterClient* client, MusterView* view);
  ~MusterWatch();

  void Start();
  // Idempotent.
  void Stop();

 private:
  void Run();
  // How many messages came.
  int64_t WatchOnce(absl::Status& status);
  // False: stopped meanwhile.
  bool Pause(absl::Duration& pause);

  MusterClient& client_;
  MusterView& view_;
  rpc::ResumePoint resume_;  // its thread's
  absl::BitGen random_;
  Mutex mutex_;
  CondVar changed_;
  bool stopped_ MUSTER_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace muster::kubernetes
