#include <muster/capacity/v1/capacity_service.grpc.pb.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/common/status_macros.h"
#include "tests/bench/machines.h"
#include "tests/bench/work.h"

// The capacity finder, over all machines.
namespace muster::bench {
namespace {

using capacity::v1::BatchSyncClaimsRequest;
using capacity::v1::CapacityService;
using capacity::v1::FindPlacementsRequest;
using capacity::v1::FindPlacementsResponse;

constexpr int kRequests = 5;        // types asked for in one call
constexpr int kHeld = 60;           // machines that are taken of a zone and type
constexpr int kClaimsPerCall = 50;  // when they are taken

// In every zone and type somebody holds machines, every other one as spot.
absl::Status SetUpHeld(const Connections& connections) {
  const Inventories inventories = WideInventories();
  RETURN_IF_ERROR(SetUp(connections, inventories));
  const auto stub = CapacityService::NewStub(connections.Of(0).channel());
  const int64_t generation = FirstGeneration();
  BatchSyncClaimsRequest call;
  for (int inventory = 0; inventory < inventories.count(); ++inventory) {
    capacity::v1::ClaimRequest& claim = *call.add_claims();
    claim.set_pool_uid(absl::StrCat("wide-holder-", inventory));
    claim.set_generation(generation);
    claim.set_organization("bench");
    claim.set_zone(inventories.Zone(inventory % inventories.zones));
    claim.set_instance_type(inventories.Type(inventory / inventories.zones));
    claim.set_compute_class(inventory % 2 == 0 ? type::v1::COMPUTE_CLASS_DEFAULT
                                               : type::v1::COMPUTE_CLASS_SPOT);
    claim.set_nodes(kHeld);
    if (call.claims_size() < kClaimsPerCall && inventory + 1 < inventories.count()) continue;
    RETURN_IF_ERROR(Ask(*stub, &CapacityService::Stub::BatchSyncClaims, call).status());
    call.Clear();
  }
  return absl::OkStatus();
}

// Asks for other types every time, for few and for many, for both classes.
void NextQuestion(const Inventories& inventories, int turn, FindPlacementsRequest& request) {
  request.Clear();
  for (int i = 0; i < kRequests; ++i) {
    capacity::v1::PlacementRequest& wanted = *request.add_requests();
    wanted.set_instance_type(inventories.Type((turn + i) % inventories.types));
    wanted.set_nodes(1 + (turn * 7 + i * 13) % inventories.machines);
    wanted.set_compute_class(i % 3 == 2 ? type::v1::COMPUTE_CLASS_SPOT
                                        : type::v1::COMPUTE_CLASS_DEFAULT);
  }
}

}  // namespace

std::vector<Work> PlacementWorks(const Connections& connections) {
  const auto make = [&connections](size_t caller) {
    const Inventories inventories = WideInventories();
    return MakeCaller<CapacityService, FindPlacementsRequest, FindPlacementsResponse>(
        connections.Of(caller), &CapacityService::Stub::PrepareAsyncFindPlacements,
        [inventories, turn = 0](FindPlacementsRequest& request) mutable {
          NextQuestion(inventories, turn++, request);
        },
        [inventories](const FindPlacementsResponse& response) {
          const bool good = response.zones_size() >= inventories.zones &&
                            response.zones(0).placements_size() == kRequests;
          return Outcome{1, good ? 0 : 1};
        });
  };
  return {ClosedLoop("find_placements_100k", {}, 1, make,
                     [&connections] { return SetUpHeld(connections); })};
}

}  // namespace muster::bench
