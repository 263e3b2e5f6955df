#include "services/kubernetes/history.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "services/common/log.h"

namespace muster::kubernetes {
namespace {

// Named in a log line.
constexpr size_t kMostNamed = 10;

std::string Some(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  const bool more = names.size() > kMostNamed;
  if (more) names.resize(kMostNamed);
  return absl::StrJoin(names, ", ") + (more ? ", ..." : "");
}

}  // namespace

void History::Leave() {
  MutexLock lock(mutex_);
  current_ = std::nullopt;
}

void History::Enter(const std::string& incarnation) {
  MutexLock lock(mutex_);
  if (seen_in_ != incarnation) {
    seen_.clear();
    seen_in_ = incarnation;
  }
  current_ = incarnation;
  ++entered_;
}

std::optional<std::string> History::current() const {
  MutexLock lock(mutex_);
  return current_;
}

std::optional<int64_t> History::stay() const {
  MutexLock lock(mutex_);
  return current_ ? std::optional(entered_) : std::nullopt;
}

bool History::AcceptedLocked() const { return current_ && accepted_ == current_; }

bool History::accepted() const {
  MutexLock lock(mutex_);
  return AcceptedLocked();
}

void History::See(const std::optional<std::string>& incarnation, const std::string& uid) {
  MutexLock lock(mutex_);
  // In one that is accepted everything may go.
  if (current_ && incarnation == current_ && !AcceptedLocked()) seen_.insert(uid);
}

History::Verdict History::Judge(const std::string& uid) const {
  MutexLock lock(mutex_);
  if (!current_) return Verdict::kWait;
  return AcceptedLocked() || seen_.contains(uid) ? Verdict::kObey : Verdict::kKeep;
}

void History::Look() {
  const std::optional<std::string> here = current();
  if (!here) return;
  if (accepted()) {
    // Back in it, e.g. by a later backup: what the one between did not know is kept no longer.
    if (!shown_.empty()) EndShow(shown_);
    return;
  }
  const auto word = parts_.read();
  if (!word.ok()) {
    if (const auto others = unread_.Tell(parts_.steady->Now())) {
      log::Warn("it could not be read which history is accepted",
                {{"error", word.status()}, {"others_not_told", *others}});
    }
    return;
  }
  const Unknown unknown = parts_.look();
  const bool new_word = *word == *here;
  if (!new_word && !unknown.empty()) return Show(unknown, *here);
  if (const absl::Status status = new_word ? absl::OkStatus() : parts_.write(*here); !status.ok()) {
    if (const auto others = unwritten_.Tell(parts_.steady->Now())) {
      log::Warn("it could not be written which history is accepted",
                {{"error", status}, {"others_not_told", *others}});
    }
    return;
  }
  if (!Accept(*here)) return;
  log::Info("the history of Muster is accepted", {{"incarnation", *here},
                                                  {"nodes_removed", unknown.nodes.size()},
                                                  {"pools_removed", unknown.node_pools.size()}});
  EndShow(unknown);
}

void History::EndShow(Unknown kept) {
  parts_.metrics->SetUnknown(0, 0);
  shown_ = {};
  told_.clear();
  parts_.again(kept);
}

bool History::Accept(const std::string& incarnation) {
  MutexLock lock(mutex_);
  accepted_ = incarnation;
  seen_.clear();
  return AcceptedLocked();
}

void History::Show(const Unknown& unknown, const std::string& incarnation) {
  parts_.metrics->SetUnknown(unknown.nodes.size(), unknown.node_pools.size());
  if (std::exchange(told_in_, incarnation) != incarnation) told_.clear();
  for (const std::string& node : unknown.nodes) {
    if (told_.insert(node).second) parts_.show(node, incarnation);
  }
  const bool same = shown_.nodes == unknown.nodes && shown_.node_pools == unknown.node_pools;
  shown_ = unknown;
  if (same) return;
  log::Warn("Muster is in a history that does not know what is in the cluster; it is kept",
            {{"incarnation", incarnation},
             {"nodes", unknown.nodes.size()},
             {"pools", unknown.node_pools.size()},
             {"which_nodes", Some(unknown.nodes)},
             {"which_pools", Some(unknown.node_pools)}});
}

}  // namespace muster::kubernetes
