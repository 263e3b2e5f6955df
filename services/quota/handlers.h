#pragma once

#include <muster/quota/v1/quota_service.grpc.pb.h>

#include <memory>
#include <utility>

#include "services/common/clock.h"
#include "services/common/cpu_share.h"
#include "services/quota/core/decide.h"
#include "services/quota/store/lane.h"
#include "services/rpc/audit.h"
#include "services/rpc/slow_calls.h"
#include "services/rpc/write.h"
#include "storage/postgres/auditor.h"

namespace muster::quota {

// Parse, validate, hand to the lane, render. Never blocks. Thread-safe. What each RPC means:
// quota_service.proto.
class Handlers final : public v1::QuotaService::CallbackService {
 public:
  // The writer's lane, the auditor and the clock must outlive the handlers. `cpu`:
  // SlowCallsOptions.
  Handlers(const rpc::Writer<Lane>& writer, storage::Auditor* auditor, const Clock* clock,
           const Policy& policy, std::shared_ptr<CpuShare> cpu = {})
      : writer_(writer),
        lane_(*writer.lane),
        auditor_(*auditor),
        clock_(*clock),
        policy_(policy),
        slow_(std::make_shared<rpc::SlowCalls>(rpc::SlowCallsOptions{.cpu = std::move(cpu)})) {}
  ~Handlers() override { slow_->Stop(); }

  template <class Response>
  using Stream = grpc::ServerWriteReactor<Response>*;
  using Unary = grpc::ServerUnaryReactor*;
  using Context = grpc::CallbackServerContext*;

  // writes.cc
  Unary CreateQuota(Context context, const v1::CreateQuotaRequest* request,
                    v1::Quota* response) override;
  Unary UpdateQuota(Context context, const v1::UpdateQuotaRequest* request,
                    v1::Quota* response) override;
  Unary DeleteQuota(Context context, const v1::DeleteQuotaRequest* request,
                    google::protobuf::Empty* response) override;

  // holdings.cc
  Unary SyncHolding(Context context, const v1::SyncHoldingRequest* request,
                    v1::SyncHoldingResponse* response) override;
  Unary BatchSyncHoldings(Context context, const v1::BatchSyncHoldingsRequest* request,
                          v1::BatchSyncHoldingsResponse* response) override;
  Unary CheckQuota(Context context, const v1::CheckQuotaRequest* request,
                   v1::CheckQuotaResponse* response) override;

  // reads.cc
  Unary GetQuota(Context context, const v1::GetQuotaRequest* request, v1::Quota* response) override;
  Unary ListQuotas(Context context, const v1::ListQuotasRequest* request,
                   v1::ListQuotasResponse* response) override;
  Unary GetHolding(Context context, const v1::GetHoldingRequest* request,
                   v1::Holding* response) override;
  Unary ListHoldings(Context context, const v1::ListHoldingsRequest* request,
                     v1::ListHoldingsResponse* response) override;
  Stream<v1::WatchQuotasResponse> WatchQuotas(Context context,
                                              const v1::WatchQuotasRequest* request) override;
  Unary AuditQuotas(Context context, const v1::AuditQuotasRequest*,
                    v1::AuditQuotasResponse* response) override {
    return rpc::Audit(context, auditor_, response);
  }

 private:
  const rpc::Writer<Lane> writer_;
  Lane& lane_;
  storage::Auditor& auditor_;
  const Clock& clock_;
  const Policy policy_;
  const std::shared_ptr<rpc::SlowCalls> slow_;
};

}  // namespace muster::quota
