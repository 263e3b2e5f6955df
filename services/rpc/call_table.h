#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "services/common/mutex.h"

namespace muster::rpc {

// A call that has not been answered. Owned by a shared_ptr.
class OpenCall : public std::enable_shared_from_this<OpenCall> {
 public:
  OpenCall() = default;
  OpenCall(const OpenCall&) = delete;
  OpenCall& operator=(const OpenCall&) = delete;
  virtual ~OpenCall() = default;

  // Answers with `status` unless somebody was quicker. Called without locks.
  virtual void Expire(const absl::Status& status) = 0;

 private:
  friend class CallTable;
  OpenCall* previous_ = nullptr;
  OpenCall* next_ = nullptr;
  int64_t tick_ = 0;
  bool listed_ = false;
};

// The unanswered calls of a server by deadline (NowForDeadlines); a thread answers those whose
// deadline has passed with DEADLINE_EXCEEDED, at most kDeadlineTick late. Add and Remove are cheap:
// one short lock, no allocation unless the tick is new. Thread-safe.
class CallTable {
 public:
  CallTable();
  // All calls must have been removed.
  ~CallTable();

  void Add(OpenCall* call, absl::Time deadline);
  // To be called before the call is answered, and before it is destroyed. Does nothing if it is not
  // there.
  void Remove(OpenCall* call);
  // Answers with `status` all calls that are there at `time`, and from then on all that come.
  void ExpireAllFrom(absl::Time time, absl::Status status);

 private:
  // The first call of each tick.
  using Ticks = std::map<int64_t, OpenCall*>;

  using Expired = std::vector<std::shared_ptr<OpenCall>>;

  void Run();
  // Takes out the calls whose time has come.
  Expired TakeExpired(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Waits until there may be something to take out.
  void WaitForNext(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Unlink(OpenCall* call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  CondVar wake_;
  Ticks ticks_ MUSTER_GUARDED_BY(mutex_);
  int64_t planned_ MUSTER_GUARDED_BY(mutex_) = INT64_MAX;  // the tick at which Run looks next
  absl::Time end_ MUSTER_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  absl::Status end_status_ MUSTER_GUARDED_BY(mutex_);
  bool stop_ MUSTER_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace muster::rpc
