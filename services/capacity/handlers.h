#pragma once

#include <muster/capacity/v1/capacity_service.grpc.pb.h>

#include <memory>
#include <utility>

#include "services/capacity/core/decide.h"
#include "services/capacity/store/lane.h"
#include "services/common/clock.h"
#include "services/common/cpu_share.h"
#include "services/rpc/audit.h"
#include "services/rpc/slow_calls.h"
#include "services/rpc/write.h"
#include "storage/postgres/auditor.h"

namespace muster::capacity {

// Parse, validate, hand to the lane, render. Never blocks. Thread-safe. What each RPC means:
// capacity_service.proto.
class Handlers final : public v1::CapacityService::CallbackService {
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
  Unary UpdateZone(Context context, const v1::UpdateZoneRequest* request,
                   v1::Zone* response) override;
  Unary UpdateInstanceType(Context context, const v1::UpdateInstanceTypeRequest* request,
                           v1::InstanceType* response) override;
  Unary BatchRegisterMachines(Context context, const v1::BatchRegisterMachinesRequest* request,
                              v1::BatchRegisterMachinesResponse* response) override;
  Unary SetMachineState(Context context, const v1::SetMachineStateRequest* request,
                        v1::Machine* response) override;
  Unary DeleteZone(Context context, const v1::DeleteZoneRequest* request,
                   google::protobuf::Empty* response) override;
  Unary DeleteInstanceType(Context context, const v1::DeleteInstanceTypeRequest* request,
                           google::protobuf::Empty* response) override;
  Unary DeleteMachine(Context context, const v1::DeleteMachineRequest* request,
                      google::protobuf::Empty* response) override;
  Unary SyncClaim(Context context, const v1::SyncClaimRequest* request,
                  v1::Claim* response) override;
  Unary BatchSyncClaims(Context context, const v1::BatchSyncClaimsRequest* request,
                        v1::BatchSyncClaimsResponse* response) override;
  Unary CheckClaims(Context context, const v1::CheckClaimsRequest* request,
                    v1::CheckClaimsResponse* response) override;

  // reads.cc
  Unary GetZone(Context context, const v1::GetZoneRequest* request, v1::Zone* response) override;
  Unary ListZones(Context context, const v1::ListZonesRequest* request,
                  v1::ListZonesResponse* response) override;
  Unary GetInstanceType(Context context, const v1::GetInstanceTypeRequest* request,
                        v1::InstanceType* response) override;
  Unary ListInstanceTypes(Context context, const v1::ListInstanceTypesRequest* request,
                          v1::ListInstanceTypesResponse* response) override;
  Unary GetMachine(Context context, const v1::GetMachineRequest* request,
                   v1::Machine* response) override;
  Unary ListMachines(Context context, const v1::ListMachinesRequest* request,
                     v1::ListMachinesResponse* response) override;
  Unary GetClaim(Context context, const v1::GetClaimRequest* request, v1::Claim* response) override;
  Unary ListClaims(Context context, const v1::ListClaimsRequest* request,
                   v1::ListClaimsResponse* response) override;
  Stream<v1::WatchClaimsResponse> WatchClaims(Context context,
                                              const v1::WatchClaimsRequest* request) override;
  Stream<v1::WatchCapacityResponse> WatchCapacity(Context context,
                                                  const v1::WatchCapacityRequest* request) override;

  // questions.cc
  Unary ExplainClaim(Context context, const v1::ExplainClaimRequest* request,
                     v1::ExplainClaimResponse* response) override;
  Unary FindPlacements(Context context, const v1::FindPlacementsRequest* request,
                       v1::FindPlacementsResponse* response) override;
  Unary AuditCapacity(Context context, const v1::AuditCapacityRequest*,
                      v1::AuditCapacityResponse* response) override {
    return rpc::Audit(context, auditor_, response);
  }

 private:
  const rpc::Writer<Lane> writer_;
  Lane& lane_;
  storage::Auditor& auditor_;
  const Clock& clock_;
  const Policy policy_;
  // Each question may look at every machine.
  const std::shared_ptr<rpc::SlowCalls> slow_;
};

}  // namespace muster::capacity
