#include "tests/model/history.h"

#include <random>

#include "absl/strings/str_cat.h"
#include "services/capacity/core/machine_state.h"

namespace muster::model {
namespace {

using capacity::Affinity;
using capacity::AffinityExpression;
using capacity::AffinityOperator;
using capacity::MachineState;

constexpr int kSteps = 30;
constexpr int kRacks = 4;
constexpr int kSlots = 4;  // machines a rack

class HistoryGenerator {
 public:
  explicit HistoryGenerator(uint32_t seed)
      : random_(seed),
        racks_(Uniform(3) == 0),
        spot_(!racks_ && Uniform(4) > 0),
        gangs_(Uniform(3) > 0),
        affinities_(Uniform(2) == 0),
        priorities_(Uniform(3) > 0),
        organizations_(1 + Uniform(3)),
        pools_(Uniform(2) == 0 ? 5 : 8),
        spot_pools_(Uniform(1 << pools_)) {}

  History Generate() {
    History history;
    history.nodes_per_rack = racks_ ? kSlots : 0;
    history.steps.push_back(Registration());
    for (int i = 0; i < kSteps; ++i) {
      Step step = Next();
      constexpr int kSeconds[] = {0, 0, 1, 10, 50, 130};
      step.wait = absl::Seconds(kSeconds[Uniform(6)]);
      if (Uniform(40) == 0) step.wait = absl::Hours(13);
      history.steps.push_back(std::move(step));
    }
    return history;
  }

 private:
  int Uniform(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }

  Step Next() {
    switch (Uniform(16)) {
      case 0:
        return Registration();
      case 1:
      case 2:
        return NextState();
      case 3:
        return Uniform(3) == 0 ? Offer() : Sync();
      case 4:
        return {};  // restart
      default:
        return Sync();
    }
  }

  Step Registration() {
    Step step{.kind = StepKind::kRegister};
    const int rack = Uniform(kRacks);
    const int last = racks_ || Uniform(2) == 0 ? kRacks : rack + 1;
    for (int r = rack; r < last; ++r) {
      for (int slot = racks_ ? 0 : Uniform(3); slot < kSlots; ++slot) {
        capacity::MachineRow machine;
        machine.id = absl::StrCat("m", r, "-", slot);
        machine.fabric = absl::StrCat("f", r % 2);
        machine.rack = absl::StrCat("r", r);
        machine.slot = slot;
        if (affinities_ && Uniform(3) > 0) machine.labels["disk"] = Uniform(3) > 0 ? "nvme" : "hdd";
        if (racks_ && slot > 0 && Uniform(8) > 0) machine.labels = step.machines.back().labels;
        step.machines.push_back(std::move(machine));
      }
    }
    return step;
  }

  Step NextState() {
    constexpr MachineState kWanted[] = {MachineState::kFree,     MachineState::kFree,
                                        MachineState::kFree,     MachineState::kFree,
                                        MachineState::kInRepair, MachineState::kInRepair,
                                        MachineState::kRetired};
    Step step{.kind = StepKind::kSetState};
    step.state = {absl::StrCat("m", Uniform(kRacks), "-", Uniform(kSlots)), kWanted[Uniform(7)]};
    return step;
  }

  Step Offer() {
    Step step{.kind = StepKind::kSetOffer};
    step.offered = Uniform(3) > 0;
    step.general = Uniform(4) > 0;
    return step;
  }

  Step Sync() {
    Step step{.kind = StepKind::kSync};
    for (int i = Uniform(4) == 0 ? 3 : 1; i > 0; --i) step.asks.push_back(NextAsk());
    return step;
  }

  Ask NextAsk() {
    Ask ask;
    const int pool = Uniform(pools_);
    ask.pool = absl::StrCat("p", pool);
    ask.wanted.organization = absl::StrCat("o", pool % organizations_);
    ask.release = Uniform(12) == 0;
    ask.repeat = !ask.release && Uniform(12) == 0;
    ask.wanted.nodes = racks_ ? Uniform(4) * kSlots : Uniform(7);
    // The class belongs to the pool: it cannot change.
    if (spot_ && (spot_pools_ >> pool) % 2 != 0)
      ask.wanted.compute_class = capacity::ComputeClass::kSpot;
    ask.wanted.gang = gangs_ && Uniform(2) == 0;
    if (priorities_) ask.wanted.priority = Uniform(3) - 1;
    if (affinities_ && Uniform(2) == 0) ask.wanted.affinity = SomeAffinity();
    for (int i = Uniform(3) == 0 ? Uniform(4) : 0; i > 0; --i)
      ask.returns.push_back(
          {static_cast<size_t>(Uniform(5)), static_cast<capacity::ReturnReason>(Uniform(3))});
    ask.rest = !ask.release && !ask.repeat && Uniform(6) == 0;
    return ask;
  }

  Affinity SomeAffinity() {
    const auto expression = [](AffinityOperator op, std::vector<std::string> values) {
      return AffinityExpression{"disk", op, std::move(values)};
    };
    switch (Uniform(4)) {
      case 0:
        return {{{{expression(AffinityOperator::kIn, {"nvme"})}}}};
      case 1:
        return {{{{expression(AffinityOperator::kExists, {})}}}};
      case 2:
        return {{{{expression(AffinityOperator::kDoesNotExist, {})}},
                 {{expression(AffinityOperator::kIn, {"hdd"})}}}};
      default:
        return {{{{expression(AffinityOperator::kNotIn, {"nvme"})}}}};
    }
  }

  std::mt19937 random_;
  const bool racks_;
  const bool spot_;
  const bool gangs_;
  const bool affinities_;
  const bool priorities_;
  const int organizations_;
  const int pools_;
  const int spot_pools_;  // a bit each
};

std::string Print(const Affinity& affinity) {
  constexpr const char* kOperators[] = {"in", "not-in", "exists", "not-exists"};
  std::string text;
  for (const auto& term : affinity.terms()) {
    for (const auto& asked : term.expressions) {
      absl::StrAppend(&text, " ", asked.key, " ", kOperators[static_cast<int>(asked.op)]);
      for (const std::string& value : asked.values) absl::StrAppend(&text, " ", value);
    }
    absl::StrAppend(&text, ";");
  }
  return text;
}

std::string Print(const Ask& ask) {
  constexpr const char* kReasons[] = {"released", "broken", "preempted"};
  if (ask.release) return absl::StrCat(" [", ask.pool, " ends]");
  if (ask.repeat) return absl::StrCat(" [", ask.pool, " again]");
  std::string text =
      absl::StrCat(" [", ask.pool, " of ", ask.wanted.organization, " wants ", ask.wanted.nodes);
  if (ask.wanted.compute_class == capacity::ComputeClass::kSpot) absl::StrAppend(&text, " spot");
  if (ask.rest) absl::StrAppend(&text, " later");
  if (ask.wanted.gang) absl::StrAppend(&text, " gang");
  if (ask.wanted.priority != 0) absl::StrAppend(&text, " priority ", ask.wanted.priority);
  absl::StrAppend(&text, Print(ask.wanted.affinity));
  for (const Return& given : ask.returns)
    absl::StrAppend(&text, ", gives #", given.nth, " ", kReasons[static_cast<int>(given.reason)]);
  return text + "]";
}

}  // namespace

History RandomHistory(uint32_t seed) { return HistoryGenerator(seed).Generate(); }

std::string Print(const Step& step) {
  std::string text = absl::StrCat("+", absl::FormatDuration(step.wait));
  switch (step.kind) {
    case StepKind::kRegister:
      absl::StrAppend(&text, " register");
      for (const auto& machine : step.machines) {
        absl::StrAppend(&text, " ", machine.id);
        for (const auto& [key, value] : machine.labels) absl::StrAppend(&text, "=", value);
      }
      return text;
    case StepKind::kSetState:
      return absl::StrCat(text, " ", step.state.id, " ", capacity::NameOf(step.state.state));
    case StepKind::kSetOffer:
      return absl::StrCat(text, step.offered ? " offered" : " not offered",
                          step.general ? "" : ", no spot");
    case StepKind::kSync:
      for (const Ask& ask : step.asks) absl::StrAppend(&text, Print(ask));
      return text;
    case StepKind::kRestart:
      return text + " restart";
  }
  return text;
}

}  // namespace muster::model
