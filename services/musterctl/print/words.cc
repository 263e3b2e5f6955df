#include "services/musterctl/print/words.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "services/common/timestamp.h"

namespace muster::musterctl {

std::string FormatTime(const google::protobuf::Timestamp& time) {
  if (time.seconds() == 0 && time.nanos() == 0) return "";
  return absl::FormatTime("%E4Y-%m-%d%ET%H:%M:%SZ", absl::FromUnixSeconds(time.seconds()),
                          absl::UTCTimeZone());
}

std::string FormatExactTime(const google::protobuf::Timestamp& time) {
  if (time.seconds() == 0 && time.nanos() == 0) return "";
  return absl::FormatTime("%E4Y-%m-%d%ET%H:%M:%E*SZ", FromTimestamp(time), absl::UTCTimeZone());
}

std::string ComputeClassWord(type::v1::ComputeClass compute_class) {
  return compute_class == type::v1::COMPUTE_CLASS_SPOT ? "spot" : "default";
}
std::string StrategyWord(configuration::v1::ConfigurationSpec::Strategy strategy) {
  using Spec = configuration::v1::ConfigurationSpec;
  switch (strategy) {
    case Spec::STRATEGY_MANUAL:
      return "Manual";
    case Spec::STRATEGY_ALWAYS:
      return "Always";
    default:
      return "OnSpecUpdate";
  }
}
std::string NodeStateWord(lifecycle::v1::Node::State state) {
  return Word(lifecycle::v1::Node::State_Name(state), "STATE_");
}
std::string MachineStateWord(capacity::v1::Machine::State state) {
  return Word(capacity::v1::Machine::State_Name(state), "STATE_");
}
std::string ClaimReasonWord(capacity::v1::Claim::Reason reason) {
  return Word(capacity::v1::Claim::Reason_Name(reason), "REASON_");
}
bool TellsMachines(const capacity::v1::Claim& claim) {
  return claim.reason() != capacity::v1::Claim::REASON_UNSPECIFIED;
}
std::string PhaseWord(lifecycle::v1::NodeDesired::Phase phase) {
  return Word(lifecycle::v1::NodeDesired::Phase_Name(phase), "PHASE_");
}
std::string RemovalCauseWord(lifecycle::v1::Node::RemovalCause cause) {
  if (cause == lifecycle::v1::Node::REMOVAL_CAUSE_UNSPECIFIED) return "";
  return Word(lifecycle::v1::Node::RemovalCause_Name(cause), "REMOVAL_CAUSE_");
}
std::string RebootWord(lifecycle::v1::NodeOrders::Reboot reboot) {
  if (reboot == lifecycle::v1::NodeOrders::REBOOT_UNSPECIFIED) return "";
  return Word(lifecycle::v1::NodeOrders::Reboot_Name(reboot), "REBOOT_");
}
std::string ActorWord(lifecycle::v1::NodePoolObstacle::Actor actor) {
  const std::string name = lifecycle::v1::NodePoolObstacle::Actor_Name(actor);
  return absl::StrReplaceAll(absl::AsciiStrToLower(absl::StripPrefix(name, "ACTOR_")),
                             {{"_", " "}});
}
std::string ReconfigurationStateWord(lifecycle::v1::Reconfiguration::State state) {
  return Word(lifecycle::v1::Reconfiguration::State_Name(state), "STATE_");
}

std::string Word(const std::string& name, absl::string_view prefix) {
  return std::string(absl::StripPrefix(name, prefix));
}

}  // namespace muster::musterctl
