#include "services/rpc/checked_service.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "services/rpc/checked_handler.h"

namespace muster::rpc::internal {
namespace {

using google::protobuf::MethodDescriptor;
using grpc::internal::MethodHandler;
using grpc::internal::RpcMethod;
using grpc::internal::RpcServiceMethod;

// gRPC shows a service's handlers to the service itself only.
struct Handlers : grpc::Service {
  static MethodHandler* Of(grpc::Service& service, int index) {
    return (service.*&Handlers::GetHandler)(index);
  }
};

}  // namespace

CheckedService::CheckedService(const google::protobuf::ServiceDescriptor& type,
                               grpc::Service& service, const std::set<std::string>& closed,
                               const Guard* guard, access::PlaceOf place_of,
                               access::CatchUp catch_up, access::Answered answered)
    : place_of_(std::move(place_of)),
      catch_up_(std::move(catch_up)),
      answered_(std::move(answered)) {
  for (int i = 0; i < type.method_count(); ++i) {
    const MethodDescriptor& method = *type.method(i);
    names_.push_back(absl::StrCat("/", type.full_name(), "/", method.name()));
    AddMethod(new RpcServiceMethod(
        names_.back().c_str(),
        method.server_streaming() ? RpcMethod::SERVER_STREAMING : RpcMethod::NORMAL_RPC, nullptr));
    MarkMethodCallback(
        i, new CheckedHandler(method, *Handlers::Of(service, i), closed.contains(names_.back()),
                              *guard, place_of_, catch_up_, answered_));
  }
}

}  // namespace muster::rpc::internal
