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

// Which machines' v1 Nodes are without what Muster wants on them because the API server refuses
// it, as this process was told. Thread-safe.
class MetadataRefusals {
 public:
  struct Pool {
    std::string name = {};
    std::string uid = {};
    bool operator==(const Pool&) const = default;
  };
  // The names of pools of which something else is said now.
  using Turned = std::set<std::string>;

  // A write of the metadata of the pool's machine ended so: refused, done, or neither of both, which
  // changes nothing (a race, a server that is away, a write that is held back).
  Turned Note(const Pool& pool, const std::string& machine, const absl::Status& written);
  // Nothing is to be written, there is nothing to write to, or the machine is no pool's.
  Turned Forget(const std::string& machine);
  // Whether that machine's v1 Node is one of them.
  bool Has(const std::string& machine) const;
  // Nullopt: none of the pool's.
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
