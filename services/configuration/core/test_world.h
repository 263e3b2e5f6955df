#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/state.h"
#include "services/configuration/core/decide.h"
#include "services/configuration/core/names.h"

namespace muster::configuration {

// A state with commands carried out on it as the lane would: for tests.
struct World {
  State state = {};
  int64_t revision = 0;
  absl::Time now = absl::FromUnixSeconds(1'750'000'000);
  std::vector<Revised<State::Change>> journal = {};
  size_t written = 0;  // rows that the last command wrote

  template <class Command>
  auto Run(const Command& command) {
    Overlay<State> overlay(state, revision);
    auto outcome = Decide(overlay, command, now);
    journal.insert(journal.end(), overlay.changes().begin(), overlay.changes().end());
    written = overlay.changes().size();
    revision = overlay.revision();
    return outcome;
  }

  // Publishes in channel stable.
  void Publish(Component component, absl::string_view version) {
    (void)Run(PublishRelease{Channel::kStable, component, std::string(version)});
  }
  // One release of each component: image 2.10.1, driver 570.86.15, Kubernetes 1.33.
  void PublishBasics() {
    Publish(Component::kNcoreImage, "2.10.1");
    Publish(Component::kGpuDriver, "570.86.15");
    Publish(Component::kKubernetes, "1.33");
  }
  const PoolConfiguration* Pool(absl::string_view uid) const {
    return state.table<PoolConfiguration>().Find(PoolConfigurationName(uid));
  }
  const NodeProfile* Profile(absl::string_view id) const {
    return state.table<NodeProfile>().Find(NodeProfileName(id));
  }
};

// All rows with their revisions, for comparing two states.
inline std::vector<Revised<State::Change>> Rows(const State& state) {
  std::vector<Revised<State::Change>> rows;
  state.ForEach([&](Revised<State::Change> row) { rows.push_back(std::move(row)); });
  return rows;
}

inline bool SameRow(const Revised<State::Change>& a, const Revised<State::Change>& b) {
  if (a.revision != b.revision || a.change.key != b.change.key ||
      a.change.row.index() != b.change.row.index()) {
    return false;
  }
  return std::visit(
      [&](const auto& row) {
        const auto& other = std::get<std::decay_t<decltype(row)>>(b.change.row);
        return (row == nullptr) == (other == nullptr) && (row == nullptr || *row == *other);
      },
      a.change.row);
}

// Equal rows, equal revisions, equal followers.
inline bool SameState(const State& a, const State& b) {
  const auto rows = Rows(a);
  const auto others = Rows(b);
  return std::equal(rows.begin(), rows.end(), others.begin(), others.end(), SameRow) &&
         a.followers() == b.followers();
}

}  // namespace muster::configuration
