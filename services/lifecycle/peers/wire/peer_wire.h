#pragma once

#include <muster/capacity/v1/capacity.pb.h>
#include <muster/capacity/v1/capacity_service.pb.h>
#include <muster/configuration/v1/configuration.pb.h>
#include <muster/quota/v1/quota.pb.h>

#include <cstddef>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "services/lifecycle/core/demand.h"
#include "services/lifecycle/core/snapshot.h"

// What lifecycle asks of quota, capacity and configuration, to their messages; their answers, back
// to facts.
namespace muster::lifecycle {

quota::v1::HoldingRequest RequestOf(const Pool& pool, const HoldingAsk& ask);
capacity::v1::ClaimRequest RequestOf(const Pool& pool, const ClaimAsk& ask);
configuration::v1::ConfigurationRequest RequestOf(const Pool& pool, const Cluster& cluster,
                                                  const ConfigurationAsk& ask);

HoldingFacts FactsOf(const quota::v1::HoldingAnswer& in);
// Of an answer that leaves machines out, without these: see FillIn.
ClaimFacts FactsOf(const capacity::v1::Claim& in);
ReclaimedFor ReclaimedOf(const capacity::v1::ExplainClaimResponse& in);
ConfigurationFacts FactsOf(const configuration::v1::PoolConfiguration& in);

// What an answer told of the machines of a claim: `machines` of the facts, and what is said of
// each.
struct KnownClaim {
  std::string print = {};  // Claim.machines_print of that answer; empty: nothing is known
  ClaimFacts facts = {};
};
// Moves the machines that `in` leaves out from what is known to the facts of `in`. False: they are
// not known. The facts then say nothing of what the claim holds, and must not be used.
bool FillIn(const capacity::v1::Claim& in, KnownClaim& known, ClaimFacts& facts);

// The parts of a Quota's name, `organizations/{organization}/quotas/{zone}~{type}~{class}`, or of
// the name of a Holding below it. nullopt: it has another shape.
struct QuotaName {
  std::string organization = {};
  std::string zone = {};
  std::string instance_type = {};
  std::string compute_class = {};
  std::string pool_uid = {};  // of a Holding
};
std::optional<QuotaName> ParseQuotaName(absl::string_view name);

// A fingerprint of what the watches show of a resource: the same for an answer and for what a watch
// tells of the same state, another one for another state. Never 0.
size_t PrintOf(const capacity::v1::Claim& claim);
size_t PrintOf(const configuration::v1::PoolConfiguration& configuration);

// `default` or `spot`.
std::string ClassOf(const Pool& pool);
type::v1::ComputeClass ComputeClassOf(const Pool& pool);
// The name of the Quota that the pool is charged on.
std::string QuotaNameOf(const Pool& pool);

}  // namespace muster::lifecycle
