#include <muster/capacity/v1/capacity_service.grpc.pb.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "services/common/status_macros.h"
#include "tests/bench/machines.h"
#include "tests/bench/work.h"

// A long queue on one zone and type, served as machines come free.
namespace muster::bench {
namespace {

using capacity::v1::BatchSyncClaimsRequest;
using capacity::v1::BatchSyncClaimsResponse;
using capacity::v1::CapacityService;
using capacity::v1::Claim;
using capacity::v1::ClaimRequest;
using capacity::v1::MachineReturn;
using capacity::v1::SyncClaimRequest;
using capacity::v1::WatchCapacityRequest;
using capacity::v1::WatchCapacityResponse;
using std::chrono::steady_clock;

constexpr int kClaims = 10'000;
constexpr int kStep = 100;             // machines given back in one call
constexpr int kClaimsPerCall = 1'000;  // when the queue is filled and emptied
constexpr int kPriorities = 3;
constexpr int kOrganizations = 50;
constexpr std::chrono::seconds kPatience{120};  // for all grants
constexpr char kHolder[] = "queue-holder";
constexpr char kWaiting[] = "queue-waiting-";

ClaimRequest RequestOf(const std::string& uid, int64_t generation, int64_t nodes) {
  ClaimRequest request;
  request.set_pool_uid(uid);
  request.set_generation(generation);
  request.set_organization("bench");
  request.set_zone(QueueInventories().Zone(0));
  request.set_instance_type(QueueInventories().Type(0));
  request.set_nodes(nodes);
  return request;
}

// A uid that was released is refused for good, so each round has uids of its own (UidOf).
std::string OrganizationOf(int claim) { return absl::StrCat("bench-", claim % kOrganizations); }

std::string UidOf(int round, int claim) { return absl::StrCat(kWaiting, round, "-", claim); }

void Return(const std::string& machine, ClaimRequest& request) {
  request.add_returns()->set_machine(machine);
  request.mutable_returns(request.returns_size() - 1)->set_reason(MachineReturn::REASON_RELEASED);
}

// Asks for all claims in calls of kClaimsPerCall; an error when one of them was refused.
absl::StatusOr<std::vector<Claim>> AskAll(CapacityService::Stub& stub,
                                          const std::vector<ClaimRequest>& requests) {
  std::vector<Claim> claims;
  for (size_t begin = 0; begin < requests.size(); begin += kClaimsPerCall) {
    BatchSyncClaimsRequest call;
    const size_t end = std::min(requests.size(), begin + kClaimsPerCall);
    for (size_t i = begin; i < end; ++i) *call.add_claims() = requests[i];
    ASSIGN_OR_RETURN(const BatchSyncClaimsResponse response,
                     Ask(stub, &CapacityService::Stub::BatchSyncClaims, call));
    for (const auto& result : response.results()) {
      if (!result.has_claim()) return absl::InternalError(result.error().message());
      claims.push_back(result.claim());
    }
  }
  return claims;
}

// Measures how fast a queue of 10,000 claims, one machine each, is served as a pool that holds all
// machines of QueueInventories() gives them back, 100 a call, one call after the other.
class Queue {
 public:
  explicit Queue(const Connections& connections);

  // Fills the queue, has it served, empties it. An operation is a grant, which ends when a watcher
  // has been told of it; its latency begins when the call that freed the machine was sent.
  // INTERNAL: a call's machines went to others than the first of the queue, not all were served, or
  // a machine was granted twice.
  absl::StatusOr<Rate> Measure(CpuMeter& meter);

 private:
  using Time = steady_clock::time_point;
  // A grant as the watcher saw it.
  struct Grant {
    std::string claim = {};  // resource name
    Time seen = {};
  };

  // The holder takes all machines; the claims wait.
  absl::Status Fill();
  // Gives everything back, one step after the other. Adds to `sent` when each began.
  absl::Status GiveBack(std::vector<Time>& sent);
  // The claims that wait, in the order in which they are to be served, from the snapshot of a watch
  // that then goes on with what changes.
  using Watch = grpc::ClientReader<WatchCapacityResponse>;
  absl::StatusOr<std::vector<std::string>> ReadQueue(Watch& watch) const;
  std::vector<Grant> ReadGrants(Watch& watch) const;
  absl::Status CheckOrder(const std::vector<std::string>& queue,
                          const std::vector<Grant>& grants) const;
  // Releases all claims but the holder's.
  absl::Status Empty();
  bool IsWaiting(const Claim& claim) const;

  const std::unique_ptr<CapacityService::Stub> stub_;
  int64_t generation_;
  int64_t waiting_generation_ = 0;
  int round_ = 0;
  std::vector<std::string> machines_;  // of the holder
};

Queue::Queue(const Connections& connections)
    : stub_(CapacityService::NewStub(connections.Of(0).channel())),
      generation_(FirstGeneration()) {}

absl::StatusOr<Rate> Queue::Measure(CpuMeter& meter) {
  RETURN_IF_ERROR(Fill());
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
  WatchCapacityRequest request;
  request.add_kinds(WatchCapacityRequest::KIND_CLAIM);
  const auto watch = stub_->WatchCapacity(&context, request);
  ASSIGN_OR_RETURN(const std::vector<std::string> queue, ReadQueue(*watch));
  std::vector<Time> sent;
  std::vector<Grant> grants;
  meter.Begin();
  std::thread reader([&] { grants = ReadGrants(*watch); });
  const absl::Status given_back = GiveBack(sent);
  if (!given_back.ok()) context.TryCancel();
  reader.join();
  meter.End();
  context.TryCancel();
  watch->Finish();
  RETURN_IF_ERROR(given_back);
  RETURN_IF_ERROR(CheckOrder(queue, grants));
  RETURN_IF_ERROR(Empty());
  std::vector<float> latencies_ms;
  for (size_t i = 0; i < grants.size(); ++i)
    latencies_ms.push_back(
        std::chrono::duration<float, std::milli>(grants[i].seen - sent[i / kStep]).count());
  return RateOf(kClaims, 0, absl::FromChrono(grants.back().seen - sent.front()),
                std::move(latencies_ms));
}

absl::Status Queue::Fill() {
  SyncClaimRequest holder;
  *holder.mutable_claim() = RequestOf(kHolder, ++generation_, kClaims);
  ASSIGN_OR_RETURN(const Claim held, Ask(*stub_, &CapacityService::Stub::SyncClaim, holder));
  machines_.assign(held.machines().begin(), held.machines().end());
  if (machines_.size() != kClaims)
    return absl::InternalError(absl::StrCat("The holder got ", machines_.size(), " machines."));
  waiting_generation_ = generation_;
  ++round_;
  // In an order that is neither that of priorities nor that of names.
  std::mt19937 random(1);
  std::vector<ClaimRequest> requests;
  for (int i = 0; i < kClaims; ++i) {
    requests.push_back(RequestOf(UidOf(round_, i), waiting_generation_, 1));
    requests.back().set_organization(OrganizationOf(i));
    requests.back().set_priority(static_cast<int32_t>(random() % kPriorities));
  }
  std::shuffle(requests.begin(), requests.end(), random);
  return AskAll(*stub_, requests).status();
}

bool Queue::IsWaiting(const Claim& claim) const {
  return absl::StartsWith(claim.name(), absl::StrCat("claims/", kWaiting));
}

absl::StatusOr<std::vector<std::string>> Queue::ReadQueue(Watch& watch) const {
  // An organization's places, by age, go to its claims by priority, higher first, then by age.
  using Age = std::pair<int64_t, int64_t>;
  std::map<Age, std::string> places;
  std::map<std::string, std::set<std::tuple<int64_t, Age, std::string>>> claims;
  WatchCapacityResponse item;
  while (watch.Read(&item) && item.type() != type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END) {
    const Claim& claim = item.claim();
    if (!IsWaiting(claim) || claim.outstanding() == 0) continue;
    const Age age{claim.queue_time().seconds(), claim.queue_time().nanos()};
    places[age] = claim.organization();
    claims[claim.organization()].insert({-claim.priority(), age, claim.name()});
  }
  if (places.size() != kClaims)
    return absl::InternalError(absl::StrCat(places.size(), " claims wait, not ", kClaims, "."));
  std::vector<std::string> names;
  for (const auto& [age, organization] : places) {
    auto& waiting = claims[organization];
    names.push_back(std::get<std::string>(*waiting.begin()));
    waiting.erase(waiting.begin());
  }
  return names;
}

std::vector<Queue::Grant> Queue::ReadGrants(Watch& watch) const {
  std::vector<Grant> grants;
  WatchCapacityResponse item;
  while (grants.size() < kClaims && watch.Read(&item)) {
    if (item.type() != type::v1::WATCH_EVENT_TYPE_CHANGED) continue;
    if (IsWaiting(item.claim()) && item.claim().outstanding() == 0)
      grants.push_back({item.claim().name(), steady_clock::now()});
  }
  return grants;
}

absl::Status Queue::GiveBack(std::vector<Time>& sent) {
  while (!machines_.empty()) {
    SyncClaimRequest request;
    *request.mutable_claim() =
        RequestOf(kHolder, ++generation_, static_cast<int64_t>(machines_.size()) - kStep);
    for (int i = 0; i < kStep; ++i) {
      Return(machines_.back(), *request.mutable_claim());
      machines_.pop_back();
    }
    sent.push_back(steady_clock::now());
    RETURN_IF_ERROR(Ask(*stub_, &CapacityService::Stub::SyncClaim, request).status());
  }
  return absl::OkStatus();
}

absl::Status Queue::CheckOrder(const std::vector<std::string>& queue,
                               const std::vector<Grant>& grants) const {
  if (grants.size() != queue.size())
    return absl::InternalError(absl::StrCat(grants.size(), " of ", queue.size(), " were served."));
  // What one call grants is one commit, which tells of a claim that changes twice where it did
  // first.
  for (size_t begin = 0; begin < queue.size(); begin += kStep) {
    std::set<std::string> expected, served;
    for (size_t i = begin; i < std::min(queue.size(), begin + kStep); ++i) {
      expected.insert(queue[i]);
      served.insert(grants[i].claim);
    }
    if (served == expected) continue;
    std::vector<std::string> others;
    absl::c_set_difference(served, expected, std::back_inserter(others));
    return absl::InternalError(absl::StrCat("Of the ", kStep, " that stand behind the first ",
                                            begin, " of the queue some were passed over, for ",
                                            absl::StrJoin(others, ", "), "."));
  }
  return absl::OkStatus();
}

absl::Status Queue::Empty() {
  std::vector<ClaimRequest> requests;
  // Under a generation that was carried out, a claim is answered as it is.
  for (int i = 0; i < kClaims; ++i) {
    requests.push_back(RequestOf(UidOf(round_, i), waiting_generation_, 1));
    requests.back().set_organization(OrganizationOf(i));
  }
  ASSIGN_OR_RETURN(const std::vector<Claim> claims, AskAll(*stub_, requests));
  std::set<std::string> machines;
  ++generation_;
  for (size_t i = 0; i < claims.size(); ++i) {
    if (claims[i].machines_size() != 1 || !machines.insert(claims[i].machines(0)).second)
      return absl::InternalError(
          absl::StrCat(claims[i].name(), " has no machine, or one that another has."));
    requests[i] = RequestOf(UidOf(round_, static_cast<int>(i)), generation_, 0);
    requests[i].set_organization(OrganizationOf(static_cast<int>(i)));
    requests[i].set_release(true);
    Return(claims[i].machines(0), requests[i]);
  }
  return AskAll(*stub_, requests).status();
}

}  // namespace

std::vector<Work> QueueWorks(const Connections& connections) {
  Work work{"queue_grants_10k"};
  work.set_up = [&connections] { return SetUp(connections, QueueInventories()); };
  work.measure = [queue = std::make_shared<Queue>(connections)](absl::Duration, CpuMeter& meter) {
    return queue->Measure(meter);
  };
  return {work};
}

}  // namespace muster::bench
