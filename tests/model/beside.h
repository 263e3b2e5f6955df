#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "services/capacity/core/decide.h"
#include "tests/model/history.h"
#include "tests/model/model.h"

namespace muster::model {

// Runs capacity's core and the model side by side.
class Beside {
 public:
  explicit Beside(int32_t nodes_per_rack);

  // Does the step on both. Returns what they disagree on; empty: nothing.
  std::string Take(const Step& step);

 private:
  static constexpr char kZone[] = "US-EAST-04A";
  static constexpr char kType[] = "gd-8xa100-i128";

  template <class Command>
  void Do(const Command& command);
  // These say whether it changed anything.
  bool Register(const std::vector<capacity::MachineRow>& machines);
  bool SetOffer(bool offered, bool general);
  bool Sync(const std::vector<Ask>& asks);
  capacity::SyncClaim CommandFor(const Ask& ask, const std::set<std::string>& before);
  std::vector<capacity::MachineReturn> ReturnsOf(const Ask& ask, const std::string& uid) const;
  void Restart();
  Guide MachinesNow() const;
  std::string Compare() const;
  std::string CompareClaim(const Claim& claim) const;
  // What the finder and explain foretell, beside what a decision then does.
  std::string CompareForetold();
  std::string CompareTold(const Claim& claim) const;
  bool IsToldExactly() const;
  std::string CompareFound(StagedState<capacity::State>& staged, capacity::ComputeClass asked,
                           int64_t nodes) const;

  capacity::State state_;
  int64_t revision_ = 0;
  absl::Time now_ = absl::FromUnixSeconds(1'750'000'000);
  Model model_;
  std::map<std::string, int> lives_ = {};
};

struct Difference {
  size_t step = 0;
  std::string what = {};
};
// The first step after which they disagree; nullopt: none.
std::optional<Difference> Play(const History& history);

// The history without the steps that are not needed to see a difference.
History Shrink(History history);

}  // namespace muster::model
