#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "google/protobuf/timestamp.pb.h"
#include "muster/capacity/v1/capacity.pb.h"
#include "muster/configuration/v1/configuration.pb.h"
#include "muster/lifecycle/v1/lifecycle.pb.h"

namespace muster::musterctl {

// `2025-06-09T14:48:54Z`; empty when not set.
std::string FormatTime(const google::protobuf::Timestamp& time);
// The same with all of its fraction: what can be asked for as `--at`.
std::string FormatExactTime(const google::protobuf::Timestamp& time);

// Words of the API's enums as manifests write them.
std::string ComputeClassWord(type::v1::ComputeClass compute_class);
std::string StrategyWord(configuration::v1::ConfigurationSpec::Strategy strategy);  // `Always`
std::string NodeStateWord(lifecycle::v1::Node::State state);                        // `PRODUCTION`
std::string MachineStateWord(capacity::v1::Machine::State state);                   // `FREE`
std::string ClaimReasonWord(capacity::v1::Claim::Reason reason);                    // `SUFFICIENT`
// Whether it is told which machines a claim has and what it lacks them for: Get does, the past does
// not.
bool TellsMachines(const capacity::v1::Claim& claim);
std::string PhaseWord(lifecycle::v1::NodeDesired::Phase phase);  // `RUNNING`
// `SCALE_DOWN`; empty: it stays.
std::string RemovalCauseWord(lifecycle::v1::Node::RemovalCause cause);
std::string RebootWord(lifecycle::v1::NodeOrders::Reboot reboot);
// `quota admin`: who must act.
std::string ActorWord(lifecycle::v1::NodePoolObstacle::Actor actor);
std::string ReconfigurationStateWord(lifecycle::v1::Reconfiguration::State state);  // `RUNNING`

// The name of an enum's value without `prefix`.
std::string Word(const std::string& name, absl::string_view prefix);

}  // namespace muster::musterctl
