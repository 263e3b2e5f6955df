#pragma once

#include <optional>
#include <string>

#include "muster/lifecycle/v1/lifecycle.pb.h"
#include "services/kubernetes/core/objects.h"

// Labels, annotations, taints, `unschedulable` and conditions of a v1 Node: what is to be sent so
// that what is ours becomes as Muster wants it. Nullopt: nothing.
namespace muster::kubernetes {

std::optional<Json> MetadataPatch(const lifecycle::v1::Node& node, const NodeObject& object);
// The part of MetadataPatch about `unschedulable` alone: our labels and annotations stay as they
// are.
std::optional<Json> CordonPatch(const lifecycle::v1::Node& node, const NodeObject& object);
std::optional<Json> TaintsPatch(const lifecycle::v1::Node& node, const NodeObject& object);
std::optional<Json> ConditionsPatch(const lifecycle::v1::Node& node, const NodeObject& object);

// The mark of the life of a machine that a v1 Node was taken for: the Muster Node's create_time.
std::string LifeMark(const lifecycle::v1::Node& node);

}  // namespace muster::kubernetes
