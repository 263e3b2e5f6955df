#include "services/lifecycle/peers/what_if_client.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/condition_names.h"
#include "services/common/error.h"
#include "services/common/error_reasons.h"
#include "services/lifecycle/core/snapshot.h"
#include "services/lifecycle/core/text.h"
#include "services/lifecycle/peers/wire/peer_wire.h"
#include "services/rpc/client/calls.h"
#include "services/rpc/status.h"

namespace muster::lifecycle {
namespace {

namespace qv1 = quota::v1;
namespace cv1 = capacity::v1;

// Rounded up to whole racks, because capacity is asked for nothing else; a pool may lack a part of
// a rack that it has begun.
int64_t InWholeRacks(int64_t nodes, int32_t nodes_per_rack) {
  if (nodes_per_rack <= 0) return nodes;
  return (nodes + nodes_per_rack - 1) / nodes_per_rack * nodes_per_rack;
}

qv1::CheckQuotaRequest QuestionOf(const Pool& pool, int64_t charge) {
  qv1::CheckQuotaRequest request;
  *request.add_holdings() = RequestOf(pool, HoldingAsk{charge, 0, false});
  return request;
}

absl::StatusOr<qv1::HoldingAnswer> OnlyAnswer(
    const absl::StatusOr<qv1::CheckQuotaResponse>& response) {
  if (!response.ok()) return muster::error::FromPeer(response.status(), "Quota");
  if (response->results_size() != 1)
    return muster::error::Unavailable("Quota answered another question.");
  const qv1::BatchSyncHoldingsResponse::Result& result = response->results(0);
  if (result.has_error()) return rpc::FromRpcStatus(result.error());
  return result.answer();
}

v1::NodePoolPreview::Quota NumbersOf(const qv1::HoldingAnswer& answer) {
  v1::NodePoolPreview::Quota out;
  out.set_limit(answer.limit());
  out.set_held(answer.held());
  switch (FactsOf(answer).verdict) {
    case HoldingFacts::Verdict::kUnder:
      out.set_reason(reason::kUnder);
      break;
    case HoldingFacts::Verdict::kOver:
      out.set_reason(reason::kOver);
      break;
    case HoldingFacts::Verdict::kNotSet:
      out.set_reason(reason::kNotSet);
      break;
  }
  return out;
}

// What quota has said of the pool, whether it still knows that or not.
QuotaTold ReleasedToldOf(const Pool& pool, int64_t charge) {
  QuotaTold told{.status = muster::error::Make(absl::StatusCode::kFailedPrecondition,
                                               ReleasedText("quota"),
                                               {.reason = muster::error::kPoolReleased,
                                                .metadata = {{"pool_uid", pool.uid}},
                                                .resource = pool.name})};
  told.numbers.set_reason(reason::kInternalError);
  told.numbers.set_nodes(charge);
  return told;
}

}  // namespace

struct WhatIfClient::QuotaCall {
  grpc::ClientContext context = {};
  qv1::CheckQuotaRequest request = {};
  qv1::CheckQuotaResponse response = {};
};

QuotaTold WhatIfClient::ToldOf(int64_t charge,
                               const absl::StatusOr<qv1::CheckQuotaResponse>& response) const {
  const absl::StatusOr<qv1::HoldingAnswer> answer = OnlyAnswer(response);
  QuotaTold told{.status = answer.status()};
  if (answer.ok()) {
    told.numbers = NumbersOf(*answer);
  } else {
    silence_.Note("quota", told.status);
    told.numbers.set_reason(reason::kInternalError);
  }
  told.numbers.set_nodes(charge);
  return told;
}

WhatIfClient::WhatIfClient(const Peers& peers)
    : quota_(qv1::QuotaService::NewStub(peers.quota)),
      capacity_(cv1::CapacityService::NewStub(peers.capacity)) {}

WhatIfClient::~WhatIfClient() {
  {
    MutexLock lock(mutex_);
    for (QuotaCall* call : open_) call->context.TryCancel();
  }
  under_way_.Wait(absl::InfiniteDuration());
}

QuotaTold WhatIfClient::AskQuota(const Pool& pool, int64_t charge, absl::Duration timeout) const {
  if (IsReleased(pool)) return ReleasedToldOf(pool, charge);
  return ToldOf(charge, rpc::Call(timeout, *quota_, &qv1::QuotaService::Stub::CheckQuota,
                                  QuestionOf(pool, charge)));
}

void WhatIfClient::AskQuota(const Pool& pool, int64_t charge, absl::Duration timeout,
                            Told then) const {
  if (IsReleased(pool)) return then(ReleasedToldOf(pool, charge));
  auto owned = std::make_unique<QuotaCall>();
  QuotaCall* call = owned.release();  // until it ends
  call->request = QuestionOf(pool, charge);
  rpc::PrepareCall(call->context, timeout);
  {
    MutexLock lock(mutex_);
    open_.insert(call);
  }
  under_way_.Begin();
  quota_->async()->CheckQuota(
      &call->context, &call->request, &call->response,
      [this, call, charge, then = std::make_shared<Told>(std::move(then))](grpc::Status status) {
        (*then)(status.ok() ? ToldOf(charge, std::move(call->response))
                            : ToldOf(charge, rpc::FromGrpcStatus(status)));
        {
          MutexLock lock(mutex_);
          open_.erase(call);
        }
        // Before the end is told: the last who holds its channel must not be one of gRPC's threads
        // (PeerClient::Guard).
        delete call;
        under_way_.End();
      });
}

v1::NodePoolPreview::Capacity WhatIfClient::AskPlaces(const Pool& pool, int64_t nodes,
                                                      int32_t nodes_per_rack,
                                                      absl::Duration timeout) const {
  v1::NodePoolPreview::Capacity out;
  out.set_nodes(nodes);
  cv1::FindPlacementsRequest request;
  request.add_zones(pool.zone);
  request.add_requests()->set_instance_type(pool.spec.instance_type);
  request.mutable_requests(0)->set_nodes(InWholeRacks(nodes, nodes_per_rack));
  request.mutable_requests(0)->set_compute_class(ComputeClassOf(pool));
  const auto response =
      rpc::Call(timeout, *capacity_, &cv1::CapacityService::Stub::FindPlacements, request);
  if (!response.ok()) {
    const absl::Status told = muster::error::FromPeer(response.status(), "Capacity");
    silence_.Note("capacity", told);
    out.set_problem(std::string(told.message()));
    return out;
  }
  if (response->zones_size() != 1 || response->zones(0).placements_size() != 1) {
    out.set_problem("Capacity knows nothing of the zone.");
    return out;
  }
  out.set_free_nodes(response->zones(0).placements(0).free());
  out.set_reclaimable_nodes(response->zones(0).placements(0).reclaimable());
  return out;
}

ReclaimedFor WhatIfClient::AskReclaimed(const std::string& pool_uid, absl::Duration timeout) const {
  cv1::ExplainClaimRequest request;
  request.set_name(absl::StrCat("claims/", pool_uid));
  const auto response =
      rpc::Call(timeout, *capacity_, &cv1::CapacityService::Stub::ExplainClaim, request);
  return response.ok() ? ReclaimedOf(*response) : ReclaimedFor{};
}

}  // namespace muster::lifecycle
