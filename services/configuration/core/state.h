#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "services/common/kept_request.h"
#include "services/common/released_pool.h"
#include "services/common/state.h"
#include "services/configuration/core/types.h"
#include "services/configuration/core/version.h"

namespace muster::configuration {

// The configuration domain in memory. Copyable; not thread-safe.
class State
    : public StateBase<State, Release, NodeProfile, PoolConfiguration, ReleasedPool, KeptRequest> {
 public:
  // Its tables are large in code: all that changes them is compiled once (state.cc).
  State();
  State(const State&);
  State(State&&) noexcept;
  State& operator=(const State&);
  State& operator=(State&&) noexcept;
  ~State();

  // The newest release in force of the component whose version begins with `prefix`; null when
  // there is none. O(log releases).
  const Version* Newest(Channel channel, Component component,
                        absl::Span<const int64_t> prefix) const;

  // What is in force of the component, at most `most`, newest version first. `numbers` > 0: the
  // first so many numbers of each version, none twice. 0: the versions' whole texts, then the
  // releases that have a name instead. O(releases of the component).
  std::vector<std::string> Offered(Channel channel, Component component, size_t numbers,
                                   size_t most) const;

  const ReleasedByTime& released() const { return released_; }
  const KeptByTime& kept() const { return kept_; }

  void Reindex(const Release* before, const Release* after);
  void Reindex(const NodeProfile* before, const NodeProfile* after);
  void Reindex(const PoolConfiguration* before, const PoolConfiguration* after);
  void Reindex(const ReleasedPool* before, const ReleasedPool* after);
  void Reindex(const KeptRequest* before, const KeptRequest* after);

 private:
  std::map<std::pair<Channel, Component>, std::set<Version>> versions_;
  std::map<std::pair<Channel, Component>, std::set<std::string>> labels_;  // names, not versions
  ReleasedByTime released_;
  KeptByTime kept_;
};

}  // namespace muster::configuration

namespace muster {
extern template class StateBase<configuration::State, configuration::Release,
                                configuration::NodeProfile, configuration::PoolConfiguration,
                                ReleasedPool, KeptRequest>;
}  // namespace muster
