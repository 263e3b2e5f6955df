#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"
#include "services/quota/core/decide.h"
#include "services/quota/core/limits.h"
#include "services/quota/core/validate.h"
#include "services/quota/handlers.h"
#include "services/quota/wire/quota_wire.h"
#include "services/rpc/read.h"
#include "services/rpc/status.h"
#include "services/rpc/unary.h"

namespace muster::quota {
namespace {

using Requests = google::protobuf::RepeatedPtrField<v1::HoldingRequest>;
using Results = google::protobuf::RepeatedPtrField<v1::BatchSyncHoldingsResponse::Result>;
using Answers = std::vector<absl::StatusOr<Answer>>;

enum class Purpose { kSync, kCheck };

// Appends what is wrong with `request`, or the command.
void ParseHolding(const v1::HoldingRequest& request, Purpose purpose, absl::string_view prefix,
                  std::vector<SyncHolding>& commands, std::vector<error::FieldViolation>& faults) {
  absl::StatusOr<SyncHolding> command = FromProto(request, prefix);
  if (!command.ok()) {
    const auto detail = error::DetailOf(command.status());
    faults.insert(faults.end(), detail->fields.begin(), detail->fields.end());
    return;
  }
  if (purpose == Purpose::kCheck && command->generation == 0)
    command->generation = kNewestGeneration;
  for (auto& fault : Validate(*command, prefix)) faults.push_back(std::move(fault));
  commands.push_back(*std::move(command));
}

absl::StatusOr<std::vector<SyncHolding>> ParseBatch(const Requests& requests, Purpose purpose) {
  if (requests.empty() || requests.size() > kMaxBatch) {
    return error::InvalidField(
        "holdings",
        absl::StrCat("has ", requests.size(), " entries; allowed are 1 to ", kMaxBatch, "."));
  }
  std::vector<SyncHolding> commands;
  std::vector<error::FieldViolation> faults;
  std::set<absl::string_view> names;
  for (int i = 0; i < requests.size(); ++i) {
    const std::string prefix = absl::StrCat("holdings[", i, "].");
    ParseHolding(requests[i], purpose, prefix, commands, faults);
    if (!names.insert(requests[i].name()).second) {
      faults.push_back({absl::StrCat(prefix, "name"), "stands in the batch twice."});
    }
  }
  if (!faults.empty()) return error::InvalidFields(std::move(faults));
  return commands;
}

void Render(const Answers& answers, Results& results) {
  for (const absl::StatusOr<Answer>& answer : answers) {
    v1::BatchSyncHoldingsResponse::Result* result = results.Add();
    if (answer.ok()) {
      *result->mutable_answer() = ToProto(*answer);
    } else {
      *result->mutable_error() = rpc::ToRpcStatus(answer.status());
    }
  }
}

// Submits the commands as one; `render(answers)` fills the response in. To the lane each is a
// success: an answer that is told as an error has left its generation behind.
template <class Render>
void Submit(Lane& lane, rpc::Responder responder, std::vector<SyncHolding> commands,
            Render render) {
  auto answers = std::make_shared<Answers>();
  const absl::Time deadline = responder.deadline();
  lane.Submit(
      [commands = std::move(commands), answers](Overlay<State>& overlay, absl::Time now) {
        answers->clear();
        for (const SyncHolding& command : commands)
          answers->push_back(OrError(command, Decide(overlay, command, now)));
        return absl::OkStatus();
      },
      [answers, render, responder = std::move(responder)](const absl::Status& status,
                                                          int64_t) mutable {
        responder.Reply([&] { return status.ok() ? render(*answers) : status; });
      },
      deadline);
}

}  // namespace

Handlers::Unary Handlers::SyncHolding(Context context, const v1::SyncHoldingRequest* request,
                                      v1::SyncHoldingResponse* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    std::vector<quota::SyncHolding> commands;
    std::vector<error::FieldViolation> faults;
    ParseHolding(request->holding(), Purpose::kSync, "holding.", commands, faults);
    if (!faults.empty()) return responder.Finish(error::InvalidFields(std::move(faults)));
    Submit(lane_, std::move(responder), std::move(commands), [response](const Answers& answers) {
      RETURN_IF_ERROR(answers.front().status());
      *response->mutable_answer() = ToProto(*answers.front());
      return absl::OkStatus();
    });
  });
}

Handlers::Unary Handlers::BatchSyncHoldings(Context context,
                                            const v1::BatchSyncHoldingsRequest* request,
                                            v1::BatchSyncHoldingsResponse* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    auto commands = ParseBatch(request->holdings(), Purpose::kSync);
    if (!commands.ok()) return responder.Finish(commands.status());
    Submit(lane_, std::move(responder), *std::move(commands), [response](const Answers& answers) {
      Render(answers, *response->mutable_results());
      return absl::OkStatus();
    });
  });
}

Handlers::Unary Handlers::CheckQuota(Context context, const v1::CheckQuotaRequest* request,
                                     v1::CheckQuotaResponse* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    auto commands = ParseBatch(request->holdings(), Purpose::kCheck);
    if (!commands.ok()) return responder.Finish(commands.status());
    rpc::AnswerFrom(lane_, std::move(responder),
                    [commands = *std::move(commands), &clock = clock_, response](const State& state,
                                                                                 int64_t revision) {
                      Render(Check(state, commands, clock.Now(), revision),
                             *response->mutable_results());
                      return absl::OkStatus();
                    });
  });
}

}  // namespace muster::quota
