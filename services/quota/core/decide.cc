#include "services/quota/core/decide.h"

#include <utility>

#include "services/common/content_hash.h"
#include "services/common/error.h"
#include "services/quota/core/limits.h"

namespace muster::quota {
namespace {

absl::Status CheckEtag(const std::string& name, const std::string& given, const Quota& quota) {
  if (given.empty()) return absl::OkStatus();
  const std::string current = EtagOf(quota);
  return given == current ? absl::OkStatus() : error::EtagMismatch(name, given, current);
}

}  // namespace

std::string EtagOf(const Quota& quota) {
  ContentHash hash;
  hash.Add(quota.Key()).Add(quota.limit).Add(quota.create_time).Add(quota.update_time);
  hash.Add(static_cast<int64_t>(quota.overrides.size()));
  for (const LimitOverride& override : quota.overrides)
    hash.Add(override.limit)
        .Add(override.effective_time)
        .Add(override.expire_time)
        .Add(override.reason);
  return hash.Text();
}

absl::Status Decide(StagedState<State>& staged, const CreateQuota& command, absl::Time now) {
  Quota quota{command.key, command.limit, now, now, command.overrides};
  DropLapsed(quota, now);
  if (staged.state().table<Quota>().Find(quota.Key()) != nullptr)
    return error::AlreadyExists(quota.Key());
  staged.Put(std::move(quota));
  return absl::OkStatus();
}

absl::Status Decide(StagedState<State>& staged, const UpdateQuota& command, absl::Time now) {
  const std::string name = QuotaName(command.key);
  const Quota* before = staged.state().table<Quota>().Find(name);
  Quota after{command.key, command.first_limit, now, now, command.first_overrides};
  if (before == nullptr) {
    if (!command.allow_missing || !command.etag.empty()) return error::NotFound(name);
  } else {
    after = *before;
  }
  after.limit = command.limit.value_or(after.limit);
  after.overrides = command.overrides.value_or(after.overrides);
  DropLapsed(after, now);
  if (before != nullptr) {
    // Of whom the answer was lost and who repeats it, the etag is an old one by now.
    if (after == *before) return absl::OkStatus();
    if (absl::Status status = CheckEtag(name, command.etag, *before); !status.ok()) return status;
  }
  after.update_time = now;
  staged.Put(std::move(after));
  return absl::OkStatus();
}

absl::Status Decide(StagedState<State>& staged, const DeleteQuota& command, absl::Time) {
  const Quota* before = staged.state().table<Quota>().Find(command.name);
  if (before == nullptr)
    return command.allow_missing ? absl::OkStatus() : error::NotFound(command.name);
  if (absl::Status status = CheckEtag(command.name, command.etag, *before); !status.ok())
    return status;
  staged.Delete<Quota>(command.name);
  return absl::OkStatus();
}

size_t Decide(StagedState<State>& staged, const ApplyOverrides&, absl::Time now) {
  size_t applied = 0;
  // Every Put moves its Quota's next change to after `now`.
  while (applied < kMaxApplied && staged.state().NextChangeOfAll() <= now) {
    const std::string name = staged.state().changes().begin()->second;
    Quota quota = *staged.state().table<Quota>().Find(name);
    DropLapsed(quota, now);
    quota.update_time = now;
    staged.Put(std::move(quota));
    ++applied;
  }
  return applied;
}

}  // namespace muster::quota
