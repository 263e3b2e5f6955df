#include <muster/capacity/v1/capacity_service.grpc.pb.h>
#include <muster/lifecycle/v1/lifecycle_service.grpc.pb.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/common/status_macros.h"
#include "tests/bench/machines.h"
#include "tests/bench/open_watches.h"
#include "tests/bench/usage.h"
#include "tests/bench/work.h"

// What watches that nothing happens to, and those that nobody reads, cost the server in memory.
namespace muster::bench {
namespace {

using capacity::v1::CapacityService;
using capacity::v1::WatchCapacityRequest;
using capacity::v1::WatchCapacityResponse;
using lifecycle::v1::LifecycleService;
using lifecycle::v1::WatchLifecycleRequest;
using lifecycle::v1::WatchLifecycleResponse;

constexpr int kIdle = 10'000;
constexpr int kUnread = 1'000;
constexpr int kUnreadApart = 100;

using IdleWatches = OpenWatches<LifecycleService, WatchLifecycleRequest, WatchLifecycleResponse>;
using UnreadWatches = OpenWatches<CapacityService, WatchCapacityRequest, WatchCapacityResponse>;

// Watches of pools that do not exist, another one for each.
IdleWatches::Options Idle(const std::string& target) {
  return {.target = target,
          .count = kIdle,
          .start = [](LifecycleService::Stub& stub, auto* context, const auto* request,
                      auto* reactor) { stub.async()->WatchLifecycle(context, request, reactor); },
          .request =
              [](int number) {
                WatchLifecycleRequest request;
                request.set_name_prefix(
                    absl::StrCat("organizations/bench/clusters/idle/nodePools/", number));
                return request;
              }};
}

// Watches of all machines.
UnreadWatches::Options Unread(const std::string& target, int count) {
  return {.target = target,
          .count = count,
          .reads = false,
          .start = [](CapacityService::Stub& stub, auto* context, const auto* request,
                      auto* reactor) { stub.async()->WatchCapacity(context, request, reactor); },
          .request =
              [](int) {
                WatchCapacityRequest request;
                request.add_kinds(WatchCapacityRequest::KIND_MACHINE);
                return request;
              }};
}

// The process's resident bytes once they stay as they are.
int64_t RestingBytes(pid_t process) {
  constexpr absl::Duration kLook = absl::Seconds(1);
  for (int64_t before = ResidentBytes(process), now = 0;; before = now) {
    absl::SleepFor(kLook);
    now = ResidentBytes(process);
    if (std::abs(now - before) <= before / 1'000) return now;
  }
}

// Opens the watches; returns how many resident bytes of `server` each of them takes.
template <class Watches>
double BytesEach(pid_t server, const typename Watches::Options& options,
                 std::unique_ptr<Watches>& watches) {
  const int64_t before = RestingBytes(server);
  watches = std::make_unique<Watches>(options);
  return static_cast<double>(RestingBytes(server) - before) / options.count;
}

// The same of unread watches of all machines, with a commit between each two, so that no two begin
// with the same snapshot. The server drops what is not read within ten seconds
// (LaneOptions::late_reader), so that these are too few for that to come before the bytes rest.
absl::StatusOr<double> BytesOfUnreadApart(const Connections& connections, const std::string& target,
                                          pid_t server,
                                          std::vector<std::unique_ptr<UnreadWatches>>& watches) {
  Inventories more{"apart", 1, 1, 0};
  RETURN_IF_ERROR(SetUp(connections, more));
  const int64_t before = RestingBytes(server);
  for (int i = 0; i < kUnreadApart; ++i) {
    watches.push_back(std::make_unique<UnreadWatches>(Unread(target, 1)));
    ++more.machines;
    RETURN_IF_ERROR(SetUp(connections, more));
  }
  return static_cast<double>(RestingBytes(server) - before) / kUnreadApart;
}

// A server that reuses freed memory seems to take less: so this comes before other works, and no
// watch ends meanwhile.
absl::StatusOr<Rate> Measure(const Connections& connections, const std::string& target,
                             pid_t server) {
  if (server == 0) return absl::InvalidArgumentError("watch_idle_10k: --server_pid is not set.");
  Rate rate;
  rate.unit = "bytes";
  std::unique_ptr<IdleWatches> idle;
  rate.per_second = BytesEach(server, Idle(target), idle);
  RETURN_IF_ERROR(SetUp(connections, QueueInventories()));
  std::unique_ptr<UnreadWatches> unread;
  rate.also["bytes_unread"] = BytesEach(server, Unread(target, kUnread), unread);
  std::vector<std::unique_ptr<UnreadWatches>> apart;
  ASSIGN_OR_RETURN(rate.also["bytes_unread_apart"],
                   BytesOfUnreadApart(connections, target, server, apart));
  return rate;
}

}  // namespace

std::vector<Work> WatchMemoryWorks(const Connections& connections, const std::string& target,
                                   pid_t server) {
  Work work{"watch_idle_10k"};
  // Measured in the first round only; later rounds repeat that.
  work.measure = [=, &connections, first = std::make_shared<std::optional<Rate>>()](
                     absl::Duration, CpuMeter&) -> absl::StatusOr<Rate> {
    if (!first->has_value()) {
      ASSIGN_OR_RETURN(*first, Measure(connections, target, server));
    }
    return **first;
  };
  return {work};
}

}  // namespace muster::bench
