// Requests that are as bad as 1 MiB allows.
#include <google/protobuf/descriptor.h>

#include <atomic>
#include <stdexcept>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/rpc/limits.h"
#include "tests/hostile/target.h"
#include "tests/hostile/worst_requests.h"
#include "tests/testing/raw_call.h"

namespace muster::testing {
namespace {

// The worst of a field, out of all bounds.
WorstRequest Worst(const std::string& method, const std::string& field) {
  for (const auto* service : MusterServices()) {
    if (!absl::StartsWith(method, absl::StrCat("/", service->full_name(), "/"))) continue;
    for (WorstRequest& each : WorstRequests({service}, rpc::kMaxReceiveBytes)) {
      if (each.method == method && each.field == field && each.how == "over")
        return std::move(each);
    }
  }
  throw std::runtime_error(absl::StrCat("no field ", field, " in ", method));
}

// `rounds` times so many of the request at once: each is refused for what it is.
void Send(Target& target, const WorstRequest& request, int at_once, int rounds) {
  const auto channel = target.muster().channel();
  const std::string bytes = request.make();
  std::atomic<int> others = 0;
  for (int round = 0; round < rounds; ++round) {
    AtOnce(at_once, [&](int) {
      const grpc::Status status = CallRaw(channel, request.method, bytes);
      if (status.error_code() != grpc::StatusCode::INVALID_ARGUMENT) ++others;
    });
  }
  target.Expect(others == 0, absl::StrCat(others.load(), " were not answered INVALID_ARGUMENT"));
}

Attack Repeated(const std::string& row, const std::string& method, const std::string& field,
                int at_once, int rounds, const std::string& before) {
  return {.row = row,
          .what = absl::StrCat(method.substr(method.rfind('/') + 1), ".", field, ", 1 MiB, ",
                               at_once * rounds, " calls, ", at_once, " at once"),
          .before = before,
          .load = {.requests = at_once * rounds, .at_once = at_once},
          .run = [=](Target& target) { Send(target, Worst(method, field), at_once, rounds); }};
}

// Each method, garbage of two kinds.
void SendGarbage(Target& target) {
  const auto tenants = target.muster().channel();
  const auto operators = target.muster().operator_channel();
  int calls = 0, others = 0;
  for (int round = 0; round < 20; ++round) {
    for (const auto* service : MusterServices()) {
      for (int i = 0; i < service->method_count(); ++i) {
        const std::string method =
            absl::StrCat("/", service->full_name(), "/", service->method(i)->name());
        const auto& channel = IsForOperators(method) ? operators : tenants;
        // Closed to tenants, whatever its bytes.
        if (absl::StartsWith(service->method(i)->name(), "Audit")) continue;
        for (const std::string& bytes :
             {std::string("\xff\xff\xff\xff"), std::string(1000, '\x0b')}) {
          const grpc::Status status = CallRaw(channel, method, bytes);
          ++calls;
          if (status.error_code() != grpc::StatusCode::INVALID_ARGUMENT ||
              status.error_message().empty())
            ++others;
        }
      }
    }
  }
  target.Expect(others == 0, absl::StrCat(others, " of ", calls, " were not INVALID_ARGUMENT"));
}

}  // namespace

std::vector<Attack> RequestAttacks() {
  const std::string lifecycle = "/muster.lifecycle.v1.LifecycleService/";
  const std::string quota = "/muster.quota.v1.QuotaService/";
  return {
      Repeated("3", lifecycle + "ApplyNodePool", "node_pool.spec.node_taints", 1, 50,
               "3.0 GB, 10 s each; 306 of 335 failed"),
      Repeated("4", quota + "CreateQuota", "quota.overrides", 4, 10,
               "2.2 GB, 4-6 s of CPU each; abort at 4 GiB"),
      Repeated("4", "/muster.capacity.v1.CapacityService/BatchRegisterMachines", "machines", 4, 5,
               "1.6 GB, 7 s each"),
      Repeated("12", lifecycle + "WatchLifecycle", "kinds", 1, 20,
               "140-270 MB a stream; 32 of 248 failed"),
      Repeated("13", quota + "GetQuota", "name", 200, 1, "27 s, 12 s of CPU; 344 of 540 failed"),
      {.row = "24",
       .what = "bytes that do not parse, to each method",
       .before = "UNIMPLEMENTED, without a word",
       .load = {.requests = 60},
       .run = SendGarbage},
  };
}

}  // namespace muster::testing
