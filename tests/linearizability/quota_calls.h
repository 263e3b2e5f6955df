#pragma once

#include <muster/quota/v1/quota_service.grpc.pb.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "services/quota/core/state.h"
#include "tests/linearizability/ask.h"
#include "tests/linearizability/call.h"
#include "tests/linearizability/search.h"

namespace muster::linearizability {

// A client of quota that asks at random: few keys, few pools that all clients share, limits that do
// not suffice. One client a key moves its limit. What it wrote it often looks for at once at the
// other replica.
class QuotaCaller {
 public:
  using Stub = quota::v1::QuotaService::Stub;
  static constexpr int kKeys = 3;
  static constexpr int kPools = 5;

  // Of all clients.
  struct Shared {
    std::atomic<int64_t> generations = 0;  // no two requests have the same one
    // How often each pool was released; then another one takes its place.
    std::array<std::atomic<int>, kKeys* kPools> lives = {};
  };

  // A call that is not answered within `patience` is of unknown outcome.
  QuotaCaller(int client, unsigned seed, const Channels& channels, Shared* shared,
              absl::Duration patience);

  Call<quota::State> Next();

  static std::string KeyName(int key);

 private:
  int Pick(int from, int to) { return std::uniform_int_distribution<int>(from, to)(random_); }
  struct Pool {
    size_t index = 0;  // of Shared::lives
    int life = 0;
    std::string holding = {};
  };
  Pool PickPool(int key);
  quota::v1::HoldingRequest RandomRequest(const Pool& pool);
  // The request was carried out.
  void NoteDone(const quota::v1::HoldingRequest& request, const Pool& pool);
  void LookSoon(const Call<quota::State>& written, std::function<Call<quota::State>()> look);
  Call<quota::State> UpdateQuota(int key);
  Call<quota::State> SyncHolding(int key);
  Call<quota::State> BatchSyncHoldings(int key);
  Call<quota::State> GetHolding(int key, const std::string& name, Stub& stub);
  Call<quota::State> GetQuota(int key, Stub& stub);
  Call<quota::State> ListHoldings(int key);

  const int client_;
  const absl::Duration patience_;
  std::mt19937 random_;
  const std::unique_ptr<Stub> stub_;
  const std::unique_ptr<Stub> other_;
  Shared* const shared_;
  int updates_ = 0;
  std::function<Call<quota::State>()> look_;  // for what was just written
};

// A change's Journal::Row::mark and Journal::Row::time.
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
