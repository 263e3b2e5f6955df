#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tests/simulation/cloud.h"

namespace muster::simulation {

// How often each kind of thing happened. Every kind is there, from the beginning with 0.
using Counts = std::map<std::string, int64_t>;
Counts NoCounts();

// Counts what really happens in a world, so that nothing goes untested without being noticed.
class Survey {
 public:
  // Listens to the cloud's services, which must outlive it.
  explicit Survey(Cloud& cloud);
  Survey(const Survey&) = delete;
  Survey& operator=(const Survey&) = delete;

  // `kind`: one of NoCounts().
  void Saw(absl::string_view kind, int64_t times = 1);
  const Counts& counts() const { return counts_; }

 private:
  void Lifecycle(const StagedState<lifecycle::State>& staged);
  void Pool(const lifecycle::State& state, const lifecycle::Pool& was, const lifecycle::Pool& is);
  void Deletion(const lifecycle::State& state, const lifecycle::Pool& pool);
  void Node(const lifecycle::State& state, const lifecycle::Node& was, const lifecycle::Node& is);
  void Quota(const StagedState<quota::State>& staged);
  void Capacity(const StagedState<capacity::State>& staged);
  void Grants(const capacity::State& state,
              const std::map<std::string, std::vector<const capacity::MachineRow*>>& granted);
  void Reclaims(const capacity::MachineRow& was, const capacity::MachineRow& is);
  void Configuration(const configuration::PoolConfiguration& was,
                     const configuration::PoolConfiguration& is);
  void Orders(const configuration::PoolConfiguration& was,
              const configuration::PoolConfiguration& is);

  const Cloud& cloud_;
  Counts counts_ = NoCounts();
};

}  // namespace muster::simulation
