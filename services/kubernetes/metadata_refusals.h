#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "services/common/mutex.h"
#include "services/kubernetes/core/status.h"

namespace muster::kubernetes {

// Remembers which machines' v1 Nodes lack what Muster wants on them because the API server refused
// it to this process. Thread-safe.
class MetadataRefusals {
 public:
  struct Pool {
    std::string name = {};
    std::string uid = {};
    bool operator==(const Pool&) const = default;
  };
  // The names of the pools of which Of says something else now.
  using Turned = std::set<std::string>;

  // Notes how a write of the metadata of a pool's machine ended: refused, done, or neither, which
  // changes nothing (a race, a server that is away, a write that is held back).
  Turned Note(const Pool& pool, const std::string& machine, const absl::Status& written);
  // Forgets a machine: nothing is to be written, there is nothing to write to, or it is no pool's.
  Turned Forget(const std::string& machine);
  // Whether the metadata of that machine's v1 Node was refused.
  bool Has(const std::string& machine) const;
  // What is refused of the pool's Nodes; nullopt: nothing.
  std::optional<MetadataRefusal> Of(const std::string& pool_uid) const;

 private:
  Turned Erase(const std::string& machine) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  absl::flat_hash_map<std::string, Pool> pools_ MUSTER_GUARDED_BY(mutex_);  // by machine
  // What was said, by the pool's uid and machine.
  absl::flat_hash_map<std::string, std::map<std::string, std::string>> said_
      MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::kubernetes
