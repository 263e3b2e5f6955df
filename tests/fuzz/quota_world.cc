#include "services/quota/core/audit.h"
#include "services/quota/handlers.h"
#include "tests/fuzz/world.h"

namespace muster::testing {

FuzzedService MakeFuzzedService() {
  auto world = std::make_shared<World<quota::State>>();
  world->auditor = NewAuditor(world->lane, &quota::Audit);
  world->handlers = std::make_unique<quota::Handlers>(rpc::Writer<quota::Lane>{&world->lane},
                                                      world->auditor.get(), &world->lane.clock(),
                                                      quota::Policy());
  return Fuzzed(world, quota::v1::QuotaService::service_full_name(), "quota", &quota::Audit);
}

}  // namespace muster::testing
