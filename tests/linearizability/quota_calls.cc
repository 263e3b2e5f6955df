#include "tests/linearizability/quota_calls.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/common/faults.h"
#include "services/quota/core/decide.h"
#include "services/quota/wire/quota_wire.h"
#include "tests/linearizability/ask.h"

namespace muster::linearizability {
namespace {

using quota::Holding;
using quota::Quota;
using quota::State;
using Stub = QuotaCaller::Stub;

// Two in a row always differ, also when one of them got lost: each change of a limit shows.
constexpr int64_t kLimits[] = {8, 12, 10};

void Loosen(quota::v1::Quota& quota) {
  quota.clear_etag();
  quota.clear_create_time();
  quota.clear_update_time();
}
void Loosen(quota::v1::Holding& holding) { holding.clear_update_time(); }
void Loosen(quota::v1::ListHoldingsResponse& response) {
  for (auto& holding : *response.mutable_holdings()) Loosen(holding);
}
void Loosen(quota::v1::SyncHoldingResponse& response) {
  response.mutable_answer()->clear_revision();
}
void Loosen(quota::v1::BatchSyncHoldingsResponse& response) {
  for (auto& result : *response.mutable_results()) {
    if (result.has_answer()) result.mutable_answer()->clear_revision();
  }
}
constexpr auto kLoosen = [](auto& response) { Loosen(response); };

// A release may remove the holding, leave the pool's uid behind, or both.
void AddMarks(const quota::v1::HoldingRequest& request, std::vector<std::string>& marks) {
  if (!request.release()) {
    marks.push_back(absl::StrCat(request.name(), "#", request.generation()));
    return;
  }
  marks.push_back(absl::StrCat(request.name(), "#gone"));
  marks.push_back(absl::StrCat(request.name().substr(request.name().rfind('/') + 1), "#released"));
}

absl::StatusOr<quota::v1::HoldingAnswer> Decided(StagedState<State>& staged,
                                                 const quota::v1::HoldingRequest& request,
                                                 absl::Time now) {
  error::Faults none;
  const auto answer = quota::Decide(staged, quota::FromProto(request, "", none), now);
  if (!answer.ok()) return answer.status();
  return quota::ToProto(*answer);
}

}  // namespace

QuotaCaller::QuotaCaller(int client, unsigned seed, const Channels& channels, Shared* shared,
                         absl::Duration patience)
    : client_(client),
      patience_(patience),
      random_(seed + static_cast<unsigned>(client)),
      stub_(quota::v1::QuotaService::NewStub(channels.own)),
      other_(quota::v1::QuotaService::NewStub(channels.other)),
      shared_(shared) {}

std::string QuotaCaller::KeyName(int key) {
  return absl::StrCat("organizations/acme", key, "/quotas/US-EAST-04A~gd-8xa100-i128~default");
}

Call<State> QuotaCaller::Next() {
  if (look_) return std::exchange(look_, nullptr)();
  const bool moves_limit = client_ < kKeys && updates_ * 8 <= Pick(0, 100);
  const int key = moves_limit ? client_ : Pick(0, kKeys - 1);
  const int percent = Pick(0, 99);
  if (moves_limit) return UpdateQuota(key);
  if (percent < 60) return SyncHolding(key);
  if (percent < 75) return BatchSyncHoldings(key);
  if (percent < 85) return GetHolding(key, PickPool(key).holding, *stub_);
  if (percent < 95) return GetQuota(key, *stub_);
  return ListHoldings(key);
}

// A few are late: of pools that were released.
QuotaCaller::Pool QuotaCaller::PickPool(int key) {
  Pool pool{.index = static_cast<size_t>(key * kPools + Pick(0, kPools - 1))};
  pool.life = shared_->lives[pool.index];
  if (Pick(0, 9) == 0) pool.life = std::max(0, pool.life - Pick(1, 3));
  pool.holding = absl::StrCat(KeyName(key), "/holdings/p", pool.index, "x", pool.life);
  return pool;
}

quota::v1::HoldingRequest QuotaCaller::RandomRequest(const Pool& pool) {
  quota::v1::HoldingRequest request;
  request.set_name(pool.holding);
  request.set_generation(++shared_->generations);
  if (Pick(0, 9) == 0) {
    request.set_release(true);
  } else {
    request.set_nodes(Pick(0, 5));
  }
  return request;
}

void QuotaCaller::NoteDone(const quota::v1::HoldingRequest& request, const Pool& pool) {
  int life = pool.life;
  if (request.release()) shared_->lives[pool.index].compare_exchange_strong(life, life + 1);
}

// What was just answered, as the other replica has it.
void QuotaCaller::LookSoon(const Call<State>& written, std::function<Call<State>()> look) {
  if (written.outcome == Outcome::kAnswered && Pick(0, 1) == 0) look_ = std::move(look);
}

Call<State> QuotaCaller::UpdateQuota(int key) {
  quota::v1::UpdateQuotaRequest request;
  request.mutable_quota()->set_name(KeyName(key));
  request.mutable_quota()->set_limit(kLimits[updates_++ % 3]);
  request.set_allow_missing(true);
  const auto decide = [request](StagedState<State>& staged,
                                absl::Time now) -> absl::StatusOr<quota::v1::Quota> {
    const std::string& name = request.quota().name();
    quota::UpdateQuota command;
    command.key = *quota::ParseQuotaName(name);
    command.limit = request.quota().limit();
    command.allow_missing = true;
    if (absl::Status status = quota::Decide(staged, command, now); !status.ok()) return status;
    return quota::ToProto(*staged.state().table<Quota>().FindVersioned(name),
                          staged.state().Held(name));
  };
  Call<State> call =
      Ask<State>(patience_, *stub_, &Stub::UpdateQuota, request, decide, kAsItIs, kLoosen);
  call.key = KeyName(key);
  call.marks = {absl::StrCat(KeyName(key), "=", request.quota().limit())};
  LookSoon(call, [this, key] { return GetQuota(key, *other_); });
  return call;
}

Call<State> QuotaCaller::SyncHolding(int key) {
  quota::v1::SyncHoldingRequest request;
  const Pool pool = PickPool(key);
  *request.mutable_holding() = RandomRequest(pool);
  const auto decide = [request](StagedState<State>& staged,
                                absl::Time now) -> absl::StatusOr<quota::v1::SyncHoldingResponse> {
    auto answer = Decided(staged, request.holding(), now);
    if (!answer.ok()) return answer.status();
    quota::v1::SyncHoldingResponse response;
    *response.mutable_answer() = *std::move(answer);
    return response;
  };
  quota::v1::SyncHoldingResponse told;
  Call<State> call =
      Ask<State>(patience_, *stub_, &Stub::SyncHolding, request, decide, kAsItIs, kLoosen, &told);
  if (told.has_answer()) NoteDone(request.holding(), pool);
  call.key = KeyName(key);
  AddMarks(request.holding(), call.marks);
  LookSoon(call,
           [this, key, name = request.holding().name()] { return GetHolding(key, name, *other_); });
  return call;
}

Call<State> QuotaCaller::BatchSyncHoldings(int key) {
  quota::v1::BatchSyncHoldingsRequest request;
  std::vector<std::string> marks;
  std::set<std::string> names;
  std::vector<Pool> pools;
  for (int i = Pick(2, 3); i > 0; --i) {
    const Pool pool = PickPool(key);
    if (!names.insert(pool.holding).second) continue;
    const quota::v1::HoldingRequest holding = RandomRequest(pool);
    pools.push_back(pool);
    *request.add_holdings() = holding;
    AddMarks(holding, marks);
  }
  const auto decide = [request](
                          StagedState<State>& staged,
                          absl::Time now) -> absl::StatusOr<quota::v1::BatchSyncHoldingsResponse> {
    quota::v1::BatchSyncHoldingsResponse response;
    for (const auto& holding : request.holdings()) {
      auto answer = Decided(staged, holding, now);
      auto* result = response.add_results();
      if (answer.ok()) {
        *result->mutable_answer() = *std::move(answer);
      } else {
        *result->mutable_error() = rpc::ToRpcStatus(answer.status());
      }
    }
    return response;
  };
  quota::v1::BatchSyncHoldingsResponse told;
  Call<State> call = Ask<State>(patience_, *stub_, &Stub::BatchSyncHoldings, request, decide,
                                &PlainErrors<quota::v1::BatchSyncHoldingsResponse>, kLoosen, &told);
  for (int i = 0; i < told.results_size(); ++i) {
    if (told.results(i).has_answer()) NoteDone(request.holdings(i), pools[static_cast<size_t>(i)]);
  }
  call.key = KeyName(key);
  call.marks = std::move(marks);
  LookSoon(call, [this, key] { return GetQuota(key, *other_); });
  return call;
}

Call<State> QuotaCaller::GetHolding(int key, const std::string& name, Stub& stub) {
  quota::v1::GetHoldingRequest request;
  request.set_name(name);
  const auto decide = [request](StagedState<State>& staged,
                                absl::Time) -> absl::StatusOr<quota::v1::Holding> {
    const Holding* holding = staged.state().table<Holding>().Find(request.name());
    if (holding == nullptr) return error::NotFound(request.name());
    return quota::ToProto(*holding);
  };
  Call<State> call =
      Ask<State>(patience_, stub, &Stub::GetHolding, request, decide, kAsItIs, kLoosen);
  call.key = KeyName(key);
  return call;
}

Call<State> QuotaCaller::GetQuota(int key, Stub& stub) {
  quota::v1::GetQuotaRequest request;
  request.set_name(KeyName(key));
  const auto decide = [request](StagedState<State>& staged,
                                absl::Time) -> absl::StatusOr<quota::v1::Quota> {
    const auto* quota = staged.state().table<Quota>().FindVersioned(request.name());
    if (quota == nullptr) return error::NotFound(request.name());
    return quota::ToProto(*quota, staged.state().Held(request.name()));
  };
  Call<State> call =
      Ask<State>(patience_, stub, &Stub::GetQuota, request, decide, kAsItIs, kLoosen);
  call.key = KeyName(key);
  return call;
}

Call<State> QuotaCaller::ListHoldings(int key) {
  quota::v1::ListHoldingsRequest request;
  request.set_parent(KeyName(key));
  const auto decide = [request](StagedState<State>& staged,
                                absl::Time) -> absl::StatusOr<quota::v1::ListHoldingsResponse> {
    quota::v1::ListHoldingsResponse response;
    for (const auto& [name, holding] : staged.state().table<Holding>().rows()) {
      if (absl::StartsWith(name, request.parent() + "/"))
        *response.add_holdings() = quota::ToProto(*holding.row);
    }
    return response;
  };
  Call<State> call =
      Ask<State>(patience_, *stub_, &Stub::ListHoldings, request, decide, kAsItIs, kLoosen);
  call.key = KeyName(key);
  return call;
}

std::string QuotaMark(const State::Change& change) {
  if (const auto* quota = std::get_if<std::shared_ptr<const Quota>>(&change.row))
    return *quota == nullptr ? change.key : absl::StrCat(change.key, "=", (*quota)->limit);
  if (std::holds_alternative<std::shared_ptr<const ReleasedPool>>(change.row))
    return absl::StrCat(change.key, "#released");
  const auto& holding = std::get<std::shared_ptr<const Holding>>(change.row);
  return holding == nullptr ? absl::StrCat(change.key, "#gone")
                            : absl::StrCat(change.key, "#", holding->generation);
}

absl::Time QuotaTime(const State::Change& change) {
  if (const auto* released = std::get_if<std::shared_ptr<const ReleasedPool>>(&change.row))
    return *released == nullptr ? absl::InfinitePast() : (*released)->release_time;
  if (const auto* quota = std::get_if<std::shared_ptr<const Quota>>(&change.row))
    return *quota == nullptr ? absl::InfinitePast() : (*quota)->update_time;
  const auto& holding = std::get<std::shared_ptr<const Holding>>(change.row);
  return holding == nullptr ? absl::InfinitePast() : holding->update_time;
}

std::optional<State> QuotaModel::Step(const State& state, size_t call) const {
  State next = state;
  StagedState<State> staged(next, 0);
  const Answer answer = calls_[call]->decide(staged, absl::UnixEpoch());
  if (calls_[call]->outcome == Outcome::kAnswered && answer.loose != calls_[call]->answer.loose)
    return std::nullopt;
  return next;
}

std::string QuotaModel::KeyOf(const State& state) const {
  std::string key;
  for (const auto& [name, quota] : state.table<Quota>().rows())
    absl::StrAppend(&key, name, "=", quota.row->limit, ";");
  for (const auto& [name, holding] : state.table<Holding>().rows())
    absl::StrAppend(&key, holding.row->pool_uid, "=", holding.row->nodes, "#",
                    holding.row->generation, ";");
  for (const auto& [uid, released] : state.table<ReleasedPool>().rows())
    absl::StrAppend(&key, uid, " released;");
  return key;
}

}  // namespace muster::linearizability
