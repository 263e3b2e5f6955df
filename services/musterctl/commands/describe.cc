#include "services/musterctl/print/describe.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/status_macros.h"
#include "services/musterctl/client/errors.h"
#include "services/musterctl/commands/for_each.h"
#include "services/musterctl/commands/reading.h"
#include "services/musterctl/commands/references.h"

namespace muster::musterctl {
namespace {

// Blank lines part one from the next, as kubectl does.
class Describer {
 public:
  Describer(Session& session, bool all) : session_(session), all_(all) {}

  absl::Status Describe(const Item& item) {
    std::vector<lifecycle::v1::Event> events;
    const auto* pool = std::get_if<lifecycle::v1::NodePool>(&item);
    const auto* node = std::get_if<lifecycle::v1::Node>(&item);
    if (pool != nullptr || node != nullptr) {
      ASSIGN_OR_RETURN(events, session_.api.PoolEvents(
                                   NameOf(item), pool != nullptr ? pool->uid() : node->pool_uid()));
    }
    if (told_++ > 0) session_.env.out << "\n\n";
    session_.env.out << DescribeItem(item, events, session_.env.clock.Now(), all_);
    return absl::OkStatus();
  }

 private:
  Session& session_;
  const bool all_;
  int told_ = 0;
};

}  // namespace

absl::Status Describe(Session& session) {
  const CommandLine& line = session.line;
  ASSIGN_OR_RETURN(const Asked asked, ReadAsked("describe", line.arguments));
  ASSIGN_OR_RETURN(const Selection selection, Selection::Read(line, asked.kinds));
  if (line.Has("output") && line.Get("output") != "wide")
    return WrongUse("describe: --output may be wide; `get` knows the others");
  if (!asked.named.empty() && !selection.is_all())
    return WrongUse("describe: either NAME or --selector");
  Describer describer(session, line.Has("all") || line.Has("output"));
  const auto describe_one = [&](const ResourceId& id) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<Item> found, session.api.GetEvery(id.kind, id.id));
    for (const Item& item : found) RETURN_IF_ERROR(describer.Describe(item));
    return absl::OkStatus();
  };
  if (!asked.named.empty()) {
    return ForEach(session, asked.named, describe_one);
  }
  for (const Kind kind : asked.kinds) {
    ASSIGN_OR_RETURN(std::vector<Item> items, session.api.List(kind, ""));
    selection.Filter(items);
    if (items.empty()) {
      if (kind <= Kind::kEvent) RETURN_IF_ERROR(CheckCluster(session));
      session.env.err << "No " << KindPlural(kind) << " found.\n";
    }
    for (const Item& item : items) RETURN_IF_ERROR(describer.Describe(item));
  }
  return absl::OkStatus();
}

}  // namespace muster::musterctl
