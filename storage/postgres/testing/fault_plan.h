#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "services/common/mutex.h"
#include "storage/postgres/fault.h"
#include "tests/testing/sql.h"

namespace muster::storage {

// How a call of the database can fail. All happen in Postgres itself.
enum class FaultKind {
  kError,            // refused before it did anything, with an error that nobody expects
  kDoneThenTimeout,  // done, and reported as timed out
  kDoneThenLost,     // done, and the connection breaks
  kDeadlock,
  kSerialization,
  kLost,      // the connection breaks before it
  kReadOnly,  // from here on the server takes no writes in this session
};
inline constexpr std::array kFaultKinds = {FaultKind::kError,         FaultKind::kDoneThenTimeout,
                                           FaultKind::kDoneThenLost,  FaultKind::kDeadlock,
                                           FaultKind::kSerialization, FaultKind::kLost,
                                           FaultKind::kReadOnly};

inline std::string RaiseSql(absl::string_view sqlstate) {
  return absl::StrCat("DO $$BEGIN RAISE EXCEPTION 'injected' USING ERRCODE = '", sqlstate,
                      "'; END$$;");
}

inline Fault FaultOf(FaultKind kind) {
  switch (kind) {
    case FaultKind::kError:
      return {.before = RaiseSql("XX000")};
    case FaultKind::kDoneThenTimeout:
      return {.after = RaiseSql("57014")};
    case FaultKind::kDoneThenLost:
      return {.after = testing::kLoseConnection};
    case FaultKind::kDeadlock:
      return {.before = RaiseSql("40P01")};
    case FaultKind::kSerialization:
      return {.before = RaiseSql("40001")};
    case FaultKind::kLost:
      return {.before = testing::kLoseConnection};
    case FaultKind::kReadOnly:
      return {.before = "SET transaction_read_only = on;\nSET default_transaction_read_only = on;"};
  }
  return {};
}

inline absl::string_view ToString(FaultKind kind) {
  switch (kind) {
    case FaultKind::kError:
      return "error before";
    case FaultKind::kDoneThenTimeout:
      return "done, then timed out";
    case FaultKind::kDoneThenLost:
      return "done, then connection lost";
    case FaultKind::kDeadlock:
      return "deadlock";
    case FaultKind::kSerialization:
      return "serialization failure";
    case FaultKind::kLost:
      return "connection lost before";
    case FaultKind::kReadOnly:
      return "read-only server";
  }
  return "";
}

// One call that is to fail: the `occurrence`-th (from 1) of its site.
struct PlannedFault {
  std::string site = {};
  int occurrence = 1;
  FaultKind kind = FaultKind::kError;
};

// What is to fail in one run, and what was called. Thread-safe.
class FaultPlan {
 public:
  explicit FaultPlan(std::vector<PlannedFault> faults) : pending_(std::move(faults)) {}

  // For RunnerOptions::fault of the lane `lane`.
  Fault At(const std::string& lane, absl::string_view site) {
    std::function<void()> before;
    Fault fault;
    {
      MutexLock lock(mutex_);
      const int occurrence = ++counts_[std::string(site)];
      if (occurrence == 1) first_calls_.emplace_back(site);
      for (auto it = pending_.begin(); it != pending_.end(); ++it) {
        if (it->site != site || it->occurrence != occurrence) continue;
        fault = FaultOf(it->kind);
        pending_.erase(it);
        break;
      }
      if (meanwhile_ && lane == meanwhile_lane_ && absl::StartsWith(site, "write/")) {
        before = std::move(meanwhile_);
        meanwhile_ = nullptr;
      }
      called_.SignalAll();
    }
    if (before) before();
    return fault;
  }

  // Calls `f` once, when `lane` is about to make the first call of its next write: what `f` does
  // comes between the command and its lock on the head.
  void Meanwhile(const std::string& lane, std::function<void()> f) {
    MutexLock lock(mutex_);
    meanwhile_lane_ = lane;
    meanwhile_ = std::move(f);
  }

  // Waits until `site` was called, in whatever thread.
  void Await(const std::string& site) {
    MutexLock lock(mutex_);
    while (counts_.count(site) == 0) called_.Wait(mutex_);
  }
  std::map<std::string, int> counts() const {
    MutexLock lock(mutex_);
    return counts_;
  }
  // The sites in the order of their first calls.
  std::vector<std::string> first_calls() const {
    MutexLock lock(mutex_);
    return first_calls_;
  }
  // Those that were not reached.
  std::vector<PlannedFault> pending() const {
    MutexLock lock(mutex_);
    return pending_;
  }

 private:
  mutable Mutex mutex_;
  CondVar called_;
  std::vector<PlannedFault> pending_ MUSTER_GUARDED_BY(mutex_);
  std::map<std::string, int> counts_ MUSTER_GUARDED_BY(mutex_);
  std::vector<std::string> first_calls_ MUSTER_GUARDED_BY(mutex_);
  std::string meanwhile_lane_ MUSTER_GUARDED_BY(mutex_);
  std::function<void()> meanwhile_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::storage
