#pragma once

#include <muster/history/v1/history_service.grpc.pb.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "services/common/job_queue.h"
#include "services/common/mutex.h"
#include "services/common/place.h"
#include "services/musterd/service_part.h"
#include "services/rpc/unary.h"

namespace muster::musterd {

// muster.history.v1.HistoryService over the journals of the process's services. They are read on threads of its own, a few at a
// time: what waits is bounded, a caller's share of it too, and what nobody waits for any more is not read.
class HistoryHandlers final : public history::v1::HistoryService::CallbackService {
 public:
  // `parts` must outlive it.
  explicit HistoryHandlers(const std::vector<ServicePart>* parts);

  grpc::ServerUnaryReactor* ListChanges(grpc::CallbackServerContext* context,
                                        const history::v1::ListChangesRequest* request,
                                        history::v1::ListChangesResponse* response) override;
  grpc::ServerUnaryReactor* GetPast(grpc::CallbackServerContext* context,
                                    const history::v1::GetPastRequest* request,
                                    history::v1::GetPastResponse* response) override;
  grpc::ServerUnaryReactor* ListPast(grpc::CallbackServerContext* context,
                                     const history::v1::ListPastRequest* request,
                                     history::v1::ListPastResponse* response) override;

  // Where a resource is for who asks for its past: machines, zones and what is in them pass from hand to hand, so their name alone
  // counts.
  Place PlaceOf(absl::string_view name) const;

 private:
  struct Job {
    std::shared_ptr<rpc::Responder> responder = {};
    uint64_t turn = 0;  // access::TurnOf its caller
    std::function<void(rpc::Responder&)> read = {};
  };

  // The service that keeps resources of such names; null: none of this process does.
  const ServicePart* PartOf(absl::string_view name) const;
  const ServicePart* PartOfCollection(absl::string_view collection) const;
  // Answers with what `ask(deadline)` gives, a StatusOr<Response>, when its turn has come.
  template <class Response, class Ask>
  void Answer(rpc::Responder responder, Response* response, Ask ask);
  // Has `read` called, which answers, or refuses the call.
  void Enqueue(rpc::Responder responder, std::function<void(rpc::Responder&)> read);
  // Whether there is room for one more of such callers; then it is taken until Leave.
  bool Enter(uint64_t turn);
  void Leave(uint64_t turn);
  void Run(Job& job);

  const std::vector<ServicePart>& parts_;
  Mutex mutex_;
  std::map<uint64_t, int> waiting_ MUSTER_GUARDED_BY(mutex_);  // jobs, by their callers' turns
  JobQueue<Job> jobs_;
};

}  // namespace muster::musterd
