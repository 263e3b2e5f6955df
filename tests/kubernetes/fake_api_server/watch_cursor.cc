#include "tests/kubernetes/fake_api_server/watch_cursor.h"

#include <algorithm>
#include <utility>

#include "absl/random/distributions.h"
#include "absl/strings/str_cat.h"
#include "tests/kubernetes/fake_api_server/refusal.h"

namespace muster::testing {
namespace {

constexpr size_t kRecent = 5;  // events that may come once more

std::string EventText(const char* type, absl::string_view object) {
  return absl::StrCat(R"({"type":")", type, R"(","object":)", object, "}\n");
}

}  // namespace

WatchCursor::WatchCursor(const Resource& resource, Selection selection, std::string space,
                         int64_t position)
    : resource_(resource),
      selection_(std::move(selection)),
      space_(std::move(space)),
      position_(position) {}

void WatchCursor::AddAll(const Store& store, std::vector<Line>& lines) {
  for (const Object& object : store.All(resource_, space_, store.version())) {
    if (selection_.Matches(object->object))
      lines.push_back({object->key, EventText("ADDED", FullText(resource_, *object))});
  }
}

void WatchCursor::AddChange(const Change& change, std::vector<Line>& lines) {
  const bool was = change.before != nullptr && selection_.Matches(change.before->object);
  const bool is = change.after != nullptr && selection_.Matches(change.after->object);
  if (!was && !is) return;
  const char* type = !was ? "ADDED" : is ? "MODIFIED" : "DELETED";
  lines.push_back({change.last->key, EventText(type, FullText(resource_, *change.last)), !is});
}

void WatchCursor::Remember(const Line& line) {
  if (line.is_deletion) {
    recent_.erase(std::remove_if(recent_.begin(), recent_.end(),
                                 [&](const Line& old) { return old.key == line.key; }),
                  recent_.end());
    return;
  }
  recent_.push_back(line);
  if (recent_.size() > kRecent) recent_.pop_front();
}

bool WatchCursor::Take(const Store& store, const Misbehaviour& misbehaviour, absl::BitGenRef random,
                       std::string& lines) {
  std::vector<Line> due;
  if (position_ == 0) {
    AddAll(store, due);
  } else if (position_ < store.compacted(resource_)) {
    const Refusal gone = Expired(absl::StrCat("too old resource version: ", position_, " (",
                                              store.compacted(resource_), ")"));
    lines += EventText("ERROR", StatusBody(gone).dump());
    return false;
  } else {
    for (const Change& change : store.Since(resource_, position_)) AddChange(change, due);
  }
  position_ = std::max(position_, store.version());
  for (size_t i = 0; i < due.size(); ++i) {
    if (!absl::Bernoulli(random, misbehaviour.reorder_events)) continue;
    const auto next = std::find_if(due.begin() + static_cast<ptrdiff_t>(i) + 1, due.end(),
                                   [&](const Line& line) { return line.key == due[i].key; });
    if (next != due.end() && !next->is_deletion && !due[i].is_deletion) std::swap(due[i], *next);
  }
  for (const Line& line : due) {
    lines += line.text;
    Remember(line);
    if (!recent_.empty() && absl::Bernoulli(random, misbehaviour.repeat_events))
      lines += recent_[absl::Uniform<size_t>(random, 0, recent_.size())].text;
  }
  return true;
}

std::string WatchCursor::Bookmark() const {
  return EventText(
      "BOOKMARK",
      absl::StrCat(R"({"apiVersion":")", resource_.api_version(), R"(","kind":")", resource_.kind,
                   R"(","metadata":{"creationTimestamp":null,"resourceVersion":")", position_,
                   R"("}})"));
}

}  // namespace muster::testing
