#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "google/protobuf/timestamp.pb.h"
#include "services/musterctl/manifest/kinds.h"

namespace muster::musterctl {

// A resource as an object with apiVersion, kind, metadata, spec and status: what `-o json` and
// `-o yaml` print and, where a manifest of that kind exists, what `apply` reads again. A NodePool
// is the CRD's object, with the CRD's defaults filled in.
nlohmann::json ToObject(const Item& item);

// Several objects as one, `kind: List`.
nlohmann::json ToList(const std::vector<nlohmann::json>& objects);

// JSON as block-style YAML. Strings that YAML would read as something else are quoted.
std::string ToYaml(const nlohmann::json& json);

// `2025-06-09T14:48:54Z`; empty when not set.
std::string FormatTime(const google::protobuf::Timestamp& time);

// Words of the API's enums as manifests write them.
std::string ComputeClassWord(type::v1::ComputeClass compute_class);
std::string NodeStateWord(lifecycle::v1::Node::State state);       // `PRODUCTION`
std::string MachineStateWord(capacity::v1::Machine::State state);  // `FREE`
std::string ClaimReasonWord(capacity::v1::Claim::Reason reason);   // `SUFFICIENT`
std::string PhaseWord(lifecycle::v1::NodeDesired::Phase phase);    // `RUNNING`
// `SCALE_DOWN`; empty: it stays.
std::string RemovalCauseWord(lifecycle::v1::Node::RemovalCause cause);
std::string ReconfigurationStateWord(lifecycle::v1::Reconfiguration::State state);  // `RUNNING`

}  // namespace muster::musterctl
