#pragma once

#include <muster/quota/v1/quota_service.grpc.pb.h>

#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "services/quota/core/state.h"
#include "tests/linearizability/call.h"
#include "tests/linearizability/search.h"

namespace muster::linearizability {

// A client of quota that asks at random: few keys, few pools that all clients share, limits that do
// not suffice. One client a key moves its limit.
class QuotaCaller {
 public:
  // `generations` is shared by all clients: no two requests have the same generation. A call
  // that is not answered within `patience` is of unknown outcome.
  QuotaCaller(int client, unsigned seed, const std::shared_ptr<grpc::Channel>& channel,
              std::atomic<int64_t>* generations, absl::Duration patience);

  Call<quota::State> Next();

  static constexpr int kKeys = 3;
  static std::string KeyName(int key);

 private:
  int Pick(int from, int to) { return std::uniform_int_distribution<int>(from, to)(random_); }
  quota::v1::HoldingRequest RandomRequest(int key);
  Call<quota::State> UpdateQuota(int key);
  Call<quota::State> SyncHolding(int key);
  Call<quota::State> BatchSyncHoldings(int key);
  Call<quota::State> GetHolding(int key);
  Call<quota::State> GetQuota(int key);
  Call<quota::State> ListHoldings(int key);

  const int client_;
  const absl::Duration patience_;
  std::mt19937 random_;
  const std::unique_ptr<quota::v1::QuotaService::Stub> stub_;
  std::atomic<int64_t>* const generations_;
  int updates_ = 0;
};

// For Journal::Row.
std::string QuotaMark(const quota::State::Change& change);
absl::Time QuotaTime(const quota::State::Change& change);

// Quota's core for Search: answers without revisions and times.
class QuotaModel {
 public:
  using State = quota::State;
  explicit QuotaModel(std::vector<const Call<State>*> calls) : calls_(std::move(calls)) {}
  State Initial() const { return {}; }
  std::optional<State> Step(const State& state, size_t call) const;
  std::string KeyOf(const State& state) const;

 private:
  std::vector<const Call<State>*> calls_;
};

}  // namespace muster::linearizability
