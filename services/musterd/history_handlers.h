#pragma once

#include <muster/history/v1/history_service.grpc.pb.h>

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/cpu_share.h"
#include "services/common/place.h"
#include "services/musterd/service_part.h"
#include "services/rpc/slow_calls.h"

namespace muster::musterd {

// muster.history.v1.HistoryService over the journals of the process's services.
class HistoryHandlers final : public history::v1::HistoryService::CallbackService {
 public:
  // `parts` must outlive it. `cpu`: of all slow work of the process.
  HistoryHandlers(const std::vector<ServicePart>* parts, std::shared_ptr<CpuShare> cpu);

  grpc::ServerUnaryReactor* ListChanges(grpc::CallbackServerContext* context,
                                        const history::v1::ListChangesRequest* request,
                                        history::v1::ListChangesResponse* response) override;
  grpc::ServerUnaryReactor* GetPast(grpc::CallbackServerContext* context,
                                    const history::v1::GetPastRequest* request,
                                    history::v1::GetPastResponse* response) override;
  grpc::ServerUnaryReactor* ListPast(grpc::CallbackServerContext* context,
                                     const history::v1::ListPastRequest* request,
                                     history::v1::ListPastResponse* response) override;

  // Where a resource is, for callers that ask for its past. Machines, zones and what is in them
  // pass from hand to hand, so for these only the name counts.
  Place PlaceOf(absl::string_view name) const;
  // access::CatchUp for the state that PlaceOf reads.
  void CatchUp(std::function<void(const absl::Status&)> done, absl::Time deadline) const;

 private:
  // The service that keeps resources with such names; null: none in this process does.
  const ServicePart* PartOf(absl::string_view name) const;
  const ServicePart* PartOfCollection(absl::string_view collection) const;
  // Answers with what `ask(deadline)` returns, a StatusOr<Response>, when the call's turn has come
  // (SlowCalls).
  template <class Response, class Ask>
  void Answer(rpc::Responder responder, Response* response, Ask ask);

  const std::vector<ServicePart>& parts_;
  rpc::SlowCalls calls_;
};

}  // namespace muster::musterd
