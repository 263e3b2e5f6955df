#include "services/musterd/debug_handlers.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "services/common/error.h"
#include "services/common/log.h"
#include "services/common/shared_runs.h"
#include "services/common/status_macros.h"
#include "services/lifecycle/api/books_auditor.h"
#include "services/lifecycle/lifecycle_service.h"
#include "services/rpc/unary.h"

namespace muster::musterd {
namespace {

// Of AuditBooks.
constexpr absl::Duration kDefaultSettle = absl::Seconds(5);
constexpr absl::Duration kMaxSettle = absl::Seconds(60);
constexpr size_t kMaxShown = 1000;
// For a comparison.
constexpr size_t kMostWaiting = 64;

// A call that is left unanswered had a caller that has gone.
std::shared_ptr<rpc::Responder> Shared(rpc::Responder responder) {
  return {new rpc::Responder(std::move(responder)), [](rpc::Responder* shared) {
            shared->Finish(absl::CancelledError("Its caller has gone."));
            delete shared;
          }};
}

// `fill(value)` writes the response.
template <class Answer, class Fill>
RunAsker<Answer> AskerOf(std::shared_ptr<rpc::Responder> responder, Fill fill) {
  return {[responder] { return responder->gone(); },
          [responder, fill](const Answer& answer) {
            responder->Reply([&] {
              if (answer.ok()) fill(*answer);
              return answer.status();
            });
          }};
}

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
  response.set_orphans_withheld(report.withheld);
}

void Fill(const std::string& service, const storage::Comparison& comparison,
          debug::v1::CompareStateResponse::Comparison& out) {
  out.set_service(service);
  out.set_revision(comparison.revision);
  out.set_resources(comparison.resources);
  out.set_whole_journal(comparison.whole_journal);
  for (const std::string& difference : comparison.differences) out.add_differences(difference);
}

debug::v1::LogLevel ToProto(log::Level level) {
  switch (level) {
    case log::Level::kDebug:
      return debug::v1::LOG_LEVEL_DEBUG;
    case log::Level::kInfo:
      return debug::v1::LOG_LEVEL_INFO;
    case log::Level::kWarn:
      return debug::v1::LOG_LEVEL_WARN;
    case log::Level::kError:
      return debug::v1::LOG_LEVEL_ERROR;
  }
  return debug::v1::LOG_LEVEL_UNSPECIFIED;
}

// nullopt: not a level that is known.
std::optional<log::Level> FromProto(debug::v1::LogLevel level) {
  for (const log::Level known :
       {log::Level::kDebug, log::Level::kInfo, log::Level::kWarn, log::Level::kError}) {
    if (ToProto(known) == level) return known;
  }
  return std::nullopt;
}

}  // namespace

DebugHandlers::DebugHandlers(const std::vector<ServicePart>* parts,
                             lifecycle::LifecycleService* lifecycle, std::shared_ptr<CpuShare> cpu)
    : parts_(*parts),
      lifecycle_(lifecycle),
      comparisons_([this](std::monostate,
                          absl::FunctionRef<bool()> abandoned) { return Compare(abandoned); },
                   kMostWaiting, std::move(cpu)) {}

grpc::ServerUnaryReactor* DebugHandlers::CompareState(grpc::CallbackServerContext* context,
                                                      const debug::v1::CompareStateRequest*,
                                                      debug::v1::CompareStateResponse* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    const auto shared = Shared(std::move(responder));
    const auto fill = [response](const debug::v1::CompareStateResponse& compared) {
      *response = compared;
    };
    if (!comparisons_.Ask({}, AskerOf<Comparisons>(shared, fill)))
      shared->Finish(error::Unavailable("Too many wait for a comparison."));
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
    const auto fill = [response](const lifecycle::BooksAuditor::Report& report) {
      Fill(report, *response);
    };
    lifecycle_->books_auditor().Audit(*settle,
                                      AskerOf<absl::StatusOr<lifecycle::BooksAuditor::Report>>(
                                          Shared(std::move(responder)), fill));
  });
}

grpc::ServerUnaryReactor* DebugHandlers::GetLogLevel(grpc::CallbackServerContext* context,
                                                     const debug::v1::GetLogLevelRequest*,
                                                     debug::v1::GetLogLevelResponse* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    response->set_level(ToProto(log::CurrentLevel()));
    responder.Finish(absl::OkStatus());
  });
}

grpc::ServerUnaryReactor* DebugHandlers::SetLogLevel(grpc::CallbackServerContext* context,
                                                     const debug::v1::SetLogLevelRequest* request,
                                                     debug::v1::SetLogLevelResponse* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    const std::optional<log::Level> level = FromProto(request->level());
    if (!level) {
      return responder.Finish(
          error::InvalidField("level", "must be one of LogLevel: debug, info, warn or error."));
    }
    if (*level != log::CurrentLevel())
      log::Warn("the log's level is set", {{"level", log::LevelName(*level)}});
    log::SetLevel(*level);
    response->set_level(ToProto(*level));
    responder.Finish(absl::OkStatus());
  });
}

grpc::ServerUnaryReactor* DebugHandlers::Ping(grpc::CallbackServerContext* context,
                                              const debug::v1::PingRequest*,
                                              debug::v1::PingResponse*) {
  return rpc::Unary(context, [](rpc::Responder responder) { responder.Finish(absl::OkStatus()); });
}

DebugHandlers::Comparisons DebugHandlers::Compare(absl::FunctionRef<bool()> abandoned) const {
  debug::v1::CompareStateResponse compared;
  for (const ServicePart& part : parts_) {
    if (abandoned()) return absl::CancelledError("Nobody waits for it any more.");
    ASSIGN_OR_RETURN(const storage::Comparison comparison, part.compare());
    Fill(part.name, comparison, *compared.add_comparisons());
  }
  return compared;
}

}  // namespace muster::musterd
