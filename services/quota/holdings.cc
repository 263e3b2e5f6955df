#include <utility>
#include <vector>

#include "services/common/status_macros.h"
#include "services/quota/core/decide.h"
#include "services/quota/core/limits.h"
#include "services/quota/core/validate.h"
#include "services/quota/handlers.h"
#include "services/quota/wire/quota_wire.h"
#include "services/rpc/batch.h"
#include "services/rpc/read.h"
#include "services/rpc/write.h"

namespace muster::quota {
namespace {

using HoldingOutcomes = std::vector<absl::StatusOr<HoldingOutcome>>;
using Commands = std::vector<SyncHolding>;

SyncHolding ParseSync(const v1::HoldingRequest& request, absl::string_view path,
                      error::Faults& faults) {
  SyncHolding command = FromProto(request, path, faults);
  Validate(command, path, faults);
  return command;
}

SyncHolding ParseCheck(const v1::HoldingRequest& request, absl::string_view path,
                       error::Faults& faults) {
  return rpc::ParseChecked(request, path, &ParseSync, faults);
}

// The holdings of a SyncHolding, BatchSyncHoldings and CheckQuota.
constexpr auto kParseOne = [](const v1::SyncHoldingRequest& request, error::Faults& faults) {
  return Commands{ParseSync(request.holding(), "holding", faults)};
};
template <auto kParse>
constexpr auto kParseAll = [](const auto& request, error::Faults& faults) {
  return rpc::ParseBatch(
      request.holdings(), {.field = "holdings", .max = kMaxBatch, .key = "name"},
      [](const v1::HoldingRequest& holding) { return absl::string_view(holding.name()); }, kParse,
      faults);
};

// The lane commits all of them: a request that is answered with an error has left its generation
// behind, too.
auto Deciding(const Policy& policy) {
  return [policy](StagedState<State>& staged, const Commands& commands, absl::Time now) {
    HoldingOutcomes answers;
    for (const SyncHolding& command : commands) {
      answers.push_back(OrError(command, Decide(staged, command, now, policy)));
    }
    return answers;
  };
}

constexpr auto kRenderOne = [](const HoldingOutcomes& answers, v1::SyncHoldingResponse& response) {
  RETURN_IF_ERROR(answers.front().status());
  *response.mutable_answer() = ToProto(*answers.front());
  return absl::OkStatus();
};
constexpr auto kRenderAll = [](const HoldingOutcomes& answers, auto& response) {
  rpc::RenderResults(answers, response.mutable_results(),
                     [](const HoldingOutcome& answer, auto& result) {
                       *result.mutable_answer() = ToProto(answer);
                     });
};

}  // namespace

Handlers::Unary Handlers::SyncHolding(Context context, const v1::SyncHoldingRequest* request,
                                      v1::SyncHoldingResponse* response) {
  return rpc::Write(context, writer_, *request, response, kParseOne, Deciding(policy_), kRenderOne);
}

Handlers::Unary Handlers::BatchSyncHoldings(Context context,
                                            const v1::BatchSyncHoldingsRequest* request,
                                            v1::BatchSyncHoldingsResponse* response) {
  return rpc::Write(context, writer_, *request, response, kParseAll<ParseSync>, Deciding(policy_),
                    kRenderAll);
}

Handlers::Unary Handlers::CheckQuota(Context context, const v1::CheckQuotaRequest* request,
                                     v1::CheckQuotaResponse* response) {
  const auto fill = [&clock = clock_](const State& state, int64_t revision,
                                      const Commands& commands, v1::CheckQuotaResponse& out) {
    kRenderAll(Check(state, commands, clock.Now(), revision), out);
  };
  return rpc::Read(context, lane_, *request, response, kParseAll<ParseCheck>, fill);
}

}  // namespace muster::quota
