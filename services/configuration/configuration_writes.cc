#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/configuration/core/decide.h"
#include "services/configuration/core/limits.h"
#include "services/configuration/core/names.h"
#include "services/configuration/core/orders.h"
#include "services/configuration/core/validate.h"
#include "services/configuration/handlers.h"
#include "services/configuration/submit.h"
#include "services/configuration/wire/configuration_wire.h"
#include "services/rpc/status.h"
#include "services/rpc/unary.h"

namespace muster::configuration {
namespace {

using Faults = std::vector<error::FieldViolation>;
using Answers = std::vector<absl::StatusOr<PoolConfiguration>>;

// The command that `release_name` stands for. `field`: where the caller wrote it.
template <class Command>
absl::StatusOr<Command> ParseRelease(const std::string& release_name, absl::string_view field) {
  const auto release = ParseReleaseName(release_name);
  if (!release) return error::InvalidField(field, kReleaseNameShape);
  return Command{release->channel, release->component, release->version};
}

template <class Command>
void ChangeRelease(Lane& lane, rpc::Responder responder, absl::StatusOr<Command> command,
                   bool validate_only, v1::Release* response) {
  if (!command.ok()) return void(responder.Finish(command.status()));
  Submit(
      lane, std::move(responder), validate_only,
      [command = *std::move(command)](Overlay<State>& overlay, absl::Time now) {
        return Decide(overlay, command, now);
      },
      [response](const Release& answer) {
        *response = ToProto(answer);
        return absl::OkStatus();
      });
}

// Appends what is wrong with `request`.
SyncPool ParseConfiguration(const v1::ConfigurationRequest& request, absl::string_view prefix,
                            Faults& faults) {
  SyncPool command = FromProto(request, prefix, faults);
  for (auto& fault : Validate(command, prefix)) faults.push_back(std::move(fault));
  return command;
}

absl::StatusOr<SyncPools> ParseBatch(const v1::BatchSyncPoolConfigurationsRequest& request) {
  const auto size = static_cast<size_t>(request.configurations_size());
  if (size == 0 || size > kMaxBatch) {
    return error::InvalidField(
        "configurations",
        absl::StrCat("has ", size, " entries; allowed are 1 to ", kMaxBatch, "."));
  }
  SyncPools command;
  Faults faults;
  std::set<absl::string_view> pools;
  for (const v1::ConfigurationRequest& configuration : request.configurations()) {
    const std::string prefix = absl::StrCat("configurations[", command.requests.size(), "].");
    command.requests.push_back(ParseConfiguration(configuration, prefix, faults));
    if (!pools.insert(configuration.pool_uid()).second) {
      faults.push_back({absl::StrCat(prefix, "pool_uid"), "stands in the batch twice."});
    }
  }
  if (!faults.empty()) return error::InvalidFields(std::move(faults));
  return command;
}

// The pool uid in `name`; else a fault.
std::string ParsePool(const std::string& name, Faults& faults) {
  auto pool_uid = ParsePoolConfigurationName(name);
  if (!pool_uid) faults.push_back({"name", kPoolConfigurationNameShape});
  return pool_uid.value_or("");
}

template <class Request>
void GiveOrder(Lane& lane, rpc::Responder responder, const Request& request, OrderKind kind,
               v1::PoolConfiguration* response) {
  Faults faults;
  OrderPool command = {ParsePool(request.name(), faults), kind, request.node_profile()};
  if (command.requested.empty()) {
    command.requested = kind == OrderKind::kPromote ? kPendingWord : kPreviousWord;
  }
  for (auto& fault : ValidateRequested(kind, command.requested)) faults.push_back(std::move(fault));
  if (!faults.empty()) return void(responder.Finish(error::InvalidFields(std::move(faults))));
  Submit(
      lane, std::move(responder), request.validate_only(),
      [command = std::move(command)](Overlay<State>& overlay, absl::Time now) {
        return Decide(overlay, command, now);
      },
      [response](const OrderAnswer& answer) {
        if (answer.refusal.ok()) *response = ToProto(answer.pool);
        return answer.refusal;
      });
}

absl::Status Render(const Answers& answers, v1::BatchSyncPoolConfigurationsResponse& response) {
  for (const absl::StatusOr<PoolConfiguration>& answer : answers) {
    auto* result = response.add_results();
    if (answer.ok()) {
      *result->mutable_configuration() = ToProto(*answer);
    } else {
      *result->mutable_error() = rpc::ToRpcStatus(answer.status());
    }
  }
  return absl::OkStatus();
}

}  // namespace

Handlers::Unary Handlers::PublishRelease(Context context, const v1::PublishReleaseRequest* request,
                                         v1::Release* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    ChangeRelease(
        lane_, std::move(responder),
        ParseRelease<configuration::PublishRelease>(request->release().name(), "release.name"),
        request->validate_only(), response);
  });
}

Handlers::Unary Handlers::WithdrawRelease(Context context,
                                          const v1::WithdrawReleaseRequest* request,
                                          v1::Release* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    ChangeRelease(lane_, std::move(responder),
                  ParseRelease<configuration::WithdrawRelease>(request->name(), "name"),
                  request->validate_only(), response);
  });
}

Handlers::Unary Handlers::SyncPoolConfiguration(Context context,
                                                const v1::SyncPoolConfigurationRequest* request,
                                                v1::PoolConfiguration* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    Faults faults;
    SyncPool command = ParseConfiguration(request->configuration(), "configuration.", faults);
    if (!faults.empty()) return void(responder.Finish(error::InvalidFields(std::move(faults))));
    Submit(
        lane_, std::move(responder), request->validate_only(),
        [command = std::move(command), policy = policy_](Overlay<State>& overlay, absl::Time now) {
          return Decide(overlay, command, now, policy);
        },
        [response](const PoolConfiguration& answer) {
          *response = ToProto(answer);
          return absl::OkStatus();
        });
  });
}

Handlers::Unary Handlers::BatchSyncPoolConfigurations(
    Context context, const v1::BatchSyncPoolConfigurationsRequest* request,
    v1::BatchSyncPoolConfigurationsResponse* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    absl::StatusOr<SyncPools> command = ParseBatch(*request);
    if (!command.ok()) return void(responder.Finish(command.status()));
    Submit(
        lane_, std::move(responder), request->validate_only(),
        [command = *std::move(command), policy = policy_](Overlay<State>& overlay, absl::Time now) {
          return Decide(overlay, command, now, policy);
        },
        [response](const Answers& answers) { return Render(answers, *response); });
  });
}

Handlers::Unary Handlers::PromoteConfiguration(Context context,
                                               const v1::PromoteConfigurationRequest* request,
                                               v1::PoolConfiguration* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    GiveOrder(lane_, std::move(responder), *request, OrderKind::kPromote, response);
  });
}

Handlers::Unary Handlers::RollbackConfiguration(Context context,
                                                const v1::RollbackConfigurationRequest* request,
                                                v1::PoolConfiguration* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    GiveOrder(lane_, std::move(responder), *request, OrderKind::kRollback, response);
  });
}

Handlers::Unary Handlers::EnableRevision(Context context, const v1::EnableRevisionRequest* request,
                                         v1::PoolConfiguration* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    Faults faults;
    configuration::EnableRevision command = {ParsePool(request->name(), faults),
                                             request->node_profile()};
    if (!IsProfileId(command.node_profile)) {
      faults.push_back({"node_profile", "must be `np-{12 hex}`."});
    }
    if (!faults.empty()) return void(responder.Finish(error::InvalidFields(std::move(faults))));
    Submit(
        lane_, std::move(responder), request->validate_only(),
        [command = std::move(command)](Overlay<State>& overlay, absl::Time now) {
          return Decide(overlay, command, now);
        },
        [response](const PoolConfiguration& answer) {
          *response = ToProto(answer);
          return absl::OkStatus();
        });
  });
}

}  // namespace muster::configuration
