#include "tests/bench/fleet.h"

#include <muster/capacity/v1/capacity_service.grpc.pb.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "services/common/status_macros.h"

namespace muster::bench {
namespace {

using capacity::v1::CapacityService;

constexpr int kMachinesPerCall = 1'000;
constexpr int kSlotsPerRack = 8;
constexpr int kRacksPerFabric = 20;

absl::Status SetUpType(CapacityService::Stub& stub, const std::string& type) {
  capacity::v1::UpdateInstanceTypeRequest request;
  capacity::v1::InstanceType& wanted = *request.mutable_instance_type();
  wanted.set_name(absl::StrCat("instanceTypes/", type));
  wanted.set_gpus(8);
  wanted.set_gpu_model("A100");
  wanted.set_vcpus(128);
  wanted.set_memory_kib(int64_t{2} << 30);
  wanted.set_architecture("amd64");
  wanted.set_max_pods(110);
  wanted.set_fabric(true);
  return Ask(stub, &CapacityService::Stub::UpdateInstanceType, request).status();
}

absl::Status SetUpZone(CapacityService::Stub& stub, const Fleet& fleet, int zone) {
  capacity::v1::UpdateZoneRequest request;
  request.mutable_zone()->set_name(absl::StrCat("zones/", fleet.Zone(zone)));
  request.mutable_zone()->set_access(capacity::v1::Zone::ACCESS_GENERAL);
  for (int type = 0; type < fleet.types; ++type)
    request.mutable_zone()->add_instance_types(fleet.Type(type));
  return Ask(stub, &CapacityService::Stub::UpdateZone, request).status();
}

void FillMachine(const Fleet& fleet, int zone, int type, int machine,
                 capacity::v1::Machine& filled) {
  const std::string place = absl::StrCat(fleet.prefix, "-", zone, "-", type);
  const int rack = machine / kSlotsPerRack;
  filled.set_name(absl::StrCat("machines/", place, "-", machine));
  filled.set_zone(fleet.Zone(zone));
  filled.set_instance_type(fleet.Type(type));
  filled.set_fabric(absl::StrCat(place, "-f", rack / kRacksPerFabric));
  filled.set_rack(absl::StrCat(place, "-r", rack));
  filled.set_slot(machine % kSlotsPerRack);
}

}  // namespace

std::string Fleet::Zone(int zone) const {
  return absl::StrCat(absl::AsciiStrToUpper(prefix), "-", zone, "A");
}

std::string Fleet::Type(int type) const { return absl::StrCat(prefix, "-type-", type); }

Fleet HotFleet() { return {"hot", 1, 1, 4'000}; }
Fleet QueueFleet() { return {"queue", 1, 1, 10'000}; }
Fleet WideFleet() { return {"wide", 50, 20, 100}; }

absl::Status SetUp(const Connections& connections, const Fleet& fleet) {
  const auto stub = CapacityService::NewStub(connections.Of(0).channel());
  for (int type = 0; type < fleet.types; ++type)
    RETURN_IF_ERROR(SetUpType(*stub, fleet.Type(type)));
  capacity::v1::BatchRegisterMachinesRequest request;
  const auto send = [&]() -> absl::Status {
    if (request.machines().empty()) return absl::OkStatus();
    RETURN_IF_ERROR(Ask(*stub, &CapacityService::Stub::BatchRegisterMachines, request).status());
    request.Clear();
    return absl::OkStatus();
  };
  for (int zone = 0; zone < fleet.zones; ++zone) {
    RETURN_IF_ERROR(SetUpZone(*stub, fleet, zone));
    for (int i = 0; i < fleet.types * fleet.machines; ++i) {
      FillMachine(fleet, zone, i / fleet.machines, i % fleet.machines, *request.add_machines());
      if (request.machines_size() == kMachinesPerCall) RETURN_IF_ERROR(send());
    }
  }
  return send();
}

}  // namespace muster::bench
