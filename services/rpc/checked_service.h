#pragma once

#include <google/protobuf/descriptor.h>
#include <grpcpp/impl/service_type.h>

#include <deque>
#include <set>
#include <string>

#include "services/access/method_access.h"
#include "services/rpc/guard.h"

namespace muster::rpc::internal {

// Another service, whose requests are held against CheckBounds (request_bounds.h) before they are
// parsed. What is out of bounds, and bytes that are no such message, are answered INVALID_ARGUMENT,
// counted and logged as any other call (gRPC's callback API says UNIMPLEMENTED to the latter, which
// clients take for an old server); a request for which there is no memory, RESOURCE_EXHAUSTED; whom
// the policy does not let in, what `guard` says.
//
// The one place that knows gRPC's handlers from within: it stands between gRPC and those of the
// generated code, which it finds by their order.
class CheckedService final : public grpc::Service {
 public:
  // `service`: of the callback API, each method unary or a stream of answers; `type`: its own. It
  // and `guard` must outlive this. `closed`: methods, `/package.Service/Method`, that are refused.
  // `place_of`: of the service's resources; `catch_up`: what is not seen where that state may be old is looked for once more when it is
  // not. Null: it never is. `answered`: who repeats what it was answered, about what is gone since, gets to the service all the same
  // (Caller::unless_repeated). Null: nobody does.
  CheckedService(const google::protobuf::ServiceDescriptor& type, grpc::Service& service,
                 const std::set<std::string>& closed, const Guard* guard, access::PlaceOf place_of,
                 access::CatchUp catch_up, access::Answered answered);

 private:
  const access::PlaceOf place_of_;
  const access::CatchUp catch_up_;
  const access::Answered answered_;
  std::deque<std::string> names_;  // of the methods, which gRPC keeps by their address
};

}  // namespace muster::rpc::internal
