#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/capacity/core/claim_answer.h"
#include "services/capacity/core/machine_list.h"
#include "services/capacity/handlers.h"
#include "services/capacity/wire/capacity_wire.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"
#include "services/rpc/list.h"
#include "services/rpc/read.h"
#include "services/rpc/unary.h"
#include "services/rpc/watch_stream.h"
#include "services/rpc/watch_wire.h"

namespace muster::capacity {
namespace {

// A row as it is answered.
v1::Zone Render(const State&, const ZoneRow& zone, absl::Time) { return ToProto(zone); }
v1::InstanceType Render(const State&, const InstanceTypeRow& type, absl::Time) {
  return ToProto(type);
}
v1::Machine Render(const State&, const MachineRow& machine, absl::Time) { return ToProto(machine); }
v1::Claim Render(const State& state, const ClaimRow& claim, absl::Time now) {
  return ToProto(AnswerOf(state, ViewOf(state, claim), now));
}

using ParseName = std::optional<std::string> (*)(absl::string_view);

template <class Row, class Request, class Response>
grpc::ServerUnaryReactor* Get(Lane& lane, const Clock& clock, grpc::CallbackServerContext* context,
                              const Request* request, Response* response, ParseName parse,
                              absl::string_view shape) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    if (!parse(request->name()))
      return void(responder.Finish(muster::error::InvalidField("name", shape)));
    rpc::AnswerFrom(
        lane, std::move(responder),
        [&clock, name = request->name(), response](const State& state, int64_t) -> absl::Status {
          const Row* row = state.table<Row>().Find(name);
          if (row == nullptr) return muster::error::NotFound(name);
          *response = Render(state, *row, clock.Now());
          return absl::OkStatus();
        });
  });
}

// `add(response)`: where the next one goes.
template <class Row, class Request, class Response, class Add>
grpc::ServerUnaryReactor* List(Lane& lane, const Clock& clock, grpc::CallbackServerContext* context,
                               const Request* request, Response* response, Add add) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    const absl::StatusOr<rpc::Page> page = rpc::ReadPage(*request);
    if (!page.ok()) return void(responder.Finish(page.status()));
    rpc::AnswerFrom(
        lane, std::move(responder),
        [&clock, request = *request, page = *page, response, add](const State& state, int64_t) {
          response->set_next_page_token(rpc::ListPage(
              state.table<Row>().rows(), request, page, "", [](const auto&) { return true; },
              [&](const auto& entry) {
                *add(response) = Render(state, *entry.second.row, clock.Now());
              }));
          return absl::OkStatus();
        });
  });
}

void FillPage(const State& state, const v1::ListMachinesRequest& request,
              const MachineFilter& filter, const rpc::Page& page,
              v1::ListMachinesResponse& response) {
  const size_t size = static_cast<size_t>(page.size);
  // The token holds a key, as those of the other lists do.
  const std::string after = ParseMachineName(page.after).value_or("");
  std::vector<const MachineRow*> machines = ListMachines(state, filter, after, size + 1);
  if (machines.size() > size) {
    machines.pop_back();
    response.set_next_page_token(rpc::PageToken(request, machines.back()->Key()));
  }
  for (const MachineRow* machine : machines) *response.add_machines() = ToProto(*machine);
}

absl::StatusOr<storage::WatchOptions> ToOptions(const v1::WatchCapacityRequest& request) {
  ASSIGN_OR_RETURN(storage::WatchOptions options,
                   rpc::ToWatchOptions<storage::WatchOptions>(request.start()));
  for (int i = 0; i < request.kinds_size(); ++i) {
    const int kind = request.kinds(i);
    if (kind == v1::WatchCapacityRequest::KIND_ZONE) {
      options.kinds.push_back(ZoneRow::kKind);
    } else if (kind == v1::WatchCapacityRequest::KIND_INSTANCE_TYPE) {
      options.kinds.push_back(InstanceTypeRow::kKind);
    } else if (kind == v1::WatchCapacityRequest::KIND_MACHINE) {
      options.kinds.push_back(MachineRow::kKind);
    } else if (kind == v1::WatchCapacityRequest::KIND_CLAIM) {
      options.kinds.push_back(ClaimRow::kKind);
    } else {
      return muster::error::InvalidField(
          absl::StrCat("kinds[", i, "]"),
          "must be KIND_ZONE, KIND_INSTANCE_TYPE, KIND_MACHINE or KIND_CLAIM.");
    }
  }
  return options;
}

bool ParseResource(const storage::WatchItem& item, v1::WatchCapacityResponse& response) {
  if (item.kind == ZoneRow::kKind) return response.mutable_zone()->ParseFromString(*item.bytes);
  if (item.kind == InstanceTypeRow::kKind)
    return response.mutable_instance_type()->ParseFromString(*item.bytes);
  if (item.kind == MachineRow::kKind)
    return response.mutable_machine()->ParseFromString(*item.bytes);
  return item.kind == ClaimRow::kKind && response.mutable_claim()->ParseFromString(*item.bytes);
}

bool ParseClaim(const storage::WatchItem& item, v1::WatchClaimsResponse& response) {
  return response.mutable_claim()->ParseFromString(*item.bytes);
}

v1::WatchClaimsResponse ToClaimResponse(const storage::WatchItem& item) {
  return rpc::ToWatchResponse<v1::WatchClaimsResponse>(item, &ParseClaim);
}

v1::WatchCapacityResponse ToWatchResponse(const storage::WatchItem& item) {
  return rpc::ToWatchResponse<v1::WatchCapacityResponse>(item, &ParseResource);
}

}  // namespace

Handlers::Unary Handlers::GetZone(Context context, const v1::GetZoneRequest* request,
                                  v1::Zone* response) {
  return Get<ZoneRow>(lane_, clock_, context, request, response, &ParseZoneName, kZoneNameShape);
}

Handlers::Unary Handlers::ListZones(Context context, const v1::ListZonesRequest* request,
                                    v1::ListZonesResponse* response) {
  return List<ZoneRow>(lane_, clock_, context, request, response,
                       [](auto* to) { return to->add_zones(); });
}

Handlers::Unary Handlers::GetInstanceType(Context context,
                                          const v1::GetInstanceTypeRequest* request,
                                          v1::InstanceType* response) {
  return Get<InstanceTypeRow>(lane_, clock_, context, request, response, &ParseInstanceTypeName,
                              kInstanceTypeNameShape);
}

Handlers::Unary Handlers::ListInstanceTypes(Context context,
                                            const v1::ListInstanceTypesRequest* request,
                                            v1::ListInstanceTypesResponse* response) {
  return List<InstanceTypeRow>(lane_, clock_, context, request, response,
                               [](auto* to) { return to->add_instance_types(); });
}

Handlers::Unary Handlers::GetMachine(Context context, const v1::GetMachineRequest* request,
                                     v1::Machine* response) {
  return Get<MachineRow>(lane_, clock_, context, request, response, &ParseMachineName,
                         kMachineNameShape);
}

Handlers::Unary Handlers::ListMachines(Context context, const v1::ListMachinesRequest* request,
                                       v1::ListMachinesResponse* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    Faults faults;
    MachineFilter filter = ParseRequest(*request, faults);
    if (!faults.empty())
      return void(responder.Finish(muster::error::InvalidFields(std::move(faults))));
    const absl::StatusOr<rpc::Page> page = rpc::ReadPage(*request);
    if (!page.ok()) return void(responder.Finish(page.status()));
    rpc::AnswerFrom(lane_, std::move(responder),
                    [request = *request, filter = std::move(filter), page = *page, response](
                        const State& state, int64_t) {
                      FillPage(state, request, filter, page, *response);
                      return absl::OkStatus();
                    });
  });
}

Handlers::Unary Handlers::GetClaim(Context context, const v1::GetClaimRequest* request,
                                   v1::Claim* response) {
  return Get<ClaimRow>(lane_, clock_, context, request, response, &ParseClaimName, kClaimNameShape);
}

Handlers::Unary Handlers::ListClaims(Context context, const v1::ListClaimsRequest* request,
                                     v1::ListClaimsResponse* response) {
  return List<ClaimRow>(lane_, clock_, context, request, response,
                        [](auto* to) { return to->add_claims(); });
}

Handlers::Stream<v1::WatchClaimsResponse> Handlers::WatchClaims(
    Context context, const v1::WatchClaimsRequest* request) {
  absl::StatusOr<storage::WatchOptions> options =
      rpc::ToWatchOptions<storage::WatchOptions>(request->start());
  if (!options.ok()) return rpc::FailStream<v1::WatchClaimsResponse>(context, options.status());
  options->kinds = {ClaimRow::kKind};
  return rpc::WatchStream<v1::WatchClaimsResponse>(context, lane_.Watch(*options), &ToClaimResponse,
                                                   request->start().bundle());
}

Handlers::Stream<v1::WatchCapacityResponse> Handlers::WatchCapacity(
    Context context, const v1::WatchCapacityRequest* request) {
  const absl::StatusOr<storage::WatchOptions> options = ToOptions(*request);
  if (!options.ok()) return rpc::FailStream<v1::WatchCapacityResponse>(context, options.status());
  return rpc::WatchStream<v1::WatchCapacityResponse>(context, lane_.Watch(*options),
                                                     &ToWatchResponse, request->start().bundle());
}

}  // namespace muster::capacity
