#include "services/kubernetes/metadata_refusals.h"

#include "absl/strings/str_cat.h"
#include "services/common/cut.h"
#include "services/kubernetes/api/client.h"
#include "services/kubernetes/core/text.h"

namespace muster::kubernetes {
MetadataRefusals::Turned MetadataRefusals::Note(const Pool& pool, const std::string& machine,
                                                const absl::Status& written) {
  if (written.ok()) return Forget(machine);
  if (!IsForbiddenOrInvalid(written)) return {};
  std::string said = Cut(written.message(), kMostSaid);
  MutexLock lock(mutex_);
  const auto before = pools_.find(machine);
  if (before != pools_.end() && before->second == pool && said_[pool.uid][machine] == said)
    return {};
  Turned turned = Erase(machine);
  pools_[machine] = pool;
  said_[pool.uid][machine] = std::move(said);
  turned.insert(pool.name);
  return turned;
}

MetadataRefusals::Turned MetadataRefusals::Forget(const std::string& machine) {
  MutexLock lock(mutex_);
  return Erase(machine);
}

MetadataRefusals::Turned MetadataRefusals::Erase(const std::string& machine) {
  const auto pool = pools_.find(machine);
  if (pool == pools_.end()) return {};
  const auto said = said_.find(pool->second.uid);
  said->second.erase(machine);
  if (said->second.empty()) said_.erase(said);
  Turned turned = {pool->second.name};
  pools_.erase(pool);
  return turned;
}

bool MetadataRefusals::Has(const std::string& machine) const {
  MutexLock lock(mutex_);
  return pools_.contains(machine);
}

std::optional<MetadataRefusal> MetadataRefusals::Of(const std::string& pool_uid) const {
  MutexLock lock(mutex_);
  const auto said = said_.find(pool_uid);
  if (said == said_.end()) return std::nullopt;
  const auto& [machine, message] = *said->second.begin();
  return MetadataRefusal{static_cast<int64_t>(said->second.size()),
                         absl::StrCat(machine, ": ", message)};
}

}  // namespace muster::kubernetes
