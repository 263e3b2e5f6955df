#include "services/kubernetes/metadata_refusals.h"

#include "absl/strings/str_cat.h"
#include "services/kubernetes/api/client.h"
#include "services/kubernetes/core/text.h"

namespace muster::kubernetes {
namespace {

// Of a server's message in a condition's. A policy's own is shorter.
constexpr size_t kMostSaid = 1024;

bool IsRefusal(const absl::Status& status) {
  return ErrorOf(status).code != 0 &&
         (absl::IsPermissionDenied(status) || absl::IsInvalidArgument(status));
}

}  // namespace

bool MetadataRefusals::Note(const std::string& pool_uid, const std::string& machine,
                            const absl::Status& written) {
  if (written.ok()) return Forget(machine);
  if (!IsRefusal(written)) return false;
  std::string said = Shorten(written.message(), kMostSaid);
  MutexLock lock(mutex_);
  const auto pool = pools_.find(machine);
  if (pool != pools_.end() && pool->second == pool_uid && said_[pool_uid][machine] == said)
    return false;
  Erase(machine);
  pools_[machine] = pool_uid;
  said_[pool_uid][machine] = std::move(said);
  return true;
}

bool MetadataRefusals::Forget(const std::string& machine) {
  MutexLock lock(mutex_);
  return Erase(machine);
}

bool MetadataRefusals::Erase(const std::string& machine) {
  const auto pool = pools_.find(machine);
  if (pool == pools_.end()) return false;
  const auto said = said_.find(pool->second);
  said->second.erase(machine);
  if (said->second.empty()) said_.erase(said);
  pools_.erase(pool);
  return true;
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
