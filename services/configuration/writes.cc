#include <google/protobuf/empty.pb.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "services/configuration/core/decide.h"
#include "services/configuration/core/limits.h"
#include "services/configuration/core/names.h"
#include "services/configuration/core/orders.h"
#include "services/configuration/core/validate.h"
#include "services/configuration/handlers.h"
#include "services/configuration/wire/configuration_wire.h"
#include "services/rpc/batch.h"
#include "services/rpc/write.h"

namespace muster::configuration {
namespace {

using error::Faults;

// The command that a release's name stands for; `field`: where the caller wrote it.
template <class Command>
Command ParseRelease(const std::string& name, absl::string_view field, Faults& faults) {
  const auto release = ParseReleaseName(name);
  faults.Require(release.has_value(), field, kReleaseNameShape);
  if (!release) return {};
  return {
      .channel = release->channel, .component = release->component, .version = release->version};
}

// The pool uid in `name`.
std::string ParsePool(const std::string& name, Faults& faults) {
  const auto pool_uid = ParsePoolConfigurationName(name);
  faults.Require(pool_uid.has_value(), "name", kPoolConfigurationNameShape);
  return pool_uid.value_or("");
}

SyncPool ParseEntry(const v1::ConfigurationRequest& request, absl::string_view path,
                    Faults& faults) {
  SyncPool command = FromProto(request, path, faults);
  Validate(command, path, faults);
  return command;
}

template <class Request, class Parse>
std::vector<SyncPool> ParseEntries(const Request& request, Parse parse, Faults& faults) {
  return rpc::ParseBatch(
      request.configurations(), {.field = "configurations", .max = kMaxBatch, .key = "pool_uid"},
      [](const v1::ConfigurationRequest& entry) { return absl::string_view(entry.pool_uid()); },
      parse, faults);
}

template <class Request>
OrderPool ParseOrder(const Request& request, OrderKind kind, absl::string_view by_default,
                     Faults& faults) {
  OrderPool order = {ParsePool(request.name(), faults), kind, request.node_profile()};
  if constexpr (requires { request.rollback(); }) order.rollback = request.rollback();
  if (order.requested.empty()) order.requested = std::string(by_default);
  Validate(order, faults);
  return order;
}

// Requests as commands, checked.
struct Parse {
  PublishRelease operator()(const v1::PublishReleaseRequest& request, Faults& faults) const {
    return ParseRelease<PublishRelease>(request.release().name(), "release.name", faults);
  }
  WithdrawRelease operator()(const v1::WithdrawReleaseRequest& request, Faults& faults) const {
    return ParseRelease<WithdrawRelease>(request.name(), "name", faults);
  }
  DeleteRelease operator()(const v1::DeleteReleaseRequest& request, Faults& faults) const {
    auto command = ParseRelease<DeleteRelease>(request.name(), "name", faults);
    command.allow_missing = request.allow_missing();
    return command;
  }
  SyncPool operator()(const v1::SyncPoolConfigurationRequest& request, Faults& faults) const {
    return ParseEntry(request.configuration(), "configuration", faults);
  }
  SyncPools operator()(const v1::BatchSyncPoolConfigurationsRequest& request,
                       Faults& faults) const {
    return {ParseEntries(request, &ParseEntry, faults)};
  }
  SyncPools operator()(const v1::CheckPoolConfigurationsRequest& request, Faults& faults) const {
    return {ParseEntries(
        request,
        [](const v1::ConfigurationRequest& entry, absl::string_view path, Faults& found) {
          return rpc::ParseChecked(entry, path, &ParseEntry, found);
        },
        faults)};
  }
  OrderPool operator()(const v1::PromoteConfigurationRequest& request, Faults& faults) const {
    return ParseOrder(request, OrderKind::kPromote, kPendingWord, faults);
  }
  OrderPool operator()(const v1::RollbackConfigurationRequest& request, Faults& faults) const {
    return ParseOrder(request, OrderKind::kRollback, kPreviousWord, faults);
  }
  EnableRevision operator()(const v1::EnableRevisionRequest& request, Faults& faults) const {
    EnableRevision command = {ParsePool(request.name(), faults), request.node_profile()};
    Validate(command, faults);
    return command;
  }
};

struct DecideAs {
  Policy policy = {};
  template <class Command>
  auto operator()(StagedState<State>& staged, const Command& command, absl::Time now) const {
    if constexpr (requires { Decide(staged, command, now, policy); }) {
      return Decide(staged, command, now, policy);
    } else {
      return Decide(staged, command, now);
    }
  }
};

// What came of a command as its response, or as what the caller gets instead.
struct Render {
  absl::Status operator()(std::monostate, google::protobuf::Empty&) const {
    return absl::OkStatus();
  }
  template <class Row, class Response>
  absl::Status operator()(const Row& row, Response& response) const {
    response = ToProto(row);
    return absl::OkStatus();
  }
  absl::Status operator()(const OrderResult& answer, v1::PoolConfiguration& response) const {
    if (answer.refusal.ok()) response = ToProto(answer.pool);
    return answer.refusal;
  }
  template <class Response>
  absl::Status operator()(const std::vector<absl::StatusOr<PoolConfiguration>>& answers,
                          Response& response) const {
    rpc::RenderResults(answers, response.mutable_results(),
                       [](const PoolConfiguration& row, auto& result) {
                         *result.mutable_configuration() = ToProto(row);
                       });
    return absl::OkStatus();
  }
};

}  // namespace

Handlers::Unary Handlers::PublishRelease(Context context, const v1::PublishReleaseRequest* request,
                                         v1::Release* response) {
  return rpc::Write(context, writer_, *request, response, Parse(), DecideAs{policy_}, Render());
}

Handlers::Unary Handlers::WithdrawRelease(Context context,
                                          const v1::WithdrawReleaseRequest* request,
                                          v1::Release* response) {
  return rpc::Write(context, writer_, *request, response, Parse(), DecideAs{policy_}, Render());
}

Handlers::Unary Handlers::DeleteRelease(Context context, const v1::DeleteReleaseRequest* request,
                                        google::protobuf::Empty* response) {
  return rpc::Write(context, writer_, *request, response, Parse(), DecideAs{policy_}, Render());
}

Handlers::Unary Handlers::SyncPoolConfiguration(Context context,
                                                const v1::SyncPoolConfigurationRequest* request,
                                                v1::PoolConfiguration* response) {
  return rpc::Write(context, writer_, *request, response, Parse(), DecideAs{policy_}, Render());
}

Handlers::Unary Handlers::BatchSyncPoolConfigurations(
    Context context, const v1::BatchSyncPoolConfigurationsRequest* request,
    v1::BatchSyncPoolConfigurationsResponse* response) {
  return rpc::Write(context, writer_, *request, response, Parse(), DecideAs{policy_}, Render());
}

Handlers::Unary Handlers::PromoteConfiguration(Context context,
                                               const v1::PromoteConfigurationRequest* request,
                                               v1::PoolConfiguration* response) {
  return rpc::Write(context, writer_, *request, response, Parse(), DecideAs{policy_}, Render());
}

Handlers::Unary Handlers::RollbackConfiguration(Context context,
                                                const v1::RollbackConfigurationRequest* request,
                                                v1::PoolConfiguration* response) {
  return rpc::Write(context, writer_, *request, response, Parse(), DecideAs{policy_}, Render());
}

Handlers::Unary Handlers::EnableRevision(Context context, const v1::EnableRevisionRequest* request,
                                         v1::PoolConfiguration* response) {
  return rpc::Write(context, writer_, *request, response, Parse(), DecideAs{policy_}, Render());
}

// Decided in the lane, as syncs are, on the newest state, and taken back.
Handlers::Unary Handlers::CheckPoolConfigurations(Context context,
                                                  const v1::CheckPoolConfigurationsRequest* request,
                                                  v1::CheckPoolConfigurationsResponse* response) {
  const auto check = [policy = policy_](StagedState<State>& staged, const SyncPools& command,
                                        absl::Time now) {
    return Check(staged, command, now, policy);
  };
  return rpc::Try(context, lane_, *request, response, Parse(), check, Render());
}

}  // namespace muster::configuration
