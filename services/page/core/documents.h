#pragma once

#include <muster/capacity/v1/capacity.pb.h>
#include <muster/configuration/v1/configuration.pb.h>
#include <muster/lifecycle/v1/lifecycle.pb.h>
#include <muster/quota/v1/quota.pb.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

// What the page shows of everything but machines, as small JSON objects. Times are milliseconds
// since 1970; those that order a queue, of a claim's parts and places, microseconds. Only the
// page's scripts (static/) read the fields, which may change together with them.
namespace muster::page {

// The clock of a machine that is taken back from a spot pool, as capacity and lifecycle know it. A
// time of 0 is not known.
struct SpotClock {
  int64_t reclaim_time = 0;  // T+0 in capacity's books
  std::string earmark = {};  // pool uid that it is expected to go to
  std::string pool_uid = {};
  int64_t preempt_time = 0;  // T+0 in lifecycle's
  int64_t drain_time = 0;
  int64_t drain_deadline = 0;
  bool running() const { return reclaim_time != 0 || preempt_time != 0; }
};

std::string PoolDocument(const lifecycle::v1::NodePool& pool);
// `quota` null: Nodes are held on a key for which no quota is set.
std::string QuotaDocument(absl::string_view name, const quota::v1::Quota* quota, int64_t held);
// What a claim waits for, since when, and its places in the queue. Empty: it waits for nothing.
std::string ClaimDocument(const capacity::v1::Claim& claim);
// Until when no scale-down takes the Node. It may have lapsed: no change tells that. Empty: the
// Node was never protected.
std::string ProtectionDocument(const lifecycle::v1::Node& node);
std::string ClockDocument(const SpotClock& clock);
std::string ProfileDocument(const configuration::v1::NodeProfile& profile);
std::string TypeDocument(const capacity::v1::InstanceType& type);
std::string ZoneDocument(const capacity::v1::Zone& zone);

// The text as a JSON string, in quotes.
std::string Quoted(absl::string_view text);

// Milliseconds since 1970.
template <class Timestamp>
int64_t Milliseconds(const Timestamp& time) {
  return time.seconds() * 1000 + time.nanos() / 1'000'000;
}

// Microseconds since 1970, which a script's numbers hold until 2255.
template <class Timestamp>
int64_t Microseconds(const Timestamp& time) {
  return time.seconds() * 1'000'000 + time.nanos() / 1000;
}

}  // namespace muster::page
