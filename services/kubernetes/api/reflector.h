#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/backoff.h"
#include "services/common/mutex.h"
#include "services/common/stopper.h"
#include "services/kubernetes/api/client.h"

namespace muster::kubernetes {

// Receives the objects of a collection. Called by one thread.
class Sink {
 public:
  virtual ~Sink() = default;
  // Between BeginList and EndList every object there is arrives by PutListed; objects that did not
  // are gone, unless they are later than the list. BeginList again without an EndList: the list
  // failed, and another one begins.
  virtual void BeginList() = 0;
  // Called after BeginList if the server was restored to an earlier state: until EndList the
  // versions of known objects prove nothing about what comes.
  virtual void BeginAnew() {}
  virtual void PutListed(const Json& object) = 0;
  virtual void EndList(const std::string& version) = 0;
  // The object as it is now, or was a moment ago: repeats and steps back in time do happen.
  virtual void Put(const Json& object) = 0;
  virtual void Remove(const Json& last_state) = 0;
};

struct ReflectorOptions {
  std::string path = {};       // of the collection
  Parameters parameters = {};  // e.g. a label selector
  absl::Duration first_retry = absl::Milliseconds(200);
  absl::Duration last_retry = absl::Seconds(30);
  // Whether the server is the one that is meant; asked before and after every list, and before
  // every watch. Not OK: that list or watch fails, and the sink gets no EndList.
  std::function<absl::Status()> confirm = {};
  // A list that is older than what was seen is tried again, for so long. After that it is taken for
  // what the server has: the server was restored to an earlier state.
  absl::Duration believe_older_after = absl::Seconds(30);
};

// Keeps a sink level with a collection: list, watch from there, resume where a watch ended, list
// again when the server says that the resume point is gone (410). What fails is tried again with
// growing, jittered pauses (429: at least what the server asks for).
class Reflector {
 public:
  // `client` and `sink` must outlive it. Call Client::Stop before Stop, or it waits for the stream.
  Reflector(Client* client, ReflectorOptions options, Sink* sink);
  ~Reflector();

  // Its thread begins to work.
  void Start();
  // Ends it. Idempotent.
  void Stop();
  // Listed at least once. Thread-safe.
  bool synced() const;
  // How often it listed. Thread-safe.
  int64_t lists() const;

 private:
  void Run();
  absl::Status Confirm() const;
  absl::Status ListOnce();
  // Whether a list of that version shows what the server has.
  absl::Status CheckAge(const std::string& version);
  absl::Status WatchOnce();

  Client& client_;
  const ReflectorOptions options_;
  Sink& sink_;
  // Used by its thread alone.
  std::string resource_version_;  // empty: list
  std::string newest_;            // newest version that was seen
  std::optional<absl::Duration>
      older_since_;  // since when lists are older than newest_; steady clock
  Backoff backoff_;
  Stopper stopper_;
  mutable Mutex mutex_;
  int64_t lists_ MUSTER_GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

}  // namespace muster::kubernetes
