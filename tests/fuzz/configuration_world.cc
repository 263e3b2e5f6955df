#include "services/configuration/handlers.h"
#include "tests/fuzz/world.h"

namespace muster::testing {

FuzzedService MakeFuzzedService() {
  auto world = std::make_shared<World<configuration::State>>();
  world->handlers = std::make_unique<configuration::Handlers>(
      rpc::Writer<configuration::Lane>{&world->lane}, configuration::Policy());
  return Fuzzed(world, configuration::v1::ConfigurationService::service_full_name(),
                "configuration", &NoAudit<configuration::State>);
}

}  // namespace muster::testing
