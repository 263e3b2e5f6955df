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

}  // namespace muster::quota
