#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/state.h"
#include "services/common/testing/fake_memory.h"
#include "services/configuration/core/decide.h"
#include "services/configuration/core/limits.h"
#include "services/configuration/core/names.h"
#include "services/configuration/core/settle.h"

namespace muster::configuration {

// A state with commands carried out on it as the lane would: for tests.
struct World {
  State state = {};
  int64_t revision = 0;
  absl::Time now = absl::FromUnixSeconds(1'750'000'000);
  std::vector<Revised<State::Change>> journal = {};
  Policy policy = {};
  size_t written = 0;  // rows that the last command wrote

  template <class Command>
  auto Run(const Command& command) {
    StagedState<State> staged(state, revision);
    auto outcome = [&] {
      if constexpr (requires { Decide(staged, command, now, policy); }) {
        return Decide(staged, command, now, policy);
      } else {
        return Decide(staged, command, now);
      }
    }();
    journal.insert(journal.end(), staged.changes().begin(), staged.changes().end());
    written = staged.changes().size();
    revision = staged.revision();
    return outcome;
  }

  // Settles all pools in batches of `batch`. Returns how many batches there were; `written` is what
  // they wrote.
  size_t SettleAll(size_t batch = kMaxSettled) {
    const std::vector<std::string> keys = UnsettledPools(FakeMemory(state));
    size_t batches = 0;
    size_t sum = 0;
    for (size_t at = 0; at < keys.size(); at += batch, ++batches) {
      const size_t end = std::min(keys.size(), at + batch);
      (void)Run(SettlePools{{keys.begin() + static_cast<std::ptrdiff_t>(at),
                             keys.begin() + static_cast<std::ptrdiff_t>(end)}});
      sum += written;
    }
    written = sum;
    return batches;
  }
  // Publishes in channel stable, and settles. `written`: the rows of both.
  void Publish(Component component, absl::string_view version) {
    Settled(PublishRelease{Channel::kStable, component, std::string(version)});
  }
  void Withdraw(Component component, absl::string_view version) {
    Settled(WithdrawRelease{Channel::kStable, component, std::string(version)});
  }
  template <class Command>
  void Settled(const Command& command) {
    (void)Run(command);
    const size_t first = written;
    (void)SettleAll();
    written += first;
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

inline World Basics() {
  World world;
  world.PublishBasics();
  return world;
}

inline SyncPool Sync(const std::string& uid, Spec spec) {
  return {.pool_uid = uid, .generation = 1, .spec = std::move(spec)};
}

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

// Equal rows, equal revisions.
inline bool SameState(const State& a, const State& b) {
  const auto rows = Rows(a);
  const auto others = Rows(b);
  return std::equal(rows.begin(), rows.end(), others.begin(), others.end(), SameRow) &&
         a.released() == b.released();
}

}  // namespace muster::configuration
