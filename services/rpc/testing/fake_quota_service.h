#pragma once

#include <muster/quota/v1/quota_service.grpc.pb.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "services/common/log.h"
#include "services/common/mutex.h"
#include "services/rpc/metrics.h"
#include "services/rpc/server.h"
#include "services/rpc/status.h"

// For the tests of this folder: a service whose methods do what the test says, and a
// server around it.
namespace muster::rpc {

namespace v1 = quota::v1;

// A quota of the organization that a caller is given a role in, and one of another.
inline constexpr char kOwnQuota[] = "organizations/acme/quotas/US-EAST-04A~t~default";
inline constexpr char kForeignQuota[] = "organizations/beta/quotas/US-EAST-04A~t~default";

class FakeQuotaService final : public v1::QuotaService::CallbackService {
 public:
  std::function<grpc::ServerUnaryReactor*(grpc::CallbackServerContext*, const v1::GetQuotaRequest*,
                                          v1::Quota*)>
      get = {};
  std::function<grpc::ServerUnaryReactor*(grpc::CallbackServerContext*,
                                          const v1::CreateQuotaRequest*, v1::Quota*)>
      create = {};
  std::function<grpc::ServerWriteReactor<v1::WatchQuotasResponse>*(grpc::CallbackServerContext*)>
      watch = {};

  grpc::ServerUnaryReactor* GetQuota(grpc::CallbackServerContext* context,
                                     const v1::GetQuotaRequest* request,
                                     v1::Quota* response) override {
    return get(context, request, response);
  }
  grpc::ServerUnaryReactor* CreateQuota(grpc::CallbackServerContext* context,
                                        const v1::CreateQuotaRequest* request,
                                        v1::Quota* response) override {
    return create(context, request, response);
  }
  grpc::ServerWriteReactor<v1::WatchQuotasResponse>* WatchQuotas(
      grpc::CallbackServerContext* context, const v1::WatchQuotasRequest*) override {
    return watch(context);
  }
};

class FakeServer {
 public:
  explicit FakeServer(std::function<void(ServerOptions&)> change = [](ServerOptions&) {}) {
    ServerOptions options;
    options.addresses = {"127.0.0.1:0"};
    options.services = {{v1::QuotaService::service_full_name(), &service}};
    options.metrics = &metrics;
    options.drain_delay = absl::ZeroDuration();
    change(options);
    server = Server::Create(std::move(options)).value();
    const absl::Status started = server->Start();
    if (!started.ok()) throw std::runtime_error(started.ToString());
    stub = v1::QuotaService::NewStub(server->InProcessChannel());
  }

  std::string address() const { return absl::StrCat("127.0.0.1:", server->port()); }

  FakeQuotaService service;
  Metrics metrics;
  std::unique_ptr<Server> server;
  std::unique_ptr<v1::QuotaService::Stub> stub;
};

// Waits for the answer, so long at most.
inline absl::StatusOr<v1::Quota> GetQuota(v1::QuotaService::Stub& stub, const std::string& name,
                                          absl::Duration time = absl::InfiniteDuration()) {
  grpc::ClientContext context;
  if (time < absl::InfiniteDuration()) context.set_deadline(absl::ToChronoTime(absl::Now() + time));
  v1::GetQuotaRequest request;
  request.set_name(name);
  v1::Quota response;
  const absl::Status status = FromGrpcStatus(stub.GetQuota(&context, request, &response));
  if (!status.ok()) return status;
  return response;
}

// Catches the log's lines while it lives.
class CaughtLog {
 public:
  CaughtLog() {
    log::SetSink([this](absl::string_view line) {
      MutexLock lock(mutex_);
      text_.append(line.data(), line.size());
      text_ += '\n';
    });
  }
  ~CaughtLog() { log::SetSink({}); }
  std::string text() const {
    MutexLock lock(mutex_);
    return text_;
  }

 private:
  mutable Mutex mutex_;
  std::string text_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::rpc
