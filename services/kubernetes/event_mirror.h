#pragma once

#include <functional>
#include <string>
#include <thread>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "muster/lifecycle/v1/lifecycle.pb.h"
#include "services/common/mutex.h"
#include "services/kubernetes/api/client.h"
#include "services/kubernetes/core/event.h"
#include "services/kubernetes/metrics.h"

namespace muster::kubernetes {

// Shows Muster's events as events.k8s.io/v1, oldest first, no more than so many a minute: what
// comes faster waits, and repeats of what waits are one write. An event that waits for longer than
// the API server keeps events is dropped. What an earlier process wrote is found again, and not
// written twice. Thread-safe.
class EventMirror {
 public:
  struct Options {
    std::string instance = {};  // which replica
    Edition edition = Edition::kCurrent;
    int a_minute = 1000;                   // writes, at least 1
    absl::Duration keep = absl::Hours(1);  // as the API server's --event-ttl
    std::function<std::string(const std::string& machine)> node_uid = {};  // empty: not known
  };

  EventMirror(Client* api, Metrics* metrics, Options options);
  ~EventMirror();

  // As Muster shows it.
  void Put(const lifecycle::v1::Event& event);
  // An event of the adapter's own about a NodePool, now.
  void Tell(const NodePoolObject& object, absl::string_view type, absl::string_view reason,
            absl::string_view message);
  // Likewise about a v1 Node, by its name.
  void TellOfNode(const std::string& node, absl::string_view type, absl::string_view reason,
                  absl::string_view message);
  // Told before with the same message, it is not told again.
  void TellOfNodeOnce(const std::string& node, absl::string_view type, absl::string_view reason,
                      absl::string_view message);

  // Looks up what is there already, then writes.
  void Start();
  // Call Client::Stop before. Idempotent.
  void Stop();

 private:
  using Key = std::pair<absl::Time, std::string>;  // last time, resource name

  struct Written {
    int64_t count = 0;
    absl::Time last_time = absl::InfinitePast();
  };

  // `id`: what tells it from other events about the object.
  void TellNow(lifecycle::v1::Event event, const std::string& id, absl::string_view type,
               absl::string_view reason, absl::string_view message);
  void Run();
  absl::Status FindWritten();
  // The oldest that is to be written; false: stopped.
  bool Take(lifecycle::v1::Event& event);
  absl::Status Write(const lifecycle::v1::Event& event);
  void Forget(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // False: stopped meanwhile.
  bool Sleep(absl::Duration time);

  Client& api_;
  Metrics& metrics_;
  const Options options_;
  double tokens_ = 0;  // writes that may be made at once; its thread's
  absl::Time tokens_time_ = absl::InfinitePast();
  Mutex mutex_;
  CondVar changed_;
  bool stopped_ MUSTER_GUARDED_BY(mutex_) = false;
  absl::btree_map<Key, lifecycle::v1::Event> waiting_ MUSTER_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, absl::Time> waiting_since_
      MUSTER_GUARDED_BY(mutex_);                                                 // resource name
  absl::flat_hash_map<std::string, Written> written_ MUSTER_GUARDED_BY(mutex_);  // object's name
  std::thread thread_;
};

}  // namespace muster::kubernetes
