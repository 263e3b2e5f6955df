#include <muster/debug/v1/debug_service.grpc.pb.h>

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "services/common/log.h"
#include "services/musterd/debug_handlers.h"
#include "tests/fuzz/harness.h"

namespace muster::testing {
namespace {

// Two services: one that is in order, one that is not.
struct DebugWorld {
  std::vector<musterd::ServicePart> parts = {};
  std::unique_ptr<musterd::DebugHandlers> handlers = {};
};

}  // namespace

FuzzedService MakeFuzzedService() {
  const auto world = std::make_shared<DebugWorld>();
  world->parts.push_back({.name = "quota", .compare = []() -> absl::StatusOr<storage::Comparison> {
                            return storage::Comparison{
                                .revision = 5, .resources = 3, .whole_journal = true};
                          }});
  world->parts.push_back(
      {.name = "capacity", .compare = []() -> absl::StatusOr<storage::Comparison> {
         return storage::Comparison{.revision = 7, .resources = 1, .differences = {"machines/m1"}};
       }});
  world->handlers = std::make_unique<musterd::DebugHandlers>(&world->parts, nullptr, nullptr);
  FuzzedService service = FuzzedAlone(debug::v1::DebugService::service_full_name(),
                                      world->handlers.get(), "debug", world);
  // A level that was set would fill the output.
  service.pass = [] { log::SetLevel(log::Level::kError); };
  return service;
}

}  // namespace muster::testing
