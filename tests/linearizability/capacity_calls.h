#pragma once

#include <muster/capacity/v1/capacity_service.grpc.pb.h>

#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "services/capacity/core/state.h"
#include "tests/linearizability/call.h"
#include "tests/linearizability/holders.h"

namespace muster::linearizability {

// What the answers tell of who holds what; for TwoHolders.
struct Holdings {
  std::vector<Sighting> seen = {};
  std::vector<GivenBack> given_back = {};
};

// A client of capacity that asks at random: few machines, few claims that all clients share, two of
// them spot; more is wanted than there is; machines break and are mended.
class CapacityCaller {
 public:
  // `generations` is shared by all clients: no two requests have the same generation. A call
  // that is not answered within `patience` is of unknown outcome.
  CapacityCaller(int client, unsigned seed, const std::shared_ptr<grpc::Channel>& channel,
                 std::atomic<int64_t>* generations, absl::Duration patience);

  Call<capacity::State> Next();
  const Holdings& holdings() const { return holdings_; }

  // A zone, a type, and the machines.
  static void SetUp(const std::shared_ptr<grpc::Channel>& channel);

 private:
  int Pick(int from, int to) { return std::uniform_int_distribution<int>(from, to)(random_); }
  capacity::v1::ClaimRequest RandomRequest(int claim);
  void Remember(const capacity::v1::Claim& claim, const Interval& interval);
  void Remember(const capacity::v1::ClaimRequest& request, const Call<capacity::State>& call);
  Call<capacity::State> SyncClaim();
  Call<capacity::State> BatchSyncClaims();
  Call<capacity::State> SetMachineState();
  Call<capacity::State> GetClaim();
  Call<capacity::State> ListMachines();

  const absl::Duration patience_;
  std::mt19937 random_;
  const std::unique_ptr<capacity::v1::CapacityService::Stub> stub_;
  std::atomic<int64_t>* const generations_;
  Holdings holdings_;
};

// For Journal::Row.
std::string CapacityMark(const capacity::State::Change& change);
absl::Time CapacityTime(const capacity::State::Change& change);

}  // namespace muster::linearizability
