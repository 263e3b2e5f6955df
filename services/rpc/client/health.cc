#include "services/rpc/client/health.h"

#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>

#include <future>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/clock.h"

namespace muster::rpc {
namespace {

// Debian ships no stub of the health service. The request's field 1 is the service's name (shorter
// than 128 bytes); field 1 of the answer is 1 when it serves.
grpc::ByteBuffer RequestFor(const std::string& service) {
  std::string bytes;
  if (!service.empty()) {
    bytes = {'\x0a', static_cast<char>(service.size())};
    bytes += service;
  }
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}

}  // namespace

HealthAnswer AskHealth(const std::shared_ptr<grpc::Channel>& channel, const std::string& service,
                       absl::Duration patience) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + patience));
  const grpc::ByteBuffer request = RequestFor(service);
  grpc::ByteBuffer response;
  std::promise<grpc::Status> done;
  stub.UnaryCall(&context, "/grpc.health.v1.Health/Check", {}, &request, &response,
                 [&](grpc::Status status) { done.set_value(std::move(status)); });
  std::vector<grpc::Slice> slices;
  if (!done.get_future().get().ok() || !response.Dump(&slices).ok()) return HealthAnswer::kNone;
  std::string bytes;
  for (const grpc::Slice& slice : slices)
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes == absl::string_view("\x08\x01") ? HealthAnswer::kServing
                                                : HealthAnswer::kNotServing;
}

}  // namespace muster::rpc
