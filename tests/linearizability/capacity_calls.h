#pragma once

#include <muster/capacity/v1/capacity_service.grpc.pb.h>

#include <array>
#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "services/capacity/core/state.h"
#include "tests/linearizability/ask.h"
#include "tests/linearizability/call.h"
#include "tests/linearizability/holders.h"

namespace muster::linearizability {

// What the answers tell of who holds what; for TwoHolders.
struct Holdings {
  std::vector<Sighting> seen = {};
  std::vector<GivenBack> given_back = {};
};

// A client of capacity that asks at random: few machines, few claims that all clients share, two of
// them spot; more is wanted than there is; machines break and are mended. What it wrote it often
// looks for at once at the other replica.
class CapacityCaller {
 public:
  using Stub = capacity::v1::CapacityService::Stub;
  static constexpr int kClaims = 7;

  // Of all clients.
  struct Shared {
    std::atomic<int64_t> generations = 0;  // no two requests have the same one
    // How often each claim was released; then another one takes its place.
    std::array<std::atomic<int>, kClaims> lives = {};
  };

  // A call that is not answered within `patience` is of unknown outcome.
  CapacityCaller(int client, unsigned seed, const Channels& channels, Shared* shared,
                 absl::Duration patience);

  Call<capacity::State> Next();
  const Holdings& holdings() const { return holdings_; }

  // Makes a zone with a type and the machines, and another zone whose machines nobody asks for.
  static void SetUp(const std::shared_ptr<grpc::Channel>& channel);
  // How the names of these last begin.
  static constexpr char kBallast[] = "machines/ballast-";
  static constexpr int kBatch = 3;  // claims in one call

 private:
  int Pick(int from, int to) { return std::uniform_int_distribution<int>(from, to)(random_); }
  struct Claim {
    size_t index = 0;  // of Shared::lives
    int life = 0;
    std::string uid = {};
  };
  Claim PickClaim() { return ClaimAt(Pick(0, kClaims - 1)); }
  Claim ClaimAt(int index);
  capacity::v1::ClaimRequest RandomRequest(const Claim& claim);
  // The request was carried out.
  void NoteDone(const capacity::v1::ClaimRequest& request, const Claim& claim);
  void LookSoon(const Call<capacity::State>& written, const std::string& uid);
  void Remember(const capacity::v1::Claim& claim, const Interval& interval);
  void Remember(const capacity::v1::ClaimRequest& request, const Call<capacity::State>& call);
  Call<capacity::State> SyncClaim();
  Call<capacity::State> BatchSyncClaims();
  Call<capacity::State> SetMachineState();
  Call<capacity::State> GetClaim(const std::string& uid, Stub& stub);
  Call<capacity::State> ListMachines();

  const absl::Duration patience_;
  std::mt19937 random_;
  const std::unique_ptr<Stub> stub_;
  const std::unique_ptr<Stub> other_;
  Shared* const shared_;
  Holdings holdings_;
  std::string look_;  // for this claim, which was just written
};

// A change's Journal::Row::mark and Journal::Row::time.
std::string CapacityMark(const capacity::State::Change& change);
absl::Time CapacityTime(const capacity::State::Change& change);

}  // namespace muster::linearizability
