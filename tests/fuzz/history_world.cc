#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <muster/capacity/v1/capacity.pb.h>
#include <muster/history/v1/history_service.grpc.pb.h>
#include <muster/lifecycle/v1/lifecycle.pb.h>
#include <muster/quota/v1/quota.pb.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"
#include "services/musterd/history_handlers.h"
#include "services/musterd/this_life.h"
#include "tests/fuzz/harness.h"

namespace muster::testing {
namespace {

using google::protobuf::Message;
using storage::ChangeLog;
using storage::LoggedChange;

constexpr char kIncarnation[] = "h1";

// The journal of all services, one of them after the other, as storage::LaneChanges reads that of
// each.
class MemoryJournal {
 public:
  // The resource is `message` from the next revision on, a hundred seconds after the last; null: it
  // is gone.
  void Add(const std::string& name, const Message* message) {
    ChangeLog& log = logs_[name];
    log.incarnation = kIncarnation;
    LoggedChange change{.revision = ++newest_,
                        .commit_time = absl::FromUnixSeconds(1'700'000'000 + 100 * newest_),
                        .previous = 0,
                        .author = {.principal = "local", .reason = "it was asked for"}};
    if (message != nullptr) {
      log.kind = message->GetTypeName();
      change.bytes = std::make_shared<const std::string>(message->SerializeAsString());
    }
    if (!log.changes.empty() && log.changes.front().bytes != nullptr) {
      change.previous = log.changes.front().revision;
      change.before = log.changes.front().bytes;
    }
    log.changes.insert(log.changes.begin(), change);
  }

  absl::StatusOr<ChangeLog> List(const std::string& name, const storage::LogStart& start,
                                 int64_t limit) const {
    RETURN_IF_ERROR(CheckHistory(start.incarnation));
    const auto found = logs_.find(name);
    if (found == logs_.end()) return error::NotFound(name);
    ChangeLog log = found->second;
    std::erase_if(log.changes, [&](const LoggedChange& change) {
      return start.newest > 0 && change.revision > start.newest;
    });
    const auto most = static_cast<size_t>(limit);
    if (log.changes.size() > most) {
      log.next = log.changes[most].revision;
      log.changes.resize(most);
    }
    return log;
  }

  absl::StatusOr<ChangeLog> GetPast(const std::string& name, const storage::Moment& then,
                                    storage::Lives lives) const {
    ASSIGN_OR_RETURN(const int64_t revision, RevisionAt(then));
    const auto found = logs_.find(name);
    if (found == logs_.end()) return error::NotFound(name);
    ChangeLog log = found->second;
    if (lives == storage::Lives::kLast) musterd::CutAtCreation(log);
    const LoggedChange* change = At(log, revision);
    if (change == nullptr) return error::NotFound(name);
    return ChangeLog{.kind = log.kind, .changes = {*change}, .incarnation = kIncarnation};
  }

  absl::StatusOr<storage::PastPage> ListPast(const storage::PastScope& scope,
                                             const storage::Moment& then, const std::string& after,
                                             size_t limit) const {
    ASSIGN_OR_RETURN(const int64_t revision, RevisionAt(then));
    storage::PastPage page{.revision = revision, .incarnation = kIncarnation};
    for (const auto& [name, log] : logs_) {
      const LoggedChange* change = At(log, revision);
      if (change == nullptr || !scope.Has(name) || name <= after) continue;
      page.more = page.rows.size() == limit;
      if (page.more) break;
      page.rows.push_back({name, log.kind, change->revision, change->bytes});
      page.last = name;
    }
    return page;
  }

 private:
  static absl::Status CheckHistory(const std::string& incarnation) {
    return incarnation.empty() || incarnation == kIncarnation
               ? absl::OkStatus()
               : absl::OutOfRangeError("The history is another.");
  }
  absl::StatusOr<int64_t> RevisionAt(const storage::Moment& then) const {
    RETURN_IF_ERROR(CheckHistory(then.incarnation));
    if (then.revision == storage::Moment().revision)
      return std::clamp<int64_t>(
          absl::ToInt64Seconds(then.time - absl::FromUnixSeconds(1'700'000'000)) / 100, 0, newest_);
    if (then.revision > newest_) return absl::OutOfRangeError("It is in the future.");
    return then.revision;
  }
  // Null: it was not there.
  static const LoggedChange* At(const ChangeLog& log, int64_t revision) {
    const auto last =
        std::find_if(log.changes.begin(), log.changes.end(),
                     [&](const LoggedChange& change) { return change.revision <= revision; });
    return last == log.changes.end() || last->bytes == nullptr ? nullptr : &*last;
  }

  std::map<std::string, ChangeLog> logs_;  // by the resource's name, each whole
  int64_t newest_ = 0;
};

std::unique_ptr<Message> ParseAs(const std::string& kind, const std::string& bytes) {
  const auto* type =
      google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(kind);
  if (type == nullptr) return nullptr;
  std::unique_ptr<Message> message(
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(type)->New());
  return message->ParseFromString(bytes) ? std::move(message) : nullptr;
}

// Two pools, a Quota that was deleted in between, and a claim.
void AddPast(MemoryJournal& journal) {
  const std::string pool_name = "organizations/acme/clusters/c/nodePools/p";
  const std::string quota_name = "organizations/acme/quotas/RNO2A~gd-8xa100-i128~default";
  quota::v1::Quota quota;
  quota.set_name(quota_name);
  quota.set_limit(10);
  journal.Add(quota_name, &quota);
  lifecycle::v1::NodePool pool;
  pool.set_name(pool_name);
  pool.mutable_spec()->set_target_nodes(1);
  journal.Add(pool_name, &pool);
  journal.Add(quota_name, nullptr);
  (*pool.mutable_spec()->mutable_node_labels())["team"] = "red";
  pool.mutable_spec()->add_node_taints()->set_key("dedicated");
  journal.Add(pool_name, &pool);
  quota.set_limit(20);
  journal.Add(quota_name, &quota);
  capacity::v1::Claim claim;
  claim.set_name("claims/uid-p");
  claim.set_nodes(1);
  journal.Add(claim.name(), &claim);
  (*pool.mutable_spec()->mutable_node_labels())["team"] = "blue";
  pool.mutable_spec()->clear_node_taints();
  journal.Add(pool_name, &pool);
  pool.set_name(pool_name + "-2");
  journal.Add(pool.name(), &pool);
}

struct HistoryWorld {
  MemoryJournal journal;
  std::vector<musterd::ServicePart> parts;
  std::unique_ptr<musterd::HistoryHandlers> handlers;
};

}  // namespace

FuzzedService MakeFuzzedService() {
  const auto world = std::make_shared<HistoryWorld>();
  AddPast(world->journal);
  const MemoryJournal* journal = &world->journal;
  for (const char* service : {"capacity", "configuration", "lifecycle", "quota"}) {
    musterd::ServicePart& part = world->parts.emplace_back();
    part.name = service;
    part.rpc.catch_up = [](auto done, absl::Time) { done(absl::OkStatus()); };
    part.history.list = [journal](const std::string& name, const storage::LogStart& start,
                                  int64_t limit,
                                  absl::Time) { return journal->List(name, start, limit); };
    part.history.get_past = [journal](const std::string& name, const storage::Moment& then,
                                      storage::Lives lives,
                                      absl::Time) { return journal->GetPast(name, then, lives); };
    part.history.list_past = [journal](const storage::PastScope& scope, const storage::Moment& then,
                                       const std::string& after, size_t limit, absl::Time) {
      return journal->ListPast(scope, then, after, limit);
    };
    part.history.parse = &ParseAs;
  }
  world->handlers = std::make_unique<musterd::HistoryHandlers>(&world->parts, nullptr);
  return FuzzedAlone(history::v1::HistoryService::service_full_name(), world->handlers.get(),
                     "history", world);
}

}  // namespace muster::testing
