#include <google/protobuf/empty.pb.h>

#include <utility>
#include <variant>
#include <vector>

#include "services/capacity/core/claim_reply.h"
#include "services/capacity/core/decide.h"
#include "services/capacity/core/limits.h"
#include "services/capacity/core/validate.h"
#include "services/capacity/handlers.h"
#include "services/capacity/wire/capacity_wire.h"
#include "services/common/status_macros.h"
#include "services/rpc/batch.h"
#include "services/rpc/write.h"

namespace muster::capacity {
namespace {

// An entry of a batch.
constexpr auto kParseEntry = [](const auto& message, absl::string_view path, Faults& faults) {
  auto parsed = FromProto(message, path, faults);
  Validate(parsed, path, faults);
  return parsed;
};

template <class Request, class Parse>
std::vector<SyncClaim> ParseClaims(const Request& request, Parse parse, Faults& faults) {
  return rpc::ParseBatch(
      request.claims(), {.field = "claims", .max = kMaxBatch, .key = "pool_uid"},
      [](const v1::ClaimRequest& claim) { return absl::string_view(claim.pool_uid()); }, parse,
      faults);
}

// Requests as commands, checked.
struct Parse {
  UpdateZone operator()(const v1::UpdateZoneRequest& request, Faults& faults) const {
    UpdateZone command = ParseRequest(request, faults);
    Validate(command.zone, "zone", faults);
    return command;
  }
  UpdateInstanceType operator()(const v1::UpdateInstanceTypeRequest& request,
                                Faults& faults) const {
    UpdateInstanceType command = ParseRequest(request, faults);
    Validate(command.instance_type, "instance_type", faults);
    return command;
  }
  RegisterMachines operator()(const v1::BatchRegisterMachinesRequest& request,
                              Faults& faults) const {
    return {rpc::ParseBatch(
        request.machines(), {.field = "machines", .max = kMaxBatch, .key = "name"},
        [](const v1::Machine& machine) { return absl::string_view(machine.name()); }, kParseEntry,
        faults)};
  }
  SetMachineState operator()(const v1::SetMachineStateRequest& request, Faults& faults) const {
    SetMachineState command = ParseRequest(request, faults);
    Validate(command, faults);
    return command;
  }
  // One that needs no check beyond its name.
  template <class Request>
  auto operator()(const Request& request, Faults& faults) const {
    return ParseRequest(request, faults);
  }
  SyncClaim operator()(const v1::SyncClaimRequest& request, Faults& faults) const {
    return kParseEntry(request.claim(), "claim", faults);
  }
  SyncClaims operator()(const v1::BatchSyncClaimsRequest& request, Faults& faults) const {
    return {ParseClaims(request, kParseEntry, faults)};
  }
  SyncClaims operator()(const v1::CheckClaimsRequest& request, Faults& faults) const {
    return {ParseClaims(
        request,
        [](const v1::ClaimRequest& claim, absl::string_view path, Faults& found) {
          return rpc::ParseChecked(claim, path, kParseEntry, found);
        },
        faults)};
  }
};

// The answer to an outcome: it adds the estimate of the wait, which is not part of a decision.
template <class Outcome>
Outcome Answer(const State&, Outcome outcome, absl::Time) {
  return outcome;
}
absl::StatusOr<ClaimReply> Answer(const State& state, absl::StatusOr<ClaimView> claim,
                                  absl::Time now) {
  if (!claim.ok()) return claim.status();
  return AnswerOf(state, *std::move(claim), now);
}
std::vector<absl::StatusOr<ClaimReply>> Answer(const State& state,
                                               std::vector<absl::StatusOr<ClaimView>> claims,
                                               absl::Time now) {
  std::vector<absl::StatusOr<ClaimReply>> answers;
  answers.reserve(claims.size());
  for (absl::StatusOr<ClaimView>& claim : claims)
    answers.push_back(Answer(state, std::move(claim), now));
  return answers;
}
struct DecideAs {
  Policy policy = {};
  template <class Command>
  auto operator()(StagedState<State>& staged, const Command& command, absl::Time now) const {
    if constexpr (requires { Decide(staged, command, now, policy); }) {
      return Answer(staged.state(), Decide(staged, command, now, policy), now);
    } else {
      return Answer(staged.state(), Decide(staged, command, now), now);
    }
  }
};
struct CheckAs {
  Policy policy = {};
  auto operator()(StagedState<State>& staged, const SyncClaims& command, absl::Time now) const {
    return Answer(staged.state(), Check(staged, command, now, policy), now);
  }
};

// What came of a command as its response.
struct Render {
  void operator()(std::monostate, google::protobuf::Empty&) const {}
  template <class Outcome, class Response>
  void operator()(const Outcome& outcome, Response& response) const {
    response = ToProto(outcome);
  }
  void operator()(const std::vector<MachineRow>& machines,
                  v1::BatchRegisterMachinesResponse& response) const {
    for (const MachineRow& machine : machines) *response.add_machines() = ToProto(machine);
  }
  template <class Response>
  void operator()(const std::vector<absl::StatusOr<ClaimReply>>& claims, Response& response) const {
    rpc::RenderResults(
        claims, response.mutable_results(),
        [](const ClaimReply& claim, auto& result) { *result.mutable_claim() = ToProto(claim); });
  }
};

}  // namespace

Handlers::Unary Handlers::UpdateZone(Context context, const v1::UpdateZoneRequest* request,
                                     v1::Zone* response) {
  return rpc::Write(context, writer_, *request, response, Parse(), DecideAs{policy_}, Render());
}

Handlers::Unary Handlers::UpdateInstanceType(Context context,
                                             const v1::UpdateInstanceTypeRequest* request,
                                             v1::InstanceType* response) {
  return rpc::Write(context, writer_, *request, response, Parse(), DecideAs{policy_}, Render());
}

Handlers::Unary Handlers::BatchRegisterMachines(Context context,
                                                const v1::BatchRegisterMachinesRequest* request,
                                                v1::BatchRegisterMachinesResponse* response) {
  return rpc::Write(context, writer_, *request, response, Parse(), DecideAs{policy_}, Render());
}

Handlers::Unary Handlers::SetMachineState(Context context,
                                          const v1::SetMachineStateRequest* request,
                                          v1::Machine* response) {
  return rpc::Write(context, writer_, *request, response, Parse(), DecideAs{policy_}, Render());
}

Handlers::Unary Handlers::DeleteZone(Context context, const v1::DeleteZoneRequest* request,
                                     google::protobuf::Empty* response) {
  return rpc::Write(context, writer_, *request, response, Parse(), DecideAs{policy_}, Render());
}

Handlers::Unary Handlers::DeleteInstanceType(Context context,
                                             const v1::DeleteInstanceTypeRequest* request,
                                             google::protobuf::Empty* response) {
  return rpc::Write(context, writer_, *request, response, Parse(), DecideAs{policy_}, Render());
}

Handlers::Unary Handlers::DeleteMachine(Context context, const v1::DeleteMachineRequest* request,
                                        google::protobuf::Empty* response) {
  return rpc::Write(context, writer_, *request, response, Parse(), DecideAs{policy_}, Render());
}

Handlers::Unary Handlers::SyncClaim(Context context, const v1::SyncClaimRequest* request,
                                    v1::Claim* response) {
  return rpc::Write(context, writer_, *request, response, Parse(), DecideAs{policy_}, Render());
}

Handlers::Unary Handlers::BatchSyncClaims(Context context,
                                          const v1::BatchSyncClaimsRequest* request,
                                          v1::BatchSyncClaimsResponse* response) {
  return rpc::Write(context, writer_, *request, response, Parse(), DecideAs{policy_}, Render());
}

// A copy of all machines for each call would be too dear, so the decision itself is made and taken
// back.
Handlers::Unary Handlers::CheckClaims(Context context, const v1::CheckClaimsRequest* request,
                                      v1::CheckClaimsResponse* response) {
  return rpc::Try(context, lane_, *request, response, Parse(), CheckAs{policy_}, Render());
}

}  // namespace muster::capacity
