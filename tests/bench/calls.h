#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/client_callback.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tests/bench/load.h"

namespace muster::bench {

// The connections to the server that is measured. Thread-safe.
class Connections {
 public:
  // `target`: host:port. Two: more only cost, fewer are one HTTP/2 flow window.
  explicit Connections(const std::string& target, int count = 2);

  const std::shared_ptr<grpc::Channel>& Of(size_t caller) const {
    return channels_[caller % channels_.size()];
  }

 private:
  std::vector<std::shared_ptr<grpc::Channel>> channels_;
};

// A caller of one unary RPC. Nothing is allocated a call but what gRPC and protobuf allocate:
// the client shares the cores with what it measures.
template <class Service, class Request, class Response>
class UnaryCaller : public Caller, private grpc::ClientUnaryReactor {
 public:
  using Stub = typename Service::Stub;
  using Method = void (Service::StubInterface::async_interface::*)(grpc::ClientContext*,
                                                                   const Request*, Response*,
                                                                   grpc::ClientUnaryReactor*);
  // Makes the request of the next call out of that of the last one.
  using Prepare = std::function<void(Request&)>;
  // Judges an answer that is OK. An error is as many failures as the last OK answer had operations.
  using Judge = std::function<Outcome(const Response&)>;

  UnaryCaller(const std::shared_ptr<grpc::Channel>& channel, Method method, Prepare prepare,
              Judge judge)
      : stub_(Service::NewStub(channel)),
        method_(method),
        prepare_(std::move(prepare)),
        judge_(std::move(judge)) {}

  void Issue(Listener& listener) override {
    listener_ = &listener;
    prepare_(request_);
    context_.emplace();
    context_->set_wait_for_ready(true);
    (stub_->async()->*method_)(&*context_, &request_, &response_, this);
    StartCall();
  }

 private:
  void OnDone(const grpc::Status& status) override {
    if (status.ok()) {
      last_ = judge_(response_);
    } else {
      last_.failed = last_.operations;
    }
    listener_->Answered(last_);
  }

  const std::unique_ptr<Stub> stub_;
  const Method method_;
  const Prepare prepare_;
  const Judge judge_;
  Listener* listener_ = nullptr;
  std::optional<grpc::ClientContext> context_;
  Request request_;
  Response response_;
  Outcome last_;
};

template <class Service, class Request, class Response>
std::unique_ptr<Caller> MakeCaller(
    const std::shared_ptr<grpc::Channel>& channel,
    typename UnaryCaller<Service, Request, Response>::Method method,
    typename UnaryCaller<Service, Request, Response>::Prepare prepare,
    typename UnaryCaller<Service, Request, Response>::Judge judge) {
  return std::make_unique<UnaryCaller<Service, Request, Response>>(
      channel, method, std::move(prepare), std::move(judge));
}

// A blocking call, for setting up. The error names the method.
template <class Stub, class Request, class Response>
absl::StatusOr<Response> Ask(Stub& stub,
                             grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                          Response*),
                             const Request& request) {
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  Response response;
  const grpc::Status status = (stub.*method)(&context, request, &response);
  if (status.ok()) return response;
  return absl::Status(
      static_cast<absl::StatusCode>(status.error_code()),
      absl::StrCat(Request::descriptor()->full_name(), ": ", status.error_message()));
}

}  // namespace muster::bench
