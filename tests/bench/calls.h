#pragma once

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tests/bench/load.h"

namespace muster::bench {

// A generation beyond all that earlier callers of this process have sent: a caller sends fewer than
// 10,000 requests a second, each with the next one.
int64_t FirstGeneration();

// The credentials of all calls, by the flags of services/tls: mutual TLS, or plain text if none is
// given. Throws if a file cannot be used.
std::shared_ptr<grpc::ChannelCredentials> Credentials();

// Its connection's thread tells it of a call's end.
class Completion {
 public:
  virtual void Complete() = 0;

 protected:
  ~Completion() = default;
};

// A connection to the server that is measured, with one thread for all its calls: of gRPC's ways to
// call, the one that takes the least from the cores that client and server share. Thread-safe.
class Connection {
 public:
  // `target`: host:port. Connections with different numbers are different ones.
  Connection(const std::string& target, int number);
  // To be called after the last call was completed.
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  // Its tags are Completions.
  grpc::CompletionQueue& queue() { return queue_; }

 private:
  std::shared_ptr<grpc::Channel> channel_;
  grpc::CompletionQueue queue_;
  std::thread thread_;
};

// The connections that callers take turns on. Thread-safe.
class Connections {
 public:
  // Two: more only cost, and one carries no more than 1,000 calls at a time.
  explicit Connections(const std::string& target, int count = 2);

  Connection& Of(size_t caller) const { return *connections_[caller % connections_.size()]; }

 private:
  std::vector<std::unique_ptr<Connection>> connections_;
};

// A caller of one unary RPC. Nothing is allocated a call but what gRPC and protobuf allocate.
template <class Service, class Request, class Response>
class UnaryCaller final : public Caller, private Completion {
 public:
  using Stub = typename Service::Stub;
  using Reader = grpc::ClientAsyncResponseReader<Response>;
  // The stub's PrepareAsync*.
  using Method = std::unique_ptr<Reader> (Stub::*)(grpc::ClientContext*, const Request&,
                                                   grpc::CompletionQueue*);
  // Makes the request of the next call out of that of the last one.
  using Prepare = std::function<void(Request&)>;
  // Evaluates an answer that is OK. An error counts as many failures as the last such answer had
  // operations.
  using Evaluate = std::function<Outcome(const Response&)>;

  UnaryCaller(Connection& connection, Method method, Prepare prepare, Evaluate evaluate)
      : queue_(connection.queue()),
        stub_(Service::NewStub(connection.channel())),
        method_(method),
        prepare_(std::move(prepare)),
        evaluate_(std::move(evaluate)) {}

  void Issue(Listener& listener) override {
    listener_ = &listener;
    prepare_(request_);
    reader_.reset();
    context_.emplace();
    context_->set_wait_for_ready(true);
    reader_ = ((*stub_).*method_)(&*context_, request_, &queue_);
    reader_->StartCall();
    reader_->Finish(&response_, &status_, static_cast<Completion*>(this));
  }

 private:
  void Complete() override {
    if (status_.ok()) {
      last_ = evaluate_(response_);
    } else {
      last_.failed = last_.operations;
    }
    listener_->Answered(last_);
  }

  grpc::CompletionQueue& queue_;
  const std::unique_ptr<Stub> stub_;
  const Method method_;
  const Prepare prepare_;
  const Evaluate evaluate_;
  Listener* listener_ = nullptr;
  std::optional<grpc::ClientContext> context_;
  std::unique_ptr<Reader> reader_;
  Request request_;
  Response response_;
  grpc::Status status_;
  Outcome last_;
};

template <class Service, class Request, class Response>
std::unique_ptr<Caller> MakeCaller(
    Connection& connection, typename UnaryCaller<Service, Request, Response>::Method method,
    typename UnaryCaller<Service, Request, Response>::Prepare prepare,
    typename UnaryCaller<Service, Request, Response>::Evaluate evaluate) {
  return std::make_unique<UnaryCaller<Service, Request, Response>>(
      connection, method, std::move(prepare), std::move(evaluate));
}

// A blocking call, for setting up. The error names the request.
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
