#include "services/capacity/core/audit.h"
#include "services/capacity/handlers.h"
#include "tests/fuzz/world.h"

namespace muster::testing {

FuzzedService MakeFuzzedService() {
  auto world = std::make_shared<World<capacity::State>>();
  world->auditor = NewAuditor(world->lane, &capacity::Audit);
  world->handlers = std::make_unique<capacity::Handlers>(rpc::Writer<capacity::Lane>{&world->lane},
                                                         world->auditor.get(), &world->lane.clock(),
                                                         capacity::Policy());
  return Fuzzed(world, capacity::v1::CapacityService::service_full_name(), "capacity",
                &capacity::Audit);
}

}  // namespace muster::testing
