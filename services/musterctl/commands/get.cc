#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/common/status_macros.h"
#include "services/musterctl/client/errors.h"
#include "services/musterctl/commands/for_each.h"
#include "services/musterctl/commands/reading.h"
#include "services/musterctl/commands/references.h"
#include "services/musterctl/print/objects.h"
#include "services/musterctl/query/sorting.h"

namespace muster::musterctl {
namespace {

// What the flags of `get machines` say; nullopt when there are none.
absl::StatusOr<std::optional<capacity::v1::ListMachinesRequest>> MachineFilterOf(
    const CommandLine& line, const Asked& asked) {
  capacity::v1::ListMachinesRequest filter;
  // Values may be ids, or KIND/ID as -o name prints them.
  const auto id = [&](const char* flag) {
    const std::string value = line.Get(flag);
    return value.substr(value.rfind('/') + 1);
  };
  filter.set_zone(id("zone"));
  filter.set_instance_type(id("instance-type"));
  filter.set_claim(id("claim"));
  if (line.Has("state")) {
    capacity::v1::Machine::State state = {};
    const std::string word = absl::StrCat("STATE_", absl::AsciiStrToUpper(line.Get("state")));
    if (!capacity::v1::Machine::State_Parse(word, &state) || state == 0)
      return WrongUse("--state: must be free, held, reclaiming, in_repair or retired");
    filter.set_state(state);
  }
  if (filter.ByteSizeLong() == 0) return std::optional<capacity::v1::ListMachinesRequest>();
  const bool of_machines = asked.kinds == std::vector<Kind>{Kind::kMachine};
  if (!of_machines || !asked.named.empty() || line.Has("watch"))
    return WrongUse("--zone, --instance-type, --state, --claim: only with `get machines`");
  return std::optional(filter);
}

// What get was asked for.
struct Query {
  Asked asked = {};
  Format format = {};
  Selection selection = {};
  std::optional<capacity::v1::ListMachinesRequest> machines = {};
  std::string pool = {};
};

absl::Status CheckTogether(const CommandLine& line, const Query& query) {
  const bool chosen = !query.selection.is_all();
  for (const Kind kind : query.asked.kinds) {
    if (!query.pool.empty() && kind != Kind::kNode && kind != Kind::kEvent)
      return WrongUse("--nodepool: only with nodes and events");
  }
  if (!query.asked.named.empty()) {
    if (chosen) return WrongUse("get: either NAME, or --selector and --field-selector");
    if (line.Has("all-clusters"))
      return WrongUse("get: with --all-clusters no NAME; a whole resource name says where it is");
  }
  const bool one_kind = query.asked.kinds.size() == 1;
  if (line.Has("watch") && !one_kind) return WrongUse("--watch: one kind only");
  if (line.Has("watch") && line.Has("sort-by")) return WrongUse("--sort-by: not with --watch");
  if (line.Has("at") && (!one_kind || query.asked.named.size() > 1))
    return WrongUse("--at: one kind, or one NAME");
  return absl::OkStatus();
}

absl::StatusOr<Query> ReadQuery(const CommandLine& line) {
  Query query;
  ASSIGN_OR_RETURN(query.asked, ReadAsked("get", line.arguments));
  ASSIGN_OR_RETURN(query.format, ParseFormat(line.Get("output")));
  ASSIGN_OR_RETURN(query.selection, Selection::Read(line, query.asked.kinds));
  ASSIGN_OR_RETURN(query.machines, MachineFilterOf(line, query.asked));
  query.pool = line.Get("nodepool");
  if (absl::StrContains(query.pool, "/")) {
    ASSIGN_OR_RETURN(const ResourceId pool,
                     ReadOne({query.pool}, {Kind::kNodePool}, "--nodepool: NAME or nodepool/NAME"));
    query.pool = pool.id;
  }
  RETURN_IF_ERROR(CheckTogether(line, query));
  return query;
}

absl::Status SortItems(const std::string& path, std::vector<Item>& items) {
  std::vector<nlohmann::json> objects;
  for (const Item& item : items) objects.push_back(ShownObject(item));
  const auto order = SortedBy(path, objects);
  if (!order.ok()) return WrongUse(order.status().message());
  std::vector<Item> sorted;
  for (const size_t at : *order) sorted.push_back(std::move(items[at]));
  items = std::move(sorted);
  return absl::OkStatus();
}

// Says that nothing was found; NOT_FOUND: nothing can be there, because the cluster does not exist.
absl::Status TellNone(Session& session, const Query& query, Kind kind) {
  RETURN_IF_ERROR(CheckClusterOf(session, {kind, query.pool}));
  if (query.format.is_rows()) session.env.err << "No " << KindPlural(kind) << " found.\n";
  return absl::OkStatus();
}

void NoteUnknown(Session& session, const std::set<std::string>& fields, Kind kind) {
  for (const std::string& field : fields)
    session.env.err << "note: none of the " << KindPlural(kind) << " has a field " << field << "\n";
}

// Filters a whole list. The server may have returned the Nodes or events of other NodePools too.
void KeepAsked(Session& session, const Query& query, Kind kind, std::vector<Item>& items) {
  std::erase_if(items, [&](const Item& item) { return !OfPool(item, query.pool); });
  std::set<std::string> unknown = query.selection.Fields();
  query.selection.DropKnown(items, unknown);
  if (!items.empty()) NoteUnknown(session, unknown, kind);
  query.selection.Filter(items);
}

// Prints what was there then, with the ages that it had. When a revision was is not told: there
// ages count from now, and beside a table it is said.
absl::Status PrintPast(Session& session, const Query& query, const Moment& then,
                       const std::vector<Item>& items, bool is_list) {
  const auto* time = std::get_if<absl::Time>(&then);
  const auto as_of = time != nullptr ? std::optional(*time) : std::nullopt;
  using Type = Format::Type;
  const bool has_ages = query.format.type == Type::kTable || query.format.type == Type::kWide;
  if (!as_of && has_ages && !items.empty())
    session.env.err << "note: ages are as of now; when a revision was is not told\n";
  return PrintAll(items, query.format, is_list, session, as_of);
}

absl::Status GetAt(Session& session, const Query& query) {
  const CommandLine& line = session.line;
  const Kind kind = query.asked.kinds[0];
  if (line.Has("watch")) return WrongUse("--at: not with --watch");
  ASSIGN_OR_RETURN(const Moment then, ReadMoment("at", line.Get("at"), session.env.clock.Now()));
  NoteUntold(session, kind);
  if (query.asked.named.empty()) {
    ASSIGN_OR_RETURN(std::vector<Item> items, session.api.ListPast(kind, query.pool, then));
    KeepAsked(session, query, kind, items);
    if (items.empty()) RETURN_IF_ERROR(TellNone(session, query, kind));
    if (line.Has("sort-by")) RETURN_IF_ERROR(SortItems(line.Get("sort-by"), items));
    return PrintPast(session, query, then, items, true);
  }
  const ResourceId& named = query.asked.named[0];
  const absl::StatusOr<std::vector<ToldPast>> past = session.api.GetPast(named, then);
  if (absl::IsNotFound(past.status()) && line.Has("ignore-not-found"))
    return CheckClusterOf(session, named);
  NoteNotThere(session, named, then, past.status());
  RETURN_IF_ERROR(past.status());
  std::vector<Item> items;
  for (const ToldPast& told : *past) {
    ASSIGN_OR_RETURN(items.emplace_back(), ToItem(told.answer.resource()));
    items.back().cell = told.cell;
  }
  return PrintPast(session, query, then, items, false);
}

absl::Status GetNamed(Session& session, const Query& query) {
  std::vector<Item> items;
  absl::Status where;  // why one that may be missing is
  const auto get_one = [&](const ResourceId& id) -> absl::Status {
    auto found = session.api.GetEvery(id.kind, id.id);
    if (absl::IsNotFound(found.status()) && session.line.Has("ignore-not-found")) {
      if (where.ok()) where = CheckClusterOf(session, id);
      return absl::OkStatus();
    }
    if (found.ok()) absl::c_move(*found, std::back_inserter(items));
    return found.status();
  };
  absl::Status status = ForEach(session, query.asked.named, get_one);
  if (status.ok()) status = where;
  if (!items.empty())
    RETURN_IF_ERROR(PrintAll(items, query.format, query.asked.named.size() > 1, session));
  return status;
}

// Whether a list can be printed only as a whole, not page by page.
bool IsWhole(const Session& session, const Query& query, Kind kind) {
  return !query.format.is_rows() || query.asked.kinds.size() > 1 || session.line.Has("sort-by") ||
         kind == Kind::kEvent || query.machines.has_value();
}

ListRange RangeOf(const Query& query, Kind kind) {
  return {.pool = query.pool, .filter = query.selection.ServerFilter(kind)};
}

absl::Status ListByPages(Session& session, const Query& query, Kind kind) {
  Printer printer(kind, query.format, session);
  size_t shown = 0;
  bool is_empty = true;
  std::set<std::string> unknown = query.selection.Fields();
  const ListRange range = RangeOf(query, kind);
  const absl::Status status = session.api.ListPages(kind, range, [&](std::vector<Item> items) {
    is_empty = is_empty && items.empty();
    query.selection.DropKnown(items, unknown);
    query.selection.Filter(items);
    shown += items.size();
    if (!items.empty()) printer.Print(items);
    return session.env.out.good();
  });
  RETURN_IF_ERROR(status);
  if (!is_empty) NoteUnknown(session, unknown, kind);
  return shown == 0 ? TellNone(session, query, kind) : absl::OkStatus();
}

// Appends all resources of one kind to `all`. `where` gets the reason why there can be none, from
// the first kind that has one.
absl::Status ListKind(Session& session, const Query& query, Kind kind, std::vector<Item>& all,
                      absl::Status& where) {
  ASSIGN_OR_RETURN(std::vector<Item> items, query.machines
                                                ? session.api.ListMachines(*query.machines)
                                                : session.api.List(kind, RangeOf(query, kind)));
  KeepAsked(session, query, kind, items);
  if (items.empty()) where.Update(TellNone(session, query, kind));
  if (session.line.Has("sort-by")) {
    RETURN_IF_ERROR(SortItems(session.line.Get("sort-by"), items));
  } else if (kind == Kind::kEvent) {
    SortEvents(items);
  }
  absl::c_move(items, std::back_inserter(all));
  return absl::OkStatus();
}

// Lists all kinds that were asked for; an error of one kind does not hide the others.
absl::Status ListWhole(Session& session, const Query& query) {
  std::vector<Item> all;
  absl::Status where;
  std::vector<ResourceId> lists;
  for (const Kind kind : query.asked.kinds) lists.push_back({kind, ""});
  absl::Status status = ForEach(session, lists, [&](const ResourceId& list) {
    return ListKind(session, query, list.kind, all, where);
  });
  if (IsWrongUse(status)) return status;
  if (status.ok()) status = where;
  if (status.ok() || !all.empty()) RETURN_IF_ERROR(PrintAll(all, query.format, true, session));
  return status;
}

absl::Status WatchAsked(Session& session, const Query& query) {
  const Kind kind = query.asked.kinds[0];
  Watched watched{.range = {.kind = kind, .pool = query.pool}, .fits = [&](const Item& item) {
                    return OfPool(item, query.pool) && query.selection.Fits(item);
                  }};
  for (const ResourceId& id : query.asked.named) watched.range.ids.push_back(id.id);
  Printer printer(kind, query.format, session);
  return WatchKind(session, watched, printer);
}

}  // namespace

void SortEvents(std::vector<Item>& items) {
  std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
    return Earlier(std::get<lifecycle::v1::Event>(a), std::get<lifecycle::v1::Event>(b));
  });
}

bool OfPool(const Item& item, const std::string& pool) {
  if (pool.empty()) return true;
  const auto* event = std::get_if<lifecycle::v1::Event>(&item);
  const std::string path = absl::StrContains(pool, "/") ? pool : absl::StrCat("/nodePools/", pool);
  const std::string& name = event != nullptr ? event->object() : NameOf(item);
  return absl::StrContains(absl::StrCat(name, "/"), absl::StrCat(path, "/"));
}

absl::StatusOr<Kind> ParseKindArgument(const CommandLine& line) {
  if (line.arguments.empty())
    return WrongUse(absl::StrCat(line.command, ": say what: ", KindWords()));
  if (const auto kind = ParseKind(line.arguments[0])) return *kind;
  return UnknownKind(line.arguments[0]);
}

absl::Status CheckCluster(Session& session) {
  const Scope& scope = session.scope;
  if (scope.cluster == "-" || scope.organization == "-") return absl::OkStatus();
  if (!absl::IsNotFound(session.api.Get(Kind::kCluster, scope.cluster).status()))
    return absl::OkStatus();
  const bool by_flag = session.line.given.contains("cluster");
  const auto said =
      session.env.environment ? session.env.environment("MUSTER_CLUSTER") : std::nullopt;
  const std::string by = by_flag                 ? "--cluster"
                         : said == scope.cluster ? "MUSTER_CLUSTER"
                                                 : "the context, or by default";
  return absl::NotFoundError(absl::StrCat("cluster \"", scope.cluster, "\" (named by ", by,
                                          ") does not exist in organization \"", scope.organization,
                                          "\"; see musterctl get clusters"));
}

absl::Status CheckClusterOf(Session& session, const ResourceId& id) {
  const bool is_elsewhere = id.kind > Kind::kEvent || absl::StartsWith(id.id, "organizations/");
  return is_elsewhere ? absl::OkStatus() : CheckCluster(session);
}

absl::Status Get(Session& session) {
  ASSIGN_OR_RETURN(const Query query, ReadQuery(session.line));
  if (session.line.Has("at")) return GetAt(session, query);
  if (session.line.Has("watch")) return WatchAsked(session, query);
  if (!query.asked.named.empty()) return GetNamed(session, query);
  const Kind kind = query.asked.kinds[0];
  return IsWhole(session, query, kind) ? ListWhole(session, query)
                                       : ListByPages(session, query, kind);
}

}  // namespace muster::musterctl
