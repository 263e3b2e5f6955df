#include <gtest/gtest.h>
#include <muster/capacity/v1/capacity_service.grpc.pb.h>

#include <algorithm>
#include <iostream>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "services/common/error.h"
#include "services/rpc/limits.h"
#include "services/rpc/status.h"
#include "tests/hostile/meter.h"
#include "tests/hostile/worst_requests.h"
#include "tests/integration/mini_muster.h"
#include "tests/testing/raw_call.h"

namespace muster::testing {
namespace {

constexpr int64_t kMostMemory = 50'000'000;
constexpr absl::Duration kMostCpu = absl::Milliseconds(200);

// "No request of legal size costs more than 50 MB or 0.2 s of CPU; a test sends the worst of every
// repeated field of every request, found by descriptor." And no neighbour's call fails beside it.
TEST(HostileRequests, TheWorstOfEveryFieldCostsLittleAndHurtsNobody) {
  MiniMuster muster({.audit_books = false});
  muster.ApplyCatalogue();
  const auto tenants = muster.channel();
  const auto operators = muster.operator_channel();
  // A minute: how late it is answered is for hostile_attacks to say, on a machine of its own.
  Neighbour neighbour(muster.channel(), absl::Minutes(1));
  Meter meter(muster.pid());
  int64_t memory = 0;
  absl::Duration cpu;
  const std::vector<WorstRequest> requests = WorstRequests(MusterServices(), rpc::kMaxReceiveBytes);
  ASSERT_GT(requests.size(), 100u);
  for (const char* service : {"access", "history"}) {  // debug's have neither texts nor lists
    EXPECT_TRUE(absl::c_any_of(requests, [&](const WorstRequest& request) {
      return absl::StartsWith(request.method, absl::StrCat("/muster.", service, "."));
    })) << service;
  }
  for (const WorstRequest& request : requests) {
    SCOPED_TRACE(absl::StrCat(request.method, " ", request.field, " ", request.how));
    const std::string bytes = request.make();
    ASSERT_LE(bytes.size(), static_cast<size_t>(rpc::kMaxReceiveBytes));
    const bool must_be_refused = request.how == "over" && bytes.size() > rpc::kMaxReceiveBytes / 2;
    const int failed = neighbour.failed();
    meter.Begin();
    const grpc::Status status =
        CallRaw(IsForOperators(request.method) ? operators : tenants, request.method, bytes,
                // A watch that is taken goes on until it is left.
                {.deadline = request.stream && !must_be_refused ? absl::Milliseconds(300)
                                                                : absl::Seconds(30)});
    if (must_be_refused) {
      EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
    }
    EXPECT_NE(status.error_code(), grpc::StatusCode::INTERNAL) << status.error_message();
    EXPECT_NE(status.error_code(), grpc::StatusCode::UNKNOWN) << status.error_message();
    EXPECT_NE(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
    EXPECT_LE(meter.PeakBytes(), kMostMemory);
    EXPECT_LE(meter.Cpu(), kMostCpu);
    EXPECT_EQ(neighbour.failed(), failed);
    memory = std::max(memory, meter.PeakBytes());
    cpu = std::max(cpu, meter.Cpu());
  }
  std::cout << absl::StrFormat(
      "%d requests; at most %.1f MB more memory and %.2f s of CPU; %d of the neighbour's %d calls "
      "failed\n",
      requests.size(), static_cast<double>(memory) / 1e6, absl::ToDoubleSeconds(cpu),
      neighbour.failed(), neighbour.calls());
}

// Within the bounds, and in its last byte no UTF-8: all of it was parsed by then.
TEST(HostileRequests, WhatCannotBeParsedIsNotKept) {
  MiniMuster muster({.audit_books = false});
  quota::v1::BatchSyncHoldingsRequest request;
  for (int i = 0; i < rpc::kMaxEntries; ++i)
    request.add_holdings()->set_pool(std::string(1'000, 'a'));
  std::string bytes = request.SerializeAsString();
  bytes.back() = '\xff';
  Meter meter(muster.pid());
  for (int i = 0; i < 300; ++i) {
    const grpc::Status status =
        CallRaw(muster.channel(), "/muster.quota.v1.QuotaService/BatchSyncHoldings", bytes);
    ASSERT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
  }
  std::cout << absl::StrFormat("%.1f MB more memory\n",
                               static_cast<double>(meter.PeakBytes()) / 1e6);
  // What each of the threads keeps for its next request; all of them would be 300 MB.
  EXPECT_LE(meter.PeakBytes(), 2 * kMostMemory);
}

// Machines with all the labels that fit, until there is no memory for more. What was promised
// stays, and the process goes on.
TEST(HostileRequests, NearTheLimitOfItsMemoryAServerTakesNothingNewAndLives) {
  int64_t limit = 0;
  {
    MiniMuster idle({.audit_books = false});
    idle.ApplyCatalogue();
    limit = std::max(int64_t{64} << 20, Meter::PeakOf(idle.pid()) / 2 * 3);
  }
  MiniMuster muster(
      {.musterd_flags = {absl::StrCat("--memory_limit=", limit)}, .audit_books = false});
  muster.ApplyCatalogue();
  const auto stub = capacity::v1::CapacityService::NewStub(muster.channel());
  const std::string word(60, 'a');
  const std::string prefix = absl::StrCat(word, ".", word, ".", word);
  grpc::Status status;
  int batches = 0;
  for (; status.ok() && batches < 500; ++batches) {
    capacity::v1::BatchRegisterMachinesRequest request;
    for (int i = 0; i < 60; ++i) {
      capacity::v1::Machine& machine = *request.add_machines();
      machine.set_name(absl::StrCat("machines/fat-", batches, "-", i));
      machine.set_zone("RNO2A");
      machine.set_instance_type("gd-8xa100-i128");
      for (int label = 0; label < 40; ++label)
        (*machine.mutable_labels())[absl::StrCat(prefix, "/", batches, "-", i, "-", label)] = "v";
    }
    grpc::ClientContext context;
    capacity::v1::BatchRegisterMachinesResponse response;
    status = stub->BatchRegisterMachines(&context, request, &response);
  }
  ASSERT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
  EXPECT_EQ(error::ReasonOf(rpc::FromGrpcStatus(status)), "NO_MEMORY");
  EXPECT_TRUE(muster.IsServing());
  const int64_t peak = Meter::PeakOf(muster.pid());
  std::cout << absl::StrFormat("%d batches of about 0.6 MB; at most %.1f MB of %.1f MB\n", batches,
                               static_cast<double>(peak) / 1e6, static_cast<double>(limit) / 1e6);
  EXPECT_LE(peak, limit);
}

}  // namespace
}  // namespace muster::testing
