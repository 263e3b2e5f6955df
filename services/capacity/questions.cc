#include <utility>
#include <vector>

#include "services/capacity/core/claim_reply.h"
#include "services/capacity/core/explain.h"
#include "services/capacity/core/finder.h"
#include "services/capacity/core/validate.h"
#include "services/capacity/handlers.h"
#include "services/capacity/wire/capacity_wire.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"

namespace muster::capacity {
namespace {

std::string ParseExplain(const v1::ExplainClaimRequest& request, Faults& faults) {
  faults.Require(ParseClaimName(request.name()).has_value(), "name", kClaimNameShape);
  return request.name();
}

struct FillExplanation {
  const Clock& clock;
  const Policy& policy;
  absl::Status operator()(const State& state, int64_t revision, const std::string& name,
                          v1::ExplainClaimResponse& response) const {
    const ClaimRow* claim = state.table<ClaimRow>().Find(name);
    if (claim == nullptr) return muster::error::NotFound(name);
    const absl::Time now = clock.Now();
    *response.mutable_claim() = ToProto(AnswerOf(state, ViewOf(state, *claim), now));
    response.mutable_claim()->set_revision(revision);
    for (const Obstacle& obstacle : Explain(state, *claim, policy.KeepsAfter(now)))
      *response.add_obstacles() = ToProto(obstacle);
    response.set_revision(revision);
    return absl::OkStatus();
  }
};

PlacementQuery ParseQuery(const v1::FindPlacementsRequest& request, Faults& faults) {
  PlacementQuery query = ParseRequest(request, faults);
  Validate(query, faults);
  return query;
}

struct FillPlacements {
  const Clock& clock;
  const Policy& policy;
  absl::Status operator()(const State& state, int64_t revision, const PlacementQuery& query,
                          v1::FindPlacementsResponse& response) const {
    RETURN_IF_ERROR(FaultsOf(state, query).status());
    const std::vector<ZonePlacements> zones =
        FindPlacements(state, query, policy.KeepsAfter(clock.Now()));
    for (const ZonePlacements& zone : zones) *response.add_zones() = ToProto(zone);
    if (!zones.empty() && zones[0].availability <= Availability::kLimited)
      response.set_recommended_zone(zones[0].zone);
    response.set_revision(revision);
    return absl::OkStatus();
  }
};

}  // namespace

Handlers::Unary Handlers::ExplainClaim(Context context, const v1::ExplainClaimRequest* request,
                                       v1::ExplainClaimResponse* response) {
  return rpc::ReadSlowly(context, slow_, lane_, *request, response, &ParseExplain,
                         FillExplanation{clock_, policy_});
}

Handlers::Unary Handlers::FindPlacements(Context context, const v1::FindPlacementsRequest* request,
                                         v1::FindPlacementsResponse* response) {
  return rpc::ReadSlowly(context, slow_, lane_, *request, response, &ParseQuery,
                         FillPlacements{clock_, policy_});
}

}  // namespace muster::capacity
