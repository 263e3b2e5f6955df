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

// Who is told of the objects of a collection. Called by one thread.
class Sink {
 public:
  virtual ~Sink() = default;
  // Between the two every object there is arrives by PutListed; others, unless they are later than
  // the list, are gone. BeginList again without an EndList: that list failed, another one begins.
  virtual void BeginList() = 0;
  // The server's past was restored: versions of objects that are known prove nothing for what comes
  // until EndList. After BeginList.
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
  // every watch. Not OK: nothing that came is believed to be all there is.
  std::function<absl::Status()> confirm = {};
  // A list that is older than what was seen is listed again; for so long. Then it is what the
  // server has.
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
  // Its thread's.
  std::string resource_version_;               // empty: list
  std::string newest_;                         // that was seen
  std::optional<absl::Duration> older_since_;  // of a steady clock: lists are older than that
  Backoff backoff_;
  Stopper stopper_;
  mutable Mutex mutex_;
  int64_t lists_ MUSTER_GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

}  // namespace muster::kubernetes
