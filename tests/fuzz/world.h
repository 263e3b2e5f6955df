#pragma once

#include <google/protobuf/descriptor.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "storage/postgres/auditor.h"
#include "tests/fuzz/harness.h"
#include "tests/fuzz/memory_lane.h"

namespace muster::testing {

// A service on a lane in memory, and the state in which each input finds it.
template <class State>
struct World {
  MemoryLane<State> lane;
  State kept;
  std::function<void(State&, absl::Time now)> furnish =
      {};  // beside what calls made; null: nothing
  std::unique_ptr<storage::Auditor> auditor;
  std::unique_ptr<grpc::Service> handlers;
};

template <class State>
std::vector<std::string> NoAudit(const State&) {
  return {};
}

// An auditor that audits only when it is asked.
template <class State>
std::unique_ptr<storage::Auditor> NewAuditor(
    const MemoryLane<State>& lane, std::vector<std::string> (*audit)(const State& state)) {
  return std::make_unique<storage::Auditor>(storage::Auditor::Options{
      .service = "fuzzed",
      .interval = absl::Hours(1),
      .audit = [&lane, audit]() -> absl::StatusOr<storage::AuditReport> {
        return lane.Peek([&](const State& state, int64_t revision) {
          return storage::AuditReport{revision, static_cast<int64_t>(state.size()), audit(state)};
        });
      }});
}

template <class State>
FuzzedService Fuzzed(std::shared_ptr<World<State>> world, const char* service, const char* seeds,
                     std::vector<std::string> (*audit)(const State& state)) {
  World<State>* raw = world.get();
  return {
      .descriptor = google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(service),
      .handlers = raw->handlers.get(),
      .seeds = absl::StrCat(MUSTER_SOURCE_DIR, "/tests/fuzz/", seeds, "_seeds.txt"),
      .keep =
          [raw] {
            raw->kept = raw->lane.Peek([](const State& state, int64_t) { return state; });
            raw->lane.StartClock();
            if (raw->furnish) raw->furnish(raw->kept, raw->lane.clock().Now());
          },
      .reset = [raw] { raw->lane.Reset(raw->kept); },
      .pass = [raw] { raw->lane.Advance(absl::Minutes(1)); },
      .audit =
          [raw, audit] {
            return raw->lane.Peek([&](const State& state, int64_t) { return audit(state); });
          },
      .owns = std::move(world)};
}

}  // namespace muster::testing
