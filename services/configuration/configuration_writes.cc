#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"
#include "services/configuration/core/decide.h"
#include "services/configuration/core/limits.h"
#include "services/configuration/core/names.h"
#include "services/configuration/core/validate.h"
#include "services/configuration/handlers.h"
#include "services/configuration/wire/configuration_wire.h"
#include "services/rpc/status.h"
#include "services/rpc/unary.h"

namespace muster::configuration {
namespace {

using Faults = std::vector<error::FieldViolation>;
using Answers = std::vector<absl::StatusOr<PoolConfiguration>>;

absl::StatusOr<PublishRelease> ParsePublish(const v1::PublishReleaseRequest& request) {
  const auto release = ParseReleaseName(request.release().name());
  if (!release) return error::InvalidField("release.name", kReleaseNameShape);
  return PublishRelease{release->channel, release->component, release->version};
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

}  // namespace

Handlers::Unary Handlers::PublishRelease(Context context, const v1::PublishReleaseRequest* request,
                                         v1::Release* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    absl::StatusOr<configuration::PublishRelease> command = ParsePublish(*request);
    if (!command.ok()) return void(responder.Finish(command.status()));
    auto answer = std::make_shared<Release>();
    const absl::Time deadline = responder.deadline();
    lane_.Submit(
        [command = *std::move(command), answer](Overlay<State>& overlay,
                                                absl::Time now) -> absl::Status {
          ASSIGN_OR_RETURN(*answer, Decide(overlay, command, now));
          return absl::OkStatus();
        },
        [answer, response, responder = std::move(responder)](const absl::Status& status,
                                                             int64_t) mutable {
          responder.Reply([&] {
            if (status.ok()) *response = ToProto(*answer);
            return status;
          });
        },
        deadline);
  });
}

Handlers::Unary Handlers::SyncPoolConfiguration(Context context,
                                                const v1::SyncPoolConfigurationRequest* request,
                                                v1::PoolConfiguration* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    Faults faults;
    SyncPool command = ParseConfiguration(request->configuration(), "configuration.", faults);
    if (!faults.empty()) return void(responder.Finish(error::InvalidFields(std::move(faults))));
    auto answer = std::make_shared<PoolConfiguration>();
    const absl::Time deadline = responder.deadline();
    lane_.Submit(
        [command = std::move(command), answer](Overlay<State>& overlay,
                                               absl::Time now) -> absl::Status {
          ASSIGN_OR_RETURN(*answer, Decide(overlay, command, now));
          return absl::OkStatus();
        },
        [answer, response, responder = std::move(responder)](const absl::Status& status,
                                                             int64_t) mutable {
          responder.Reply([&] {
            if (status.ok()) *response = ToProto(*answer);
            return status;
          });
        },
        deadline);
  });
}

Handlers::Unary Handlers::BatchSyncPoolConfigurations(
    Context context, const v1::BatchSyncPoolConfigurationsRequest* request,
    v1::BatchSyncPoolConfigurationsResponse* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    absl::StatusOr<SyncPools> command = ParseBatch(*request);
    if (!command.ok()) return void(responder.Finish(command.status()));
    auto answers = std::make_shared<Answers>();
    const absl::Time deadline = responder.deadline();
    lane_.Submit(
        [command = *std::move(command), answers](Overlay<State>& overlay,
                                                 absl::Time now) -> absl::Status {
          ASSIGN_OR_RETURN(*answers, Decide(overlay, command, now));
          return absl::OkStatus();
        },
        [answers, response, responder = std::move(responder)](const absl::Status& status,
                                                              int64_t) mutable {
          responder.Reply([&] {
            if (!status.ok()) return status;
            for (const absl::StatusOr<PoolConfiguration>& answer : *answers) {
              auto* result = response->add_results();
              if (answer.ok()) {
                *result->mutable_configuration() = ToProto(*answer);
              } else {
                *result->mutable_error() = rpc::ToRpcStatus(answer.status());
              }
            }
            return status;
          });
        },
        deadline);
  });
}

}  // namespace muster::configuration
