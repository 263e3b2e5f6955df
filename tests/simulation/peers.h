#pragma once

#include <memory>
#include <vector>

#include "services/capacity/core/decide.h"
#include "services/configuration/core/decide.h"
#include "services/lifecycle/core/demand.h"
#include "services/lifecycle/core/snapshot.h"
#include "services/lifecycle/core/state.h"
#include "services/quota/core/decide.h"

// Turns what lifecycle asks into the other services' commands, and their answers into what
// lifecycle reads: through the messages of the wire, with the checks that the services make of
// them.
namespace muster::simulation {

// A pool as one pass of the loop sees it: its rows, what is asked for it and what the other
// services answer.
struct PoolView {
  std::shared_ptr<const lifecycle::Cluster> cluster = {};
  std::shared_ptr<const lifecycle::Pool> pool = {};
  std::vector<std::shared_ptr<const lifecycle::Node>> rows = {};  // keeps `nodes` alive
  std::vector<const lifecycle::Node*> nodes = {};
  int64_t version = 0;
  int64_t incarnation = 0;  // of the history that the rows are from
  lifecycle::CatalogueFacts catalogue = {};
  lifecycle::Demand demand = {};
  lifecycle::PeerReplies answers = {};
};

// `pool`: a name in the state.
PoolView Look(const lifecycle::State& state, const std::string& pool);

// What capacity's catalogue says that matters to the pool.
lifecycle::CatalogueFacts FactsFor(const lifecycle::Pool& pool, const capacity::State& catalogue);

std::string QuotaOf(const lifecycle::Pool& pool);
quota::SyncHolding RequestOf(const PoolView& view, const lifecycle::HoldingAsk& ask);
capacity::SyncClaim RequestOf(const PoolView& view, const lifecycle::ClaimAsk& ask);
configuration::SyncPool RequestOf(const PoolView& view, const lifecycle::ConfigurationAsk& ask);

lifecycle::HoldingFacts FactsOf(const quota::HoldingOutcome& answer);
lifecycle::ClaimFacts FactsOf(const capacity::ClaimView& view);
lifecycle::ConfigurationFacts FactsOf(const configuration::PoolConfiguration& pool);

}  // namespace muster::simulation
