#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/capacity/core/claim_reply.h"
#include "services/capacity/core/machine_list.h"
#include "services/capacity/core/place.h"
#include "services/capacity/handlers.h"
#include "services/capacity/wire/capacity_wire.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"
#include "services/rpc/choose.h"
#include "services/rpc/list.h"
#include "services/rpc/read.h"
#include "services/rpc/watch_stream.h"
#include "services/rpc/watch_wire.h"

namespace muster::capacity {
namespace {

// A row as it is answered.
constexpr auto kRender = [](const State&, const auto& row) { return ToProto(*row.row); };
// A claim as it is answered, with the estimate that depends on the time.
struct RenderClaim {
  const Clock& clock;
  v1::Claim operator()(const State& state, const Versioned<ClaimRow>& claim) const {
    return ToProto(AnswerOf(state, ViewOf(state, *claim.row), clock.Now()));
  }
};

// A page in order of id, merged from the sets of ids that match: no walk through the whole table.
void FillPage(const State& state, const v1::ListMachinesRequest& request, const rpc::Page& page,
              const MachineFilter& filter, v1::ListMachinesResponse& response) {
  const size_t size = static_cast<size_t>(page.size);
  // The token holds a key, as those of the other lists do.
  const std::string after = ParseMachineName(page.after).value_or("");
  const std::vector<const MachineRow*> machines = ListMachines(state, filter, after, size + 1);
  size_t bytes = 0;
  for (size_t i = 0; i < machines.size(); ++i) {
    if (i == size || bytes >= rpc::kMaxPageBytes)
      return response.set_next_page_token(rpc::PageToken(request, machines[i - 1]->Key()));
    *response.add_machines() = ToProto(*machines[i]);
    bytes += response.machines(static_cast<int>(i)).ByteSizeLong();
  }
}

// The same machines by their rows.
constexpr auto kSelectMachines = [](const v1::ListMachinesRequest& request, Faults& faults) {
  return rpc::Selection<MachineRow>{
      "", [filter = ParseRequest(request, faults)](absl::string_view, const MachineRow& machine) {
        return Matches(filter, machine);
      }};
};

// The zone that the item is in; nullopt: it is in none, or cannot be parsed, which is found later.
std::optional<std::string> ZoneOf(const storage::WatchItem& item) {
  if (item.kind == ZoneRow::kKind) return ParseZoneName(item.key);
  if (item.kind == MachineRow::kKind) {
    v1::Machine machine;
    return machine.ParseFromString(*item.bytes) ? std::optional(machine.zone()) : std::nullopt;
  }
  if (item.kind != ClaimRow::kKind) return std::nullopt;
  v1::Claim claim;
  return claim.ParseFromString(*item.bytes) ? std::optional(claim.zone()) : std::nullopt;
}

// Keys do not tell where machines and claims are.
absl::Status KeepZone(storage::WatchOptions& options, const std::string& zone) {
  return rpc::KeepZone(options, zone, [zone](const storage::WatchItem& item) {
    return ZoneOf(item).value_or(zone);
  });
}

absl::StatusOr<storage::WatchOptions> ToOptions(const v1::WatchClaimsRequest& request,
                                                uint64_t turn) {
  ASSIGN_OR_RETURN(storage::WatchOptions options,
                   rpc::ToWatchOptions<storage::WatchOptions>(request.start(), turn));
  options.kinds = {ClaimRow::kKind};
  RETURN_IF_ERROR(KeepZone(options, request.zone()));
  return options;
}

absl::StatusOr<storage::WatchOptions> ToOptions(const v1::WatchCapacityRequest& request,
                                                uint64_t turn) {
  ASSIGN_OR_RETURN(storage::WatchOptions options,
                   rpc::ToWatchOptions<storage::WatchOptions>(request.start(), turn));
  RETURN_IF_ERROR(KeepZone(options, request.zone()));
  for (int i = 0; i < request.kinds_size(); ++i) {
    const int kind = request.kinds(i);
    if (kind == v1::WatchCapacityRequest::KIND_ZONE) {
      rpc::AddKind(options, ZoneRow::kKind);
    } else if (kind == v1::WatchCapacityRequest::KIND_INSTANCE_TYPE) {
      rpc::AddKind(options, InstanceTypeRow::kKind);
    } else if (kind == v1::WatchCapacityRequest::KIND_MACHINE) {
      rpc::AddKind(options, MachineRow::kKind);
    } else if (kind == v1::WatchCapacityRequest::KIND_CLAIM) {
      rpc::AddKind(options, ClaimRow::kKind);
    } else {
      return muster::error::InvalidField(
          absl::StrCat("kinds[", i, "]"),
          "must be KIND_ZONE, KIND_INSTANCE_TYPE, KIND_MACHINE or KIND_CLAIM.");
    }
  }
  return options;
}

int FieldOf(const storage::WatchItem& item) {
  using Response = v1::WatchCapacityResponse;
  if (item.kind == ZoneRow::kKind) return Response::kZoneFieldNumber;
  if (item.kind == InstanceTypeRow::kKind) return Response::kInstanceTypeFieldNumber;
  if (item.kind == MachineRow::kKind) return Response::kMachineFieldNumber;
  return item.kind == ClaimRow::kKind ? Response::kClaimFieldNumber : 0;
}

v1::WatchClaimsResponse ToClaimResponse(const storage::WatchItem& item) {
  return rpc::ToWatchResponse<v1::WatchClaimsResponse>(
      item, [](const auto&) { return v1::WatchClaimsResponse::kClaimFieldNumber; });
}

v1::WatchCapacityResponse ToWatchResponse(const storage::WatchItem& item) {
  return rpc::ToWatchResponse<v1::WatchCapacityResponse>(item, &FieldOf);
}

}  // namespace

Handlers::Unary Handlers::GetZone(Context context, const v1::GetZoneRequest* request,
                                  v1::Zone* response) {
  return rpc::GetRow<ZoneRow>(context, lane_, *request, response,
                              rpc::NameShape{&ParseZoneName, kZoneNameShape}, kRender);
}

Handlers::Unary Handlers::ListZones(Context context, const v1::ListZonesRequest* request,
                                    v1::ListZonesResponse* response) {
  return rpc::ListRows<ZoneRow>(
      context, lane_, *request, response, rpc::SelectAll<ZoneRow>(),
      [](auto& page) { return page.add_zones(); }, kRender);
}

Handlers::Unary Handlers::GetInstanceType(Context context,
                                          const v1::GetInstanceTypeRequest* request,
                                          v1::InstanceType* response) {
  return rpc::GetRow<InstanceTypeRow>(
      context, lane_, *request, response,
      rpc::NameShape{&ParseInstanceTypeName, kInstanceTypeNameShape}, kRender);
}

Handlers::Unary Handlers::ListInstanceTypes(Context context,
                                            const v1::ListInstanceTypesRequest* request,
                                            v1::ListInstanceTypesResponse* response) {
  return rpc::ListRows<InstanceTypeRow>(
      context, lane_, *request, response, rpc::SelectAll<InstanceTypeRow>(),
      [](auto& page) { return page.add_instance_types(); }, kRender);
}

Handlers::Unary Handlers::GetMachine(Context context, const v1::GetMachineRequest* request,
                                     v1::Machine* response) {
  return rpc::GetRow<MachineRow>(context, lane_, *request, response,
                                 rpc::NameShape{&ParseMachineName, kMachineNameShape}, kRender);
}

Handlers::Unary Handlers::ListMachines(Context context, const v1::ListMachinesRequest* request,
                                       v1::ListMachinesResponse* response) {
  if (!request->filter().empty() || !request->order_by().empty()) {
    return rpc::ChooseRows<MachineRow>(
        context, slow_, lane_, *request, response, kSelectMachines,
        [](auto& page) { return page.add_machines(); }, kRender);
  }
  const auto scope = rpc::NarrowedTo(*context);
  const auto parse = [&](const v1::ListMachinesRequest& asked, Faults& faults) {
    MachineFilter filter = ParseRequest(asked, faults);
    if (scope != nullptr) filter.zones = scope->zones();
    return filter;
  };
  return rpc::ReadPaged(context, lane_, *request, response, parse, &FillPage);
}

Handlers::Unary Handlers::GetClaim(Context context, const v1::GetClaimRequest* request,
                                   v1::Claim* response) {
  return rpc::GetRow<ClaimRow>(context, lane_, *request, response,
                               rpc::NameShape{&ParseClaimName, kClaimNameShape},
                               RenderClaim{clock_});
}

Handlers::Unary Handlers::ListClaims(Context context, const v1::ListClaimsRequest* request,
                                     v1::ListClaimsResponse* response) {
  return rpc::ChooseRows<ClaimRow>(
      context, slow_, lane_, *request, response, rpc::SelectAll<ClaimRow>(),
      [](auto& page) { return page.add_claims(); }, RenderClaim{clock_});
}

Handlers::Stream<v1::WatchClaimsResponse> Handlers::WatchClaims(
    Context context, const v1::WatchClaimsRequest* request) {
  const absl::StatusOr<storage::WatchOptions> options = ToOptions(*request, rpc::TurnOf(*context));
  if (!options.ok()) return rpc::FailStream<v1::WatchClaimsResponse>(context, options.status());
  return rpc::WatchStream<v1::WatchClaimsResponse>(context, lane_.Watch(*options), &ToClaimResponse,
                                                   request->start());
}

Handlers::Stream<v1::WatchCapacityResponse> Handlers::WatchCapacity(
    Context context, const v1::WatchCapacityRequest* request) {
  const absl::StatusOr<storage::WatchOptions> options = ToOptions(*request, rpc::TurnOf(*context));
  if (!options.ok()) return rpc::FailStream<v1::WatchCapacityResponse>(context, options.status());
  return rpc::WatchStream<v1::WatchCapacityResponse>(context, lane_.Watch(*options),
                                                     &ToWatchResponse, request->start());
}

}  // namespace muster::capacity
