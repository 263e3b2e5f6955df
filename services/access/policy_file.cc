#include "services/access/policy_file.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/common/log.h"
#include "services/common/read_file.h"
#include "services/common/status_macros.h"

namespace muster::access {
namespace {

constexpr char kFlag[] = "--policy_file";

absl::StatusOr<std::shared_ptr<const Policy>> ParseOf(const std::string& path,
                                                      const std::optional<std::string>& text) {
  if (!text) return error::InvalidField(kFlag, absl::StrCat(path, " cannot be read."));
  absl::StatusOr<std::shared_ptr<const Policy>> policy = Policy::Parse(*text);
  if (policy.ok()) return policy;
  const std::optional<error::Detail> detail = error::DetailOf(policy.status());
  if (!detail) return policy.status();
  std::vector<error::FieldViolation> faults = detail->fields;
  for (error::FieldViolation& fault : faults) fault.field = absl::StrCat(path, ": ", fault.field);
  return error::InvalidFields(std::move(faults));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Policy>> ReadPolicy(const std::string& path) {
  return ParseOf(path, ReadFile(path));
}

absl::StatusOr<std::unique_ptr<PolicyFile>> PolicyFile::Create(Options options) {
  std::unique_ptr<PolicyFile> made(new PolicyFile(std::move(options)));
  if (made->options_.path.empty()) {
    MutexLock lock(made->mutex_);
    made->current_ = made->options_.fixed;
    return made;
  }
  RETURN_IF_ERROR(made->Reload());
  made->thread_ = std::thread([raw = made.get()] { raw->Run(); });
  return made;
}

void PolicyFile::Stop() {
  stopper_.Stop();
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<const Policy> PolicyFile::current() const {
  MutexLock lock(mutex_);
  return current_;
}

PolicyFile::Stats PolicyFile::stats() const {
  MutexLock lock(mutex_);
  return stats_;
}

void PolicyFile::OnChange(std::function<void()> changed) {
  MutexLock lock(mutex_);
  changed_ = std::move(changed);
}

absl::Status PolicyFile::Look(bool patient) {
  if (options_.path.empty()) return absl::OkStatus();
  std::function<void()> changed;
  {
    MutexLock looking(looking_);
    const std::optional<std::string> text = ReadFile(options_.path);
    const bool settled = text == seen_;
    seen_ = text;
    // It may be half written.
    if (patient && !settled) return said_;
    const bool is_first = current() == nullptr;
    if (!is_first && text == judged_) return said_;
    judged_ = text;
    said_ = Take(text);
    if (!said_.ok() || is_first) return said_;
    MutexLock lock(mutex_);
    changed = changed_;
  }
  if (changed) changed();
  return absl::OkStatus();
}

absl::Status PolicyFile::Take(const std::optional<std::string>& text) {
  const absl::StatusOr<std::shared_ptr<const Policy>> policy = ParseOf(options_.path, text);
  MutexLock lock(mutex_);
  if (!policy.ok()) {
    ++stats_.refused;
    return policy.status();
  }
  ++stats_.taken;
  current_ = *policy;
  return absl::OkStatus();
}

void PolicyFile::Run() {
  while (stopper_.Sleep(options_.interval)) {
    const Stats before = stats();
    const absl::Status status = Look();
    const Stats now = stats();
    if (now.refused > before.refused) {
      log::Error("the new policy is not used, and the last stays", {{"error", status}});
    } else if (now.taken > before.taken) {
      log::Info("a new policy counts from now on", {{"hash", current()->hash()}});
    }
  }
}

}  // namespace muster::access
