#pragma once

#include <google/protobuf/timestamp.pb.h>

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

// Names and times as Muster and Kubernetes write them.
namespace muster::kubernetes {

// Bytes of what a server says that a condition's message tells. A policy's own word is shorter.
inline constexpr size_t kMostSaid = 1024;

// `.../nodes/{machine}`, whatever the ids in it.
bool IsNodeName(absl::string_view name);
// `.../nodePools/{pool}`.
bool IsPoolName(absl::string_view name);

absl::Time TimeOf(const google::protobuf::Timestamp& time);
// As Kubernetes writes times: RFC 3339 in UTC, whole seconds. Empty for none.
std::string KubernetesTime(const google::protobuf::Timestamp& time);
std::string KubernetesTime(absl::Time time);
// As Kubernetes writes a MicroTime: RFC 3339 in UTC, always with six digits of a second.
std::string MicroTime(absl::Time time);

}  // namespace muster::kubernetes
