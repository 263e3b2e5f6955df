#include <memory>
#include <utility>
#include <vector>

#include "services/capacity/core/claim_answer.h"
#include "services/capacity/core/decide.h"
#include "services/capacity/core/validate.h"
#include "services/capacity/handlers.h"
#include "services/capacity/wire/capacity_wire.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"
#include "services/rpc/status.h"
#include "services/rpc/unary.h"

namespace muster::capacity {
namespace {

// What is wrong with a command, under the paths of its request.
void Check(const UpdateZone& command, Faults& faults) { Validate(command.zone, "zone", faults); }
void Check(const UpdateInstanceType& command, Faults& faults) {
  Validate(command.instance_type, "instance_type", faults);
}
void Check(const RegisterMachines& command, Faults& faults) {
  Validate(command, "machines", faults);
}
void Check(const SetMachineState& command, Faults& faults) { Validate(command, faults); }
void Check(const SyncClaim& command, Faults& faults) { Validate(command, "claim", faults); }
void Check(const SyncClaims& command, Faults& faults) { Validate(command, "claims", faults); }

// What came of a command as its response.
void Render(const ZoneRow& zone, v1::Zone* response) { *response = ToProto(zone); }
void Render(const InstanceTypeRow& type, v1::InstanceType* response) { *response = ToProto(type); }
void Render(const std::vector<MachineRow>& machines, v1::BatchRegisterMachinesResponse* response) {
  for (const MachineRow& machine : machines) *response->add_machines() = ToProto(machine);
}
void Render(const MachineRow& machine, v1::Machine* response) { *response = ToProto(machine); }
void Render(const ClaimAnswer& claim, v1::Claim* response) { *response = ToProto(claim); }
void Render(const std::vector<absl::StatusOr<ClaimAnswer>>& claims,
            v1::BatchSyncClaimsResponse* response) {
  for (const absl::StatusOr<ClaimAnswer>& claim : claims) {
    v1::BatchSyncClaimsResponse::Result* result = response->add_results();
    if (claim.ok()) {
      *result->mutable_claim() = ToProto(*claim);
    } else {
      *result->mutable_error() = rpc::ToRpcStatus(claim.status());
    }
  }
}

// What is answered of an outcome: the estimate of the wait is not part of a decision.
template <class Outcome>
absl::StatusOr<Outcome> Answer(const State&, Outcome outcome, absl::Time) {
  return outcome;
}
template <class Outcome>
absl::StatusOr<Outcome> Answer(const State&, absl::StatusOr<Outcome> outcome, absl::Time) {
  return outcome;
}
absl::StatusOr<ClaimAnswer> Answer(const State& state, absl::StatusOr<ClaimView> claim,
                                   absl::Time now) {
  if (!claim.ok()) return claim.status();
  return AnswerOf(state, *std::move(claim), now);
}
absl::StatusOr<std::vector<absl::StatusOr<ClaimAnswer>>> Answer(
    const State& state, std::vector<absl::StatusOr<ClaimView>> claims, absl::Time now) {
  std::vector<absl::StatusOr<ClaimAnswer>> answers;
  answers.reserve(claims.size());
  for (absl::StatusOr<ClaimView>& claim : claims)
    answers.push_back(Answer(state, std::move(claim), now));
  return answers;
}

// Every write: request → command → lane → response.
template <class Request, class Response>
grpc::ServerUnaryReactor* Write(Lane& lane, grpc::CallbackServerContext* context,
                                const Request* request, Response* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    Faults faults;
    auto command = ParseRequest(*request, faults);
    Check(command, faults);
    if (!faults.empty())
      return void(responder.Finish(muster::error::InvalidFields(std::move(faults))));
    using Answered = decltype(Answer(std::declval<const State&>(),
                                     Decide(std::declval<Overlay<State>&>(), command, absl::Time()),
                                     absl::Time()));
    using Outcome = typename Answered::value_type;
    auto outcome = std::make_shared<Outcome>();
    const absl::Time deadline = responder.deadline();
    lane.Submit(
        [command = std::move(command), outcome](Overlay<State>& overlay,
                                                absl::Time now) -> absl::Status {
          ASSIGN_OR_RETURN(*outcome, Answer(overlay.state(), Decide(overlay, command, now), now));
          return absl::OkStatus();
        },
        [outcome, response, responder = std::move(responder)](const absl::Status& status,
                                                              int64_t) mutable {
          responder.Reply([&] {
            if (status.ok()) Render(*outcome, response);
            return status;
          });
        },
        deadline);
  });
}

}  // namespace

Handlers::Unary Handlers::UpdateZone(Context context, const v1::UpdateZoneRequest* request,
                                     v1::Zone* response) {
  return Write(lane_, context, request, response);
}

Handlers::Unary Handlers::UpdateInstanceType(Context context,
                                             const v1::UpdateInstanceTypeRequest* request,
                                             v1::InstanceType* response) {
  return Write(lane_, context, request, response);
}

Handlers::Unary Handlers::BatchRegisterMachines(Context context,
                                                const v1::BatchRegisterMachinesRequest* request,
                                                v1::BatchRegisterMachinesResponse* response) {
  return Write(lane_, context, request, response);
}

Handlers::Unary Handlers::SetMachineState(Context context,
                                          const v1::SetMachineStateRequest* request,
                                          v1::Machine* response) {
  return Write(lane_, context, request, response);
}

Handlers::Unary Handlers::SyncClaim(Context context, const v1::SyncClaimRequest* request,
                                    v1::Claim* response) {
  return Write(lane_, context, request, response);
}

Handlers::Unary Handlers::BatchSyncClaims(Context context,
                                          const v1::BatchSyncClaimsRequest* request,
                                          v1::BatchSyncClaimsResponse* response) {
  return Write(lane_, context, request, response);
}

}  // namespace muster::capacity
