#include <utility>
#include <vector>

#include "services/capacity/core/claim_answer.h"
#include "services/capacity/core/explain.h"
#include "services/capacity/core/finder.h"
#include "services/capacity/core/validate.h"
#include "services/capacity/handlers.h"
#include "services/capacity/wire/capacity_wire.h"
#include "services/common/error.h"
#include "services/rpc/read.h"
#include "services/rpc/unary.h"

namespace muster::capacity {

Handlers::Unary Handlers::ExplainClaim(Context context, const v1::ExplainClaimRequest* request,
                                       v1::ExplainClaimResponse* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    if (!ParseClaimName(request->name()))
      return void(responder.Finish(muster::error::InvalidField("name", kClaimNameShape)));
    rpc::AnswerFrom(lane_, std::move(responder),
                    [this, name = request->name(), response](const State& state,
                                                             int64_t revision) -> absl::Status {
                      const ClaimRow* claim = state.table<ClaimRow>().Find(name);
                      if (claim == nullptr) return muster::error::NotFound(name);
                      *response->mutable_claim() =
                          ToProto(AnswerOf(state, ViewOf(state, *claim), clock_.Now()));
                      for (const Obstacle& obstacle : Explain(state, *claim))
                        *response->add_obstacles() = ToProto(obstacle);
                      response->set_revision(revision);
                      return absl::OkStatus();
                    });
  });
}

Handlers::Unary Handlers::FindPlacements(Context context, const v1::FindPlacementsRequest* request,
                                         v1::FindPlacementsResponse* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    Faults faults;
    PlacementQuery query = ParseRequest(*request, faults);
    Validate(query, faults);
    if (!faults.empty())
      return void(responder.Finish(muster::error::InvalidFields(std::move(faults))));
    rpc::AnswerFrom(
        lane_, std::move(responder),
        [query = std::move(query), response](const State& state, int64_t revision) -> absl::Status {
          Faults unknown = FaultsOf(state, query);
          if (!unknown.empty()) return muster::error::InvalidFields(std::move(unknown));
          const std::vector<ZonePlacements> zones = capacity::FindPlacements(state, query);
          for (const ZonePlacements& zone : zones) *response->add_zones() = ToProto(zone);
          if (!zones.empty() && zones[0].availability <= Availability::kLimited)
            response->set_recommended_zone(zones[0].zone);
          response->set_revision(revision);
          return absl::OkStatus();
        });
  });
}

}  // namespace muster::capacity
