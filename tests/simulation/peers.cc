#include "tests/simulation/peers.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "services/capacity/core/validate.h"
#include "services/capacity/wire/capacity_wire.h"
#include "services/common/quota_name.h"
#include "services/configuration/core/validate.h"
#include "services/configuration/wire/configuration_wire.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/peers/wire/peer_wire.h"
#include "services/quota/core/validate.h"
#include "services/quota/wire/quota_wire.h"

namespace muster::simulation {
namespace {

// A request as the other service reads it, which must find no fault with it.
template <typename Command, typename Request>
Command Received(const Request& request,
                 Command (*from_proto)(const Request&, absl::string_view, error::Faults&)) {
  error::Faults faults;
  Command command = from_proto(request, "request", faults);
  Validate(command, "request", faults);
  if (const absl::Status status = faults.status(); !status.ok()) {
    std::cerr << status << "\n" << request.DebugString();
    std::abort();
  }
  return command;
}

}  // namespace

PoolView Look(const lifecycle::State& state, const std::string& name) {
  PoolView view;
  view.pool = state.table<lifecycle::Pool>().FindVersioned(name)->row;
  view.answers = lifecycle::KnownAnswers(*view.pool);
  const std::string cluster(lifecycle::ClusterNameOf(name));
  view.cluster = state.table<lifecycle::Cluster>().FindVersioned(cluster)->row;
  view.nodes = state.NodesOf(name);
  for (const lifecycle::Node* node : view.nodes) {
    view.rows.push_back(state.table<lifecycle::Node>().FindVersioned(node->name)->row);
  }
  view.version = state.VersionOf(name);
  return view;
}

lifecycle::CatalogueFacts FactsFor(const lifecycle::Pool& pool, const capacity::State& catalogue) {
  lifecycle::CatalogueFacts facts;
  facts.known = true;
  const auto* type = catalogue.FindInstanceType(pool.spec.instance_type);
  if (type != nullptr) {
    facts.type = lifecycle::TypeFacts{type->id, type->gpus, type->superchip, type->nodes_per_rack};
  }
  const auto* zone = catalogue.FindZone(pool.zone);
  if (zone != nullptr) {
    const auto& types = zone->instance_types;
    facts.offered = std::binary_search(types.begin(), types.end(), pool.spec.instance_type);
    facts.general_access = zone->access == capacity::ZoneAccess::kGeneral;
  }
  return facts;
}

std::string QuotaOf(const lifecycle::Pool& pool) {
  return QuotaNameOf(lifecycle::OrganizationOf(pool.name),
                     QuotaIdOf(pool.zone, pool.spec.instance_type, pool.spec.compute_class));
}

quota::SyncHolding RequestOf(const PoolView& view, const lifecycle::HoldingAsk& ask) {
  return Received(lifecycle::RequestOf(*view.pool, ask), &quota::FromProto);
}

capacity::SyncClaim RequestOf(const PoolView& view, const lifecycle::ClaimAsk& ask) {
  return Received(lifecycle::RequestOf(*view.pool, ask), &capacity::FromProto);
}

configuration::SyncPool RequestOf(const PoolView& view, const lifecycle::ConfigurationAsk& ask) {
  return Received(lifecycle::RequestOf(*view.pool, *view.cluster, ask), &configuration::FromProto);
}

lifecycle::HoldingFacts FactsOf(const quota::HoldingOutcome& answer) {
  return lifecycle::FactsOf(quota::ToProto(answer));
}

lifecycle::ClaimFacts FactsOf(const capacity::ClaimView& view) {
  return lifecycle::FactsOf(capacity::ToProto(capacity::ClaimReply{view}));
}

lifecycle::ConfigurationFacts FactsOf(const configuration::PoolConfiguration& pool) {
  return lifecycle::FactsOf(configuration::ToProto(pool));
}

}  // namespace muster::simulation
