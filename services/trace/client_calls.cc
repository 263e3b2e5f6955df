#include "services/trace/client_calls.h"

#include <grpcpp/client_context.h>
#include <grpcpp/support/interceptor.h>

#include "absl/time/clock.h"
#include "services/trace/rpc_span.h"
#include "services/trace/span.h"

namespace muster::trace {
namespace {

using grpc::experimental::ClientInterceptorFactoryInterface;
using grpc::experimental::ClientRpcInfo;
using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::Interceptor;
using grpc::experimental::InterceptorBatchMethods;

// A call under way.
class ClientSpan final : public Interceptor {
 public:
  ClientSpan(const TraceContext& context, const TraceContext& parent, absl::string_view method)
      : span_(RpcSpan(SpanKind::kClient, context, parent.span_id, method, absl::Now())) {}

  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_STATUS) &&
        methods->GetRecvStatus() != nullptr) {
      const grpc::Status& status = *methods->GetRecvStatus();
      EndRpcSpan(span_, status.error_code(), status.error_message(), absl::Now());
      Record(std::move(span_));
    }
    methods->Proceed();
  }

 private:
  Span span_;
};

class Factory final : public ClientInterceptorFactoryInterface {
 public:
  Interceptor* CreateClientInterceptor(ClientRpcInfo* info) override {
    const TraceContext parent = CurrentTrace::Get();
    TraceContext context = parent.valid() ? parent : Begin();
    const bool recorded = Recording(context);
    if (recorded && parent.valid()) context = parent.Child();
    info->client_context()->AddMetadata("traceparent", context.ToHeader());
    return recorded ? new ClientSpan(context, parent, info->method()) : nullptr;
  }
};

}  // namespace

std::vector<std::unique_ptr<ClientInterceptorFactoryInterface>> ClientCalls() {
  std::vector<std::unique_ptr<ClientInterceptorFactoryInterface>> factories;
  factories.push_back(std::make_unique<Factory>());
  return factories;
}

}  // namespace muster::trace
