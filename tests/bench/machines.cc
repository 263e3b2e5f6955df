#include "tests/bench/machines.h"

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

absl::Status SetUpZone(CapacityService::Stub& stub, const Inventories& inventories, int zone) {
  capacity::v1::UpdateZoneRequest request;
  request.mutable_zone()->set_name(absl::StrCat("zones/", inventories.Zone(zone)));
  request.mutable_zone()->set_access(capacity::v1::Zone::ACCESS_GENERAL);
  for (int type = 0; type < inventories.types; ++type)
    request.mutable_zone()->add_instance_types(inventories.Type(type));
  return Ask(stub, &CapacityService::Stub::UpdateZone, request).status();
}

void FillMachine(const Inventories& inventories, int zone, int type, int machine,
                 capacity::v1::Machine& filled) {
  const std::string place = absl::StrCat(inventories.prefix, "-", zone, "-", type);
  const int rack = machine / kSlotsPerRack;
  filled.set_name(absl::StrCat("machines/", place, "-", machine));
  filled.set_zone(inventories.Zone(zone));
  filled.set_instance_type(inventories.Type(type));
  filled.set_fabric(absl::StrCat(place, "-f", rack / kRacksPerFabric));
  filled.set_rack(absl::StrCat(place, "-r", rack));
  filled.set_slot(machine % kSlotsPerRack);
}

}  // namespace

std::string Inventories::Zone(int zone) const {
  return absl::StrCat(absl::AsciiStrToUpper(prefix), "-", zone, "A");
}

std::string Inventories::Type(int type) const { return absl::StrCat(prefix, "-type-", type); }

Inventories HotInventories() { return {"hot", 1, 1, 4'000}; }
Inventories QueueInventories() { return {"queue", 1, 1, 10'000}; }
Inventories WideInventories() { return {"wide", 50, 20, 100}; }

absl::Status SetUp(const Connections& connections, const Inventories& inventories) {
  const auto stub = CapacityService::NewStub(connections.Of(0).channel());
  for (int type = 0; type < inventories.types; ++type)
    RETURN_IF_ERROR(SetUpType(*stub, inventories.Type(type)));
  capacity::v1::BatchRegisterMachinesRequest request;
  const auto send = [&]() -> absl::Status {
    if (request.machines().empty()) return absl::OkStatus();
    RETURN_IF_ERROR(Ask(*stub, &CapacityService::Stub::BatchRegisterMachines, request).status());
    request.Clear();
    return absl::OkStatus();
  };
  for (int zone = 0; zone < inventories.zones; ++zone) {
    RETURN_IF_ERROR(SetUpZone(*stub, inventories, zone));
    for (int i = 0; i < inventories.types * inventories.machines; ++i) {
      FillMachine(inventories, zone, i / inventories.machines, i % inventories.machines,
                  *request.add_machines());
      if (request.machines_size() == kMachinesPerCall) RETURN_IF_ERROR(send());
    }
  }
  return send();
}

}  // namespace muster::bench
