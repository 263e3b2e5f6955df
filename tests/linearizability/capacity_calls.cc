#include "tests/linearizability/capacity_calls.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/capacity/core/claim_reply.h"
#include "services/capacity/core/decide.h"
#include "services/capacity/core/names.h"
#include "services/capacity/wire/capacity_wire.h"
#include "tests/linearizability/ask.h"

namespace muster::linearizability {
namespace {

using capacity::ClaimRow;
using capacity::Faults;
using capacity::MachineRow;
using capacity::State;
using Stub = CapacityCaller::Stub;

constexpr char kZone[] = "US-EAST-04A";
constexpr char kType[] = "gd-8xa100-i128";
constexpr int kMachines = 8;
constexpr size_t kFirstSpotClaim = 5;
constexpr char kBallastZone[] = "US-EAST-02A";
// So many that a snapshot is not taken in no time.
constexpr int kBallastMachines = 5'000;
constexpr int kBallastAtOnce = 1'000;

std::string IdOf(int machine) { return absl::StrCat("m", machine); }

// How long a claim will wait is judged by more than the state.
void Strip(capacity::v1::Claim& claim) {
  if (claim.has_queue()) claim.mutable_queue()->clear_wait();
}

// A release may remove the claim, leave the pool's uid behind, or both.
void AddMarks(const capacity::v1::ClaimRequest& request, std::vector<std::string>& marks) {
  const std::string name = capacity::ClaimName(request.pool_uid());
  if (!request.release()) {
    marks.push_back(absl::StrCat(name, "#", request.generation()));
    return;
  }
  marks.push_back(absl::StrCat(name, "#gone"));
  marks.push_back(absl::StrCat(request.pool_uid(), "#released"));
}

// How long it waits is stripped again, so that it does not matter when it is told.
capacity::v1::Claim Told(const StagedState<State>& staged, const capacity::ClaimView& view) {
  return capacity::ToProto(capacity::AnswerOf(staged.state(), view, absl::UnixEpoch()));
}

template <class Request>
auto Parse(const Request& request, Faults& faults) {
  return capacity::ParseRequest(request, faults);
}
capacity::SyncClaims Parse(const capacity::v1::BatchSyncClaimsRequest& request, Faults& faults) {
  capacity::SyncClaims command;
  for (const auto& claim : request.claims())
    command.claims.push_back(capacity::FromProto(claim, "claims[]", faults));
  return command;
}

template <class Request>
auto CommandOf(const Request& request) {
  Faults faults;
  auto command = Parse(request, faults);
  if (!faults.empty()) throw std::runtime_error(request.ShortDebugString());
  return command;
}

void MustBeOk(const grpc::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.error_message());
}

void Register(Stub& stub, const std::string& zone, const std::vector<std::string>& names) {
  capacity::v1::BatchRegisterMachinesRequest request;
  for (size_t i = 0; i < names.size(); ++i) {
    auto* machine = request.add_machines();
    machine->set_name(names[i]);
    machine->set_zone(zone);
    machine->set_instance_type(kType);
    machine->set_fabric(i % 2 == 0 ? "f0" : "f1");
    machine->set_rack(absl::StrCat("r", i / 2));
    machine->set_slot(static_cast<int32_t>(i % 2));
  }
  grpc::ClientContext context;
  capacity::v1::BatchRegisterMachinesResponse told;
  MustBeOk(stub.BatchRegisterMachines(&context, request, &told));
}

}  // namespace

CapacityCaller::CapacityCaller(int client, unsigned seed, const Channels& channels, Shared* shared,
                               absl::Duration patience)
    : patience_(patience),
      random_(seed + static_cast<unsigned>(client)),
      stub_(capacity::v1::CapacityService::NewStub(channels.own)),
      other_(capacity::v1::CapacityService::NewStub(channels.other)),
      shared_(shared) {}

void CapacityCaller::SetUp(const std::shared_ptr<grpc::Channel>& channel) {
  const auto stub = capacity::v1::CapacityService::NewStub(channel);
  capacity::v1::UpdateInstanceTypeRequest type;
  capacity::InstanceTypeRow row{.id = kType, .gpus = 8, .gpu_model = "A100", .vcpus = 128};
  row.memory_kib = row.ephemeral_storage_kib = 1;
  row.architecture = "amd64";
  row.max_pods = 110;
  *type.mutable_instance_type() = capacity::ToProto(row);
  grpc::ClientContext context;
  capacity::v1::InstanceType told_type;
  MustBeOk(stub->UpdateInstanceType(&context, type, &told_type));
  for (const char* id : {kZone, kBallastZone}) {
    capacity::v1::UpdateZoneRequest zone;
    *zone.mutable_zone() =
        capacity::ToProto(capacity::ZoneRow{.id = id, .instance_types = {kType}});
    grpc::ClientContext zone_context;
    capacity::v1::Zone told_zone;
    MustBeOk(stub->UpdateZone(&zone_context, zone, &told_zone));
  }
  std::vector<std::string> names;
  for (int i = 0; i < kMachines; ++i) names.push_back(capacity::MachineName(IdOf(i)));
  Register(*stub, kZone, names);
  for (int begin = 0; begin < kBallastMachines; begin += kBallastAtOnce) {
    names.clear();
    for (int i = begin; i < begin + kBallastAtOnce; ++i)
      names.push_back(absl::StrCat(CapacityCaller::kBallast, i));
    Register(*stub, kBallastZone, names);
  }
}

Call<State> CapacityCaller::Next() {
  if (!look_.empty()) return GetClaim(std::exchange(look_, ""), *other_);
  const int percent = Pick(0, 99);
  if (percent < 50) return SyncClaim();
  if (percent < 65) return BatchSyncClaims();
  if (percent < 80) return SetMachineState();
  if (percent < 92) return GetClaim(PickClaim().uid, *stub_);
  return ListMachines();
}

// A few are late: of claims that were released.
CapacityCaller::Claim CapacityCaller::ClaimAt(int index) {
  Claim claim{.index = static_cast<size_t>(index)};
  claim.life = shared_->lives[claim.index];
  if (Pick(0, 9) == 0) claim.life = std::max(0, claim.life - Pick(1, 3));
  claim.uid = absl::StrCat("p", index, "x", claim.life);
  return claim;
}

capacity::v1::ClaimRequest CapacityCaller::RandomRequest(const Claim& claim) {
  capacity::v1::ClaimRequest request;
  request.set_pool_uid(claim.uid);
  request.set_generation(++shared_->generations);
  request.set_organization(claim.index % 2 == 0 ? "acme" : "umbrella");
  request.set_zone(kZone);
  request.set_instance_type(kType);
  if (claim.index >= kFirstSpotClaim) request.set_compute_class(type::v1::COMPUTE_CLASS_SPOT);
  request.set_release(Pick(0, 9) == 0);
  if (!request.release()) {
    request.set_nodes(Pick(0, 4));
    request.set_priority(Pick(0, 1));
  }
  for (int machine = 0; machine < kMachines; ++machine) {
    if (!request.release() && Pick(0, 3) != 0) continue;
    auto* back = request.add_returns();
    back->set_machine(IdOf(machine));
    back->set_reason(Pick(0, 3) == 0 ? capacity::v1::MachineReturn::REASON_BROKEN
                                     : capacity::v1::MachineReturn::REASON_RELEASED);
  }
  return request;
}

void CapacityCaller::NoteDone(const capacity::v1::ClaimRequest& request, const Claim& claim) {
  int life = claim.life;
  if (request.release()) shared_->lives[claim.index].compare_exchange_strong(life, life + 1);
}

// For what was just answered, as the other replica has it.
void CapacityCaller::LookSoon(const Call<State>& written, const std::string& uid) {
  if (written.outcome == Outcome::kAnswered && Pick(0, 1) == 0) look_ = uid;
}

void CapacityCaller::Remember(const capacity::v1::Claim& claim, const Interval& interval) {
  std::string uid = claim.name().substr(claim.name().find('/') + 1);
  for (const std::string& machine : claim.machines())
    holdings_.seen.push_back({uid, machine, interval});
}

void CapacityCaller::Remember(const capacity::v1::ClaimRequest& request, const Call<State>& call) {
  if (call.outcome == Outcome::kFailed) return;
  for (const auto& back : request.returns())
    holdings_.given_back.push_back({request.pool_uid(), back.machine(), call.interval});
}

Call<State> CapacityCaller::SyncClaim() {
  capacity::v1::SyncClaimRequest request;
  const Claim claim = PickClaim();
  *request.mutable_claim() = RandomRequest(claim);
  const auto decide = [command = CommandOf(request)](
                          StagedState<State>& staged,
                          absl::Time now) -> absl::StatusOr<capacity::v1::Claim> {
    const auto view = capacity::Decide(staged, command, now);
    if (!view.ok()) return view.status();
    return Told(staged, *view);
  };
  capacity::v1::Claim told;
  Call<State> call =
      Ask<State>(patience_, *stub_, &Stub::SyncClaim, request, decide, &Strip, kAsItIs, &told);
  AddMarks(request.claim(), call.marks);
  LookSoon(call, claim.uid);
  if (call.outcome == Outcome::kAnswered && !told.name().empty()) NoteDone(request.claim(), claim);
  Remember(request.claim(), call);
  Remember(told, call.interval);
  return call;
}

Call<State> CapacityCaller::BatchSyncClaims() {
  capacity::v1::BatchSyncClaimsRequest request;
  std::vector<std::string> marks;
  std::vector<Claim> claims;
  const int first = Pick(0, kClaims - 1);
  for (int i = 0; i < kBatch; ++i) {
    const Claim claim = ClaimAt((first + i) % kClaims);
    *request.add_claims() = RandomRequest(claim);
    AddMarks(*request.claims().rbegin(), marks);
    claims.push_back(claim);
  }
  const auto decide = [command = CommandOf(request)](
                          StagedState<State>& staged,
                          absl::Time now) -> absl::StatusOr<capacity::v1::BatchSyncClaimsResponse> {
    capacity::v1::BatchSyncClaimsResponse response;
    for (const auto& view : capacity::Decide(staged, command, now)) {
      auto* result = response.add_results();
      if (view.ok()) {
        *result->mutable_claim() = Told(staged, *view);
      } else {
        *result->mutable_error() = rpc::ToRpcStatus(view.status());
      }
    }
    return response;
  };
  const auto strip = [](capacity::v1::BatchSyncClaimsResponse& response) {
    PlainErrors(response);
    for (auto& result : *response.mutable_results()) {
      if (result.has_claim()) Strip(*result.mutable_claim());
    }
  };
  capacity::v1::BatchSyncClaimsResponse told;
  Call<State> call =
      Ask<State>(patience_, *stub_, &Stub::BatchSyncClaims, request, decide, strip, kAsItIs, &told);
  call.marks = std::move(marks);
  LookSoon(call, claims.front().uid);
  for (const auto& claim : request.claims()) Remember(claim, call);
  for (const auto& result : told.results()) Remember(result.claim(), call.interval);
  for (int i = 0; i < told.results_size(); ++i) {
    if (told.results(i).has_claim()) NoteDone(request.claims(i), claims[static_cast<size_t>(i)]);
  }
  return call;
}

Call<State> CapacityCaller::SetMachineState() {
  capacity::v1::SetMachineStateRequest request;
  request.set_name(capacity::MachineName(IdOf(Pick(0, kMachines - 1))));
  request.set_state(Pick(0, 3) == 0 ? capacity::v1::Machine::STATE_IN_REPAIR
                                    : capacity::v1::Machine::STATE_FREE);
  const auto decide = [command = CommandOf(request)](
                          StagedState<State>& staged,
                          absl::Time now) -> absl::StatusOr<capacity::v1::Machine> {
    const auto machine = capacity::Decide(staged, command, now);
    if (!machine.ok()) return machine.status();
    return capacity::ToProto(*machine);
  };
  Call<State> call =
      Ask<State>(patience_, *stub_, &Stub::SetMachineState, request, decide, kAsItIs, kAsItIs);
  call.marks = {request.name()};
  return call;
}

Call<State> CapacityCaller::GetClaim(const std::string& uid, Stub& stub) {
  capacity::v1::GetClaimRequest request;
  request.set_name(capacity::ClaimName(uid));
  const auto decide = [request](StagedState<State>& staged,
                                absl::Time) -> absl::StatusOr<capacity::v1::Claim> {
    const ClaimRow* claim = staged.state().table<ClaimRow>().Find(request.name());
    if (claim == nullptr) return error::NotFound(request.name());
    return Told(staged, capacity::ViewOf(staged.state(), *claim));
  };
  capacity::v1::Claim told;
  Call<State> call =
      Ask<State>(patience_, stub, &Stub::GetClaim, request, decide, &Strip, kAsItIs, &told);
  Remember(told, call.interval);
  return call;
}

Call<State> CapacityCaller::ListMachines() {
  capacity::v1::ListMachinesRequest request;
  request.set_page_size(1000);
  request.set_zone(kZone);
  const auto decide = [](StagedState<State>& staged,
                         absl::Time) -> absl::StatusOr<capacity::v1::ListMachinesResponse> {
    capacity::v1::ListMachinesResponse response;
    for (const auto& [name, machine] : staged.state().table<MachineRow>().rows()) {
      if (machine.row->zone == kZone) *response.add_machines() = capacity::ToProto(*machine.row);
    }
    return response;
  };
  return Ask<State>(patience_, *stub_, &Stub::ListMachines, request, decide, kAsItIs, kAsItIs);
}

std::string CapacityMark(const State::Change& change) {
  if (std::holds_alternative<std::shared_ptr<const ReleasedPool>>(change.row))
    return absl::StrCat(change.key, "#released");
  const auto* claim = std::get_if<std::shared_ptr<const ClaimRow>>(&change.row);
  if (claim == nullptr) return change.key;
  return *claim == nullptr ? absl::StrCat(change.key, "#gone")
                           : absl::StrCat(change.key, "#", (*claim)->generation);
}

absl::Time CapacityTime(const State::Change& change) {
  absl::Time time = absl::InfinitePast();
  if (const auto* released = std::get_if<std::shared_ptr<const ReleasedPool>>(&change.row);
      released != nullptr && *released != nullptr) {
    return (*released)->release_time;
  }
  if (const auto* claim = std::get_if<std::shared_ptr<const ClaimRow>>(&change.row);
      claim != nullptr && *claim != nullptr) {
    for (const auto& part : (*claim)->parts) time = std::max(time, part.request_time);
  }
  if (const auto* machine = std::get_if<std::shared_ptr<const MachineRow>>(&change.row);
      machine != nullptr && *machine != nullptr) {
    time = std::max(time, (*machine)->state_time);
    time = std::max(time, (*machine)->request_time.value_or(time));
  }
  return time;
}

}  // namespace muster::linearizability
