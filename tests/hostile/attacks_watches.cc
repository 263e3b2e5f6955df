// Watches that are opened and never read.
#include <grpcpp/client_context.h>
#include <muster/capacity/v1/capacity_service.grpc.pb.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/time/clock.h"
#include "tests/hostile/target.h"
#include "tests/testing/raw_call.h"
#include "tests/testing/small_window.h"

namespace muster::testing {
namespace {

using capacity::v1::CapacityService;
using capacity::v1::WatchCapacityResponse;

constexpr int kMachines = 20'000;
constexpr int kUnread = 2'000;
constexpr int kWatchesAConnection = 500;
constexpr int kChangesBeside = 5'000;
// More than wait for one reader (storage::LaneOptions).
constexpr int kChangesTooMany = 25'000;
constexpr int kLate = 20;

class UnreadWatch final : public grpc::ClientReadReactor<WatchCapacityResponse> {
 public:
  UnreadWatch(CapacityService::Stub& stub, absl::BlockingCounter& answered,
              absl::BlockingCounter& done)
      : answered_(answered), done_(done) {
    context_.set_deadline(absl::ToChronoTime(absl::Now() + absl::Minutes(10)));
    stub.async()->WatchCapacity(&context_, &request_, this);
    StartCall();
  }
  void Cancel() { context_.TryCancel(); }

  void OnReadInitialMetadataDone(bool ok) override {
    is_open_ = ok;
    answered_.DecrementCount();
  }
  void OnDone(const grpc::Status&) override { done_.DecrementCount(); }
  bool is_open() const { return is_open_; }

 private:
  absl::BlockingCounter& answered_;
  absl::BlockingCounter& done_;
  std::atomic<bool> is_open_ = false;
  grpc::ClientContext context_;
  const capacity::v1::WatchCapacityRequest request_;
};

// Each machine of `count`, and the first ones again when there are no more, moves to another slot.
void MoveMachines(const MiniMuster& muster, int count) {
  constexpr int kBatch = 1'000;
  for (int moved = 0; moved < count; moved += kBatch)
    RegisterMachines(muster, moved % kMachines, kBatch, 1 + moved / kMachines);
}

// Whether somebody who reads is told of all that there is.
bool HearsAll(const MiniMuster& muster) {
  bool all = false;
  const RawCallOptions options = {.deadline = absl::Minutes(1),
                                  .enough = [&](const std::string& bytes) {
                                    WatchCapacityResponse message;
                                    all = message.ParseFromString(bytes) &&
                                          message.type() == type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END;
                                    return all;
                                  }};
  (void)CallRaw(OwnChannel(muster), "/muster.capacity.v1.CapacityService/WatchCapacity", "",
                options);
  return all;
}

void NeverRead(Target& target) {
  const MiniMuster& muster = target.muster();
  absl::BlockingCounter answered(kUnread), done(kUnread);
  std::vector<std::unique_ptr<CapacityService::Stub>> stubs;
  std::vector<std::unique_ptr<UnreadWatch>> watches;
  for (int i = 0; i < kUnread; ++i) {
    if (i % kWatchesAConnection == 0) stubs.push_back(CapacityService::NewStub(OwnChannel(muster)));
    watches.push_back(std::make_unique<UnreadWatch>(*stubs.back(), answered, done));
  }
  answered.Wait();
  const auto open = std::count_if(watches.begin(), watches.end(),
                                  [](const auto& watch) { return watch->is_open(); });
  target.Expect(open == kUnread, absl::StrCat("only ", open, " watches were opened"));
  MoveMachines(muster, kChangesBeside);
  target.Expect(HearsAll(muster), "who reads beside them is not told of all");
  for (const auto& watch : watches) watch->Cancel();
  done.Wait();
  target.Expect(HearsAll(muster), "who reads after them is not told of all");
}

// They read on when more has changed than waits for anybody: the watch ends, and says so.
void ReadTooLate(Target& target) {
  struct Late {
    grpc::ClientContext context = {};
    std::unique_ptr<grpc::ClientReader<WatchCapacityResponse>> reader = {};
  };
  const auto stub = CapacityService::NewStub(OwnChannel(target.muster(), SmallWindow()));
  capacity::v1::WatchCapacityRequest request;
  request.mutable_start()->set_bundle(true);
  std::vector<Late> watches(kLate);
  WatchCapacityResponse message;
  for (Late& watch : watches) {
    watch.context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Minutes(5)));
    watch.reader = stub->WatchCapacity(&watch.context, request);
    // Its snapshot is of now.
    target.Expect(watch.reader->Read(&message), "a watch is refused");
  }
  MoveMachines(target.muster(), kChangesTooMany);
  int cut_off = 0;
  for (Late& watch : watches) {
    while (watch.reader->Read(&message)) {
    }
    if (watch.reader->Finish().error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED) ++cut_off;
  }
  target.Expect(cut_off == kLate, absl::StrCat("only ", cut_off, " were cut off"));
}

void PrepareWatched(MiniMuster& muster) { RegisterMachines(muster, 0, kMachines, 0); }

}  // namespace

void RegisterMachines(const MiniMuster& muster, int begin, int count, int slot) {
  constexpr int kMostABatch = 1'000;
  const auto channel = muster.channel();
  for (int done = 0; done < count; done += kMostABatch) {
    capacity::v1::BatchRegisterMachinesRequest request;
    for (int i = done; i < std::min(count, done + kMostABatch); ++i) {
      auto* machine = request.add_machines();
      machine->set_name(absl::StrCat("machines/h", begin + i));
      machine->set_zone("RNO2A");
      machine->set_instance_type("gd-8xa100-i128");
      machine->set_slot(slot);
    }
    const grpc::Status status =
        CallRaw(channel, "/muster.capacity.v1.CapacityService/BatchRegisterMachines",
                request.SerializeAsString());
    if (!status.ok()) throw std::runtime_error("machines are refused: " + status.error_message());
  }
}

std::vector<Attack> WatchAttacks() {
  return {
      {.row = "5",
       .what = absl::StrCat(kUnread, " watches that are never read, beside ", kChangesBeside,
                            " changes"),
       .before = "1.9 MB each; 2.6 GB stay when they are gone",
       // Of each the 64 KiB that HTTP/2 lets out without a reader, twice while they go out, and a
       // pointer to each change.
       .load = {.bytes = int64_t{kUnread} * ((2 * 64 << 10) + 16 * kChangesBeside),
                .cpu = absl::Seconds(60)},
       .run = NeverRead,
       .prepare = PrepareWatched},
      {.row = "5",
       .what = absl::StrCat(kLate, " watches that are read after ", kChangesTooMany, " changes"),
       // Each change once, some 2 KiB, for all of them, and of each a bundle.
       .load = {.bytes = kChangesTooMany * (2 << 10) + kLate * (1 << 20), .cpu = absl::Seconds(60)},
       .run = ReadTooLate,
       .prepare = PrepareWatched},
  };
}

}  // namespace muster::testing
