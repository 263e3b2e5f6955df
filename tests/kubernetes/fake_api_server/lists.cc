#include "tests/kubernetes/fake_api_server/lists.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/kubernetes/fake_api_server/refusal.h"
#include "tests/kubernetes/fake_api_server/selectors.h"

namespace muster::testing {
namespace {

constexpr size_t kSnapshots = 16;  // older ones count as expired

}  // namespace

std::string Render(const Resource& resource, const ListPage& page) {
  std::string text =
      absl::StrCat(R"({"apiVersion":")", resource.api_version(), R"(","kind":")", resource.kind,
                   R"(List","metadata":{"resourceVersion":")", page.version, "\"");
  if (!page.next.empty())
    absl::StrAppend(&text, R"(,"continue":")", page.next, R"(","remainingItemCount":)",
                    page.remaining);
  text += R"(},"items":[)";
  for (size_t i = 0; i < page.objects.size(); ++i) {
    if (i > 0) text += ',';
    // Only lists of custom resources repeat the type in their items.
    text += resource.custom ? FullText(resource, *page.objects[i]) : page.objects[i]->text;
  }
  text += "]}";
  return text;
}

ListPage Lists::Take(const Store& store, const Call& call, const Target& target, int64_t stale) {
  std::shared_ptr<const Snapshot> snapshot;
  int64_t id = 0;
  size_t offset = 0;
  if (const std::string token = call.parameter("continue"); !token.empty()) {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(token, absl::MaxSplits('.', 1));
    if (!absl::SimpleAtoi(parts.first, &id) || !absl::SimpleAtoi(parts.second, &offset))
      throw BadRequest("continue key is not valid");
    const auto found = snapshots_.find(id);
    if (found == snapshots_.end())
      throw Expired("The provided continue parameter is too old to display a consistent list.");
    snapshot = found->second;
  } else {
    auto fresh = std::make_shared<Snapshot>();
    fresh->version = std::max<int64_t>(1, store.version() - stale);
    const Selection selection(*target.resource, target.space, call.parameter("labelSelector"),
                              call.parameter("fieldSelector"));
    for (Object& object : store.All(*target.resource, target.space, fresh->version)) {
      if (selection.Matches(object->object)) fresh->objects.push_back(std::move(object));
    }
    snapshot = std::move(fresh);
  }
  size_t limit = 0;
  if (!absl::SimpleAtoi(call.parameter("limit"), &limit) || limit == 0)
    limit = snapshot->objects.size();
  const size_t end = std::min(snapshot->objects.size(), offset + limit);
  ListPage page{{snapshot->objects.begin() + static_cast<ptrdiff_t>(std::min(offset, end)),
                 snapshot->objects.begin() + static_cast<ptrdiff_t>(end)},
                snapshot->version};
  page.remaining = snapshot->objects.size() - end;
  if (page.remaining > 0) {
    if (id == 0) {
      id = next_id_++;
      snapshots_[id] = snapshot;
      if (snapshots_.size() > kSnapshots) snapshots_.erase(snapshots_.begin());
    }
    page.next = absl::StrCat(id, ".", end);
  }
  return page;
}

}  // namespace muster::testing
