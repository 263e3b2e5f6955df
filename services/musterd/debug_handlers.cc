#include "services/musterd/debug_handlers.h"

#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "services/common/error.h"
#include "services/lifecycle/books_auditor.h"
#include "services/lifecycle/lifecycle_service.h"
#include "services/rpc/unary.h"

namespace muster::musterd {
namespace {

// Of AuditBooks.
constexpr absl::Duration kDefaultSettle = absl::Seconds(5);
constexpr absl::Duration kMaxSettle = absl::Seconds(60);
constexpr size_t kMaxShown = 1000;

absl::StatusOr<absl::Duration> SettleOf(const debug::v1::AuditBooksRequest& request) {
  if (!request.has_settle()) return kDefaultSettle;
  const absl::Duration settle =
      absl::Seconds(request.settle().seconds()) + absl::Nanoseconds(request.settle().nanos());
  if (settle < absl::ZeroDuration() || settle > kMaxSettle)
    return error::InvalidField("settle", "must be 0 s to 60 s.");
  return settle;
}

void Fill(const lifecycle::BooksAuditor::Report& report, debug::v1::AuditBooksResponse& response) {
  for (size_t i = 0; i < report.lines.size() && i < kMaxShown; ++i) {
    const lifecycle::BooksLine& line = report.lines[i];
    auto* out = response.add_lines();
    out->set_organization(line.organization);
    out->set_zone(line.zone);
    out->set_instance_type(line.instance_type);
    out->set_compute_class(line.compute_class);
    out->set_node_pools(line.pools);
    out->set_nodes(line.nodes);
    out->set_charged(line.charged);
    out->set_machines(line.machines);
    out->set_configurations(line.configurations);
  }
  for (size_t i = 0; i < report.differences.size() && i < kMaxShown; ++i) {
    const lifecycle::Difference& difference = report.differences[i];
    auto* out = response.add_differences();
    out->set_kind(std::string(lifecycle::DifferenceKindName(difference.kind)));
    out->set_pool_uid(difference.pool_uid);
    out->set_node_pool(difference.pool);
    out->set_subject(difference.subject);
    out->set_message(difference.message);
  }
  response.set_line_count(static_cast<int64_t>(report.lines.size()));
  response.set_difference_count(static_cast<int64_t>(report.differences.size()));
  response.set_passing_count(report.passing);
  response.set_orphan_count(report.orphans);
  response.set_orphans_withheld(report.mass);
}

absl::StatusOr<debug::v1::CompareStateResponse> Compare(const std::vector<ServicePart>& parts) {
  debug::v1::CompareStateResponse response;
  for (const ServicePart& part : parts) {
    const absl::StatusOr<storage::Comparison> comparison = part.compare();
    if (!comparison.ok()) return comparison.status();
    auto* out = response.add_comparisons();
    out->set_service(part.name);
    out->set_revision(comparison->revision);
    out->set_resources(comparison->resources);
    out->set_whole_journal(comparison->whole_journal);
    for (const std::string& difference : comparison->differences) out->add_differences(difference);
  }
  return response;
}

}  // namespace

DebugHandlers::DebugHandlers(const std::vector<ServicePart>* parts,
                             lifecycle::LifecycleService* lifecycle)
    : parts_(*parts), lifecycle_(lifecycle), thread_([this] { Run(); }) {}

DebugHandlers::~DebugHandlers() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    wakes_.Signal();
  }
  thread_.join();
}

grpc::ServerUnaryReactor* DebugHandlers::CompareState(grpc::CallbackServerContext* context,
                                                      const debug::v1::CompareStateRequest*,
                                                      debug::v1::CompareStateResponse* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    auto shared = std::make_shared<rpc::Responder>(std::move(responder));
    MutexLock lock(mutex_);
    jobs_.push_back([this, shared, response] {
      absl::StatusOr<debug::v1::CompareStateResponse> compared = Compare(parts_);
      shared->Reply([&] {
        if (compared.ok()) *response = *std::move(compared);
        return compared.status();
      });
    });
    wakes_.Signal();
  });
}

grpc::ServerUnaryReactor* DebugHandlers::AuditBooks(grpc::CallbackServerContext* context,
                                                    const debug::v1::AuditBooksRequest* request,
                                                    debug::v1::AuditBooksResponse* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    const absl::StatusOr<absl::Duration> settle = SettleOf(*request);
    if (!settle.ok()) return responder.Finish(settle.status());
    if (lifecycle_ == nullptr) {
      return responder.Finish(
          absl::FailedPreconditionError("Ask a server of lifecycle: this one is none."));
    }
    lifecycle_->books_auditor().Audit(
        *settle, [response, shared = std::make_shared<rpc::Responder>(std::move(responder))](
                     const absl::StatusOr<lifecycle::BooksAuditor::Report>& report) {
          shared->Reply([&] {
            if (report.ok()) Fill(*report, *response);
            return report.status();
          });
        });
  });
}

grpc::ServerUnaryReactor* DebugHandlers::Ping(grpc::CallbackServerContext* context,
                                              const debug::v1::PingRequest*,
                                              debug::v1::PingResponse*) {
  return rpc::Unary(context, [](rpc::Responder responder) { responder.Finish(absl::OkStatus()); });
}

void DebugHandlers::Run() {
  while (true) {
    std::function<void()> job;
    {
      MutexLock lock(mutex_);
      while (jobs_.empty() && !stopping_) wakes_.Wait(mutex_);
      if (stopping_) return;  // what waits is answered by its responder's destructor
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job();
  }
}

}  // namespace muster::musterd
