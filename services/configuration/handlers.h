#pragma once

#include <muster/configuration/v1/configuration_service.grpc.pb.h>

#include "services/configuration/core/breaker.h"
#include "services/configuration/store/lane.h"
#include "services/rpc/write.h"

namespace muster::configuration {

// Parse, validate, hand to the lane, render. Never blocks. Thread-safe. What each RPC means:
// configuration_service.proto.
class Handlers final : public v1::ConfigurationService::CallbackService {
 public:
  // The writer's lane must outlive the handlers.
  Handlers(const rpc::Writer<Lane>& writer, const Policy& policy)
      : writer_(writer), lane_(*writer.lane), policy_(policy) {}

  template <class Response>
  using Stream = grpc::ServerWriteReactor<Response>*;
  using Unary = grpc::ServerUnaryReactor*;
  using Context = grpc::CallbackServerContext*;

  // writes.cc
  Unary PublishRelease(Context context, const v1::PublishReleaseRequest* request,
                       v1::Release* response) override;
  Unary WithdrawRelease(Context context, const v1::WithdrawReleaseRequest* request,
                        v1::Release* response) override;
  Unary DeleteRelease(Context context, const v1::DeleteReleaseRequest* request,
                      google::protobuf::Empty* response) override;
  Unary SyncPoolConfiguration(Context context, const v1::SyncPoolConfigurationRequest* request,
                              v1::PoolConfiguration* response) override;
  Unary BatchSyncPoolConfigurations(Context context,
                                    const v1::BatchSyncPoolConfigurationsRequest* request,
                                    v1::BatchSyncPoolConfigurationsResponse* response) override;
  Unary CheckPoolConfigurations(Context context, const v1::CheckPoolConfigurationsRequest* request,
                                v1::CheckPoolConfigurationsResponse* response) override;
  Unary PromoteConfiguration(Context context, const v1::PromoteConfigurationRequest* request,
                             v1::PoolConfiguration* response) override;
  Unary RollbackConfiguration(Context context, const v1::RollbackConfigurationRequest* request,
                              v1::PoolConfiguration* response) override;
  Unary EnableRevision(Context context, const v1::EnableRevisionRequest* request,
                       v1::PoolConfiguration* response) override;

  // reads.cc
  Unary GetRelease(Context context, const v1::GetReleaseRequest* request,
                   v1::Release* response) override;
  Unary ListReleases(Context context, const v1::ListReleasesRequest* request,
                     v1::ListReleasesResponse* response) override;
  Unary GetNodeProfile(Context context, const v1::GetNodeProfileRequest* request,
                       v1::NodeProfile* response) override;
  Unary ListNodeProfiles(Context context, const v1::ListNodeProfilesRequest* request,
                         v1::ListNodeProfilesResponse* response) override;
  Unary GetPoolConfiguration(Context context, const v1::GetPoolConfigurationRequest* request,
                             v1::PoolConfiguration* response) override;
  Unary ListPoolConfigurations(Context context, const v1::ListPoolConfigurationsRequest* request,
                               v1::ListPoolConfigurationsResponse* response) override;
  Stream<v1::WatchConfigurationsResponse> WatchConfigurations(
      Context context, const v1::WatchConfigurationsRequest* request) override;

 private:
  const rpc::Writer<Lane> writer_;
  Lane& lane_;
  const Policy policy_;
};

}  // namespace muster::configuration
