#include "services/kubernetes/core/text.h"

#include "services/common/collections.h"

namespace muster::kubernetes {

bool IsNodeName(absl::string_view name) { return CollectionOf(name) == "nodes"; }

bool IsPoolName(absl::string_view name) { return CollectionOf(name) == "nodePools"; }

absl::Time TimeOf(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
}

std::string KubernetesTime(absl::Time time) {
  return absl::FormatTime("%E4Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
}

std::string KubernetesTime(const google::protobuf::Timestamp& time) {
  if (time.seconds() == 0 && time.nanos() == 0) return "";
  return KubernetesTime(absl::FromUnixSeconds(time.seconds()));
}

std::string MicroTime(absl::Time time) {
  return absl::FormatTime("%E4Y-%m-%dT%H:%M:%E6SZ", time, absl::UTCTimeZone());
}

}  // namespace muster::kubernetes
