#include "services/quota/core/decide.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"

namespace muster::quota {
namespace {

absl::Status CheckEtag(const std::string& name, const std::string& given,
                       const Versioned<Quota>& quota) {
  if (given.empty() || given == Etag(quota.revision)) return absl::OkStatus();
  return error::EtagMismatch(name, given, Etag(quota.revision));
}

Verdict Judge(int64_t limit, int64_t held, bool refused) {
  if (limit == 0) return Verdict::kNotSet;
  return refused || held > limit ? Verdict::kOver : Verdict::kUnder;
}

}  // namespace

std::string Etag(int64_t revision) { return absl::StrCat(revision); }

absl::Status Decide(Overlay<State>& overlay, const CreateQuota& command, absl::Time now) {
  Quota quota{command.key, command.limit, now, now};
  if (overlay.state().table<Quota>().Find(quota.Key()) != nullptr)
    return error::AlreadyExists(quota.Key());
  overlay.Put(std::move(quota));
  return absl::OkStatus();
}

absl::Status Decide(Overlay<State>& overlay, const UpdateQuota& command, absl::Time now) {
  const std::string name = QuotaName(command.key);
  const Versioned<Quota>* before = overlay.state().table<Quota>().FindVersioned(name);
  Quota after{command.key, 0, now, now};
  if (before == nullptr) {
    if (!command.allow_missing || !command.etag.empty()) return error::NotFound(name);
  } else {
    if (absl::Status status = CheckEtag(name, command.etag, *before); !status.ok()) return status;
    after = *before->row;
  }
  after.limit = command.limit.value_or(after.limit);
  if (before != nullptr && after == *before->row) return absl::OkStatus();
  after.update_time = now;
  overlay.Put(std::move(after));
  return absl::OkStatus();
}

absl::Status Decide(Overlay<State>& overlay, const DeleteQuota& command, absl::Time) {
  const Versioned<Quota>* before = overlay.state().table<Quota>().FindVersioned(command.name);
  if (before == nullptr)
    return command.allow_missing ? absl::OkStatus() : error::NotFound(command.name);
  if (absl::Status status = CheckEtag(command.name, command.etag, *before); !status.ok())
    return status;
  overlay.Delete<Quota>(command.name);
  return absl::OkStatus();
}

absl::StatusOr<Answer> Decide(Overlay<State>& overlay, const SyncHolding& command, absl::Time now) {
  Holding after{command.quota,      command.pool_uid, command.nodes,
                command.generation, command.pool,     now};
  const std::string name = after.Key();
  const Quota* quota = overlay.state().table<Quota>().Find(command.quota);
  const Holding* before = overlay.state().table<Holding>().Find(name);
  const int64_t limit = quota == nullptr ? 0 : quota->limit;
  const int64_t nodes_before = before == nullptr ? 0 : before->nodes;
  if (before != nullptr && command.generation < before->generation) {
    return error::GenerationTooOld(name, command.generation, before->generation);
  }

  bool refused = false;
  if (command.release) {
    overlay.Delete<Holding>(name);
    after.nodes = 0;
  } else {
    refused = command.nodes > nodes_before &&
              overlay.state().Held(command.quota) + command.nodes - nodes_before > limit;
    if (refused) after.nodes = nodes_before;
    if (before != nullptr && after.nodes == nodes_before) after.update_time = before->update_time;
    overlay.Put(after);
  }
  const int64_t held = overlay.state().Held(command.quota);
  return Answer{Judge(limit, held, refused), after.nodes, limit, held, overlay.revision()};
}

}  // namespace muster::quota
