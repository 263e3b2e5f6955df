#pragma once

#include <muster/capacity/v1/capacity.pb.h>
#include <muster/capacity/v1/capacity_service.pb.h>
#include <muster/configuration/v1/configuration.pb.h>
#include <muster/quota/v1/quota.pb.h>

#include "services/lifecycle/core/demand.h"
#include "services/lifecycle/core/snapshot.h"

// What lifecycle asks of quota, capacity and configuration, and what they answer, as their messages.
// Nothing else.
namespace muster::lifecycle {

quota::v1::HoldingRequest RequestOf(const Pool& pool, const HoldingAsk& ask);
capacity::v1::ClaimRequest RequestOf(const Pool& pool, const ClaimAsk& ask);
configuration::v1::ConfigurationRequest RequestOf(const Pool& pool, const Cluster& cluster,
                                                  const ConfigurationAsk& ask);

HoldingAnswer AnswerOf(const quota::v1::HoldingAnswer& in);
ClaimAnswer AnswerOf(const capacity::v1::Claim& in);
ReclaimedFor ReclaimedOf(const capacity::v1::ExplainClaimResponse& in);
ConfigurationAnswer AnswerOf(const configuration::v1::PoolConfiguration& in);

// `default` or `spot`.
std::string ClassOf(const Pool& pool);
type::v1::ComputeClass ComputeClassOf(const Pool& pool);

}  // namespace muster::lifecycle
