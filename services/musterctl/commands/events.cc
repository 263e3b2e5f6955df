#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "services/common/collections.h"
#include "services/common/status_macros.h"
#include "services/common/timestamp.h"
#include "services/musterctl/commands/reading.h"
#include "services/musterctl/commands/references.h"

namespace muster::musterctl {
namespace {

// Which events are asked for.
struct Wanted {
  std::optional<ResourceId> about = {};  // a NodePool, with its Nodes, or a Node
  std::vector<std::string> types = {};
  absl::Time since = absl::InfinitePast();

  bool Fits(const lifecycle::v1::Event& event) const {
    const bool right_type =
        types.empty() || std::any_of(types.begin(), types.end(), [&](const std::string& type) {
          return absl::EqualsIgnoreCase(type, event.type());
        });
    return right_type && IsAbout(event) && FromTimestamp(event.last_time()) >= since;
  }
  // The NodePool that they are about, or whose Node they are about; empty: it is not known.
  std::string Pool() const {
    if (!about || about->kind == Kind::kNodePool) return about ? about->id : "";
    const auto parts = SplitNodeName(about->id, "");
    return parts.ok() ? parts->pool : "";
  }
  // The whole name of the cluster that is said by the whole name of what they are about; empty: the
  // scope's.
  std::string Cluster() const {
    return about && absl::StrContains(about->id, "/nodePools/") ? ClusterOf(about->id) : "";
  }

 private:
  bool IsAbout(const lifecycle::v1::Event& event) const {
    if (!about) return true;
    if (about->kind == Kind::kNodePool) return OfPool(event, about->id);
    const std::string& object = event.object();
    const std::string end = object.substr(object.rfind('/') + 1);
    const bool of_node = CollectionOf(object) == "nodes";
    if (!absl::StrContains(about->id, "/")) return of_node && end == about->id;
    const auto parts = SplitNodeName(about->id, "");
    return object == about->id || (parts.ok() && of_node &&
                                   absl::EndsWith(object, absl::StrCat("/nodePools/", parts->pool,
                                                                       "/nodes/", parts->machine)));
  }
};

absl::StatusOr<Wanted> ReadWanted(const CommandLine& line, absl::Time now) {
  Wanted wanted;
  if (line.Has("for")) {
    ASSIGN_OR_RETURN(wanted.about, ReadOne({line.Get("for")}, {Kind::kNodePool, Kind::kNode},
                                           "--for: nodepool/NAME or node/POOL/MACHINE"));
  }
  if (line.Has("types")) {
    for (const absl::string_view type : absl::StrSplit(line.Get("types"), ',')) {
      if (!absl::EqualsIgnoreCase(type, "Normal") && !absl::EqualsIgnoreCase(type, "Warning"))
        return WrongUse(absl::StrCat("--types: Normal or Warning, or both with a comma, is \"",
                                     line.Get("types"), "\""));
      wanted.types.emplace_back(type);
    }
  }
  if (line.Has("since")) {
    ASSIGN_OR_RETURN(const Moment moment, ReadMoment("since", line.Get("since"), now));
    const auto* time = std::get_if<absl::Time>(&moment);
    if (time == nullptr) return WrongUse("--since: of events, a time or how long ago");
    wanted.since = *time;
  }
  return wanted;
}

// A NodePool that is there is asked for by its uid; of one that is gone all of its cluster's are
// looked through.
absl::StatusOr<std::vector<Item>> EventsFor(Session& session, const Wanted& wanted) {
  if (wanted.about && wanted.about->kind == Kind::kNodePool) {
    auto items = session.api.List(Kind::kEvent, wanted.about->id);
    if (!absl::IsNotFound(items.status())) return items;
  }
  return session.api.List(Kind::kEvent, ListRange{.cluster = wanted.Cluster()});
}

}  // namespace

absl::Status Events(Session& session) {
  const CommandLine& line = session.line;
  if (!line.arguments.empty())
    return WrongUse("events: no argument; --for=nodepool/NAME, --types=Warning, --since=1h");
  ASSIGN_OR_RETURN(const Format format, ParseFormat(line.Get("output")));
  ASSIGN_OR_RETURN(const Wanted wanted, ReadWanted(line, session.env.clock.Now()));
  if (line.Has("watch")) {
    const Watched watched{.range = {.kind = Kind::kEvent, .pool = wanted.Pool()},
                          .fits = [&](const Item& item) {
                            return wanted.Fits(std::get<lifecycle::v1::Event>(item));
                          }};
    Printer printer(Kind::kEvent, format, session);
    return WatchKind(session, watched, printer);
  }
  ASSIGN_OR_RETURN(std::vector<Item> items, EventsFor(session, wanted));
  std::erase_if(
      items, [&](const Item& item) { return !wanted.Fits(std::get<lifecycle::v1::Event>(item)); });
  SortEvents(items);
  if (items.empty()) {
    RETURN_IF_ERROR(CheckClusterOf(session, wanted.about.value_or(ResourceId{Kind::kEvent})));
    if (format.is_rows()) session.env.err << "No events found.\n";
  }
  return PrintAll(items, format, true, session);
}

}  // namespace muster::musterctl
