#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "services/common/status_macros.h"
#include "services/musterctl/client/errors.h"
#include "services/musterctl/commands/commands.h"
#include "services/musterctl/commands/for_each.h"
#include "services/musterctl/commands/references.h"
#include "services/musterctl/print/words.h"

// What is said of machines: that they are mended, broken, or gone for good.
namespace muster::musterctl {
namespace {

using ::muster::capacity::v1::Machine;

constexpr char kUsage[] = "set-state: machine/MACHINE free|in-repair|retired";

std::optional<Machine::State> ParseState(absl::string_view word) {
  constexpr std::pair<absl::string_view, Machine::State> kStates[] = {
      {"free", Machine::STATE_FREE},
      {"in-repair", Machine::STATE_IN_REPAIR},
      {"in_repair", Machine::STATE_IN_REPAIR},  // as `get machines` has it
      {"retired", Machine::STATE_RETIRED}};
  const std::string lower = absl::AsciiStrToLower(word);
  for (const auto& [known, state] : kStates) {
    if (lower == known) return state;
  }
  return std::nullopt;
}

}  // namespace

absl::Status SetState(Session& session) {
  std::vector<std::string> words = session.line.arguments;
  if (words.empty()) return WrongUse(kUsage);
  const std::optional<Machine::State> state = ParseState(words.back());
  if (!state) return WrongUse(kUsage);
  words.pop_back();
  ASSIGN_OR_RETURN(const std::vector<ResourceId> named, ReadNamed(words, {Kind::kMachine}, kUsage));
  const bool dry_run = session.line.Has("dry-run");
  const auto set_one = [&](const ResourceId& id) -> absl::Status {
    ASSIGN_OR_RETURN(const Machine machine, session.api.SetMachineState(id.id, *state, dry_run));
    session.env.out << Label(id) << (dry_run ? " would be " : " is ")
                    << absl::AsciiStrToLower(MachineStateWord(machine.state())) << "\n";
    return absl::OkStatus();
  };
  return ForEach(session, named, set_one);
}

}  // namespace muster::musterctl
