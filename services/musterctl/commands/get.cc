#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/common/backoff.h"
#include "services/common/status_macros.h"
#include "services/musterctl/client/watch_view.h"
#include "services/musterctl/commands/commands.h"
#include "services/musterctl/print/describe.h"
#include "services/musterctl/print/objects.h"
#include "services/musterctl/print/table.h"

namespace muster::musterctl {
namespace {

constexpr absl::Duration kFirstRetry = absl::Milliseconds(200);
constexpr absl::Duration kLastRetry = absl::Seconds(5);

enum class Format { kTable, kWide, kJson, kYaml, kName };

absl::StatusOr<Format> ParseFormat(const std::string& text) {
  if (text.empty()) return Format::kTable;
  if (text == "wide") return Format::kWide;
  if (text == "json") return Format::kJson;
  if (text == "yaml") return Format::kYaml;
  if (text == "name") return Format::kName;
  return WrongUse(absl::StrCat("--output: must be wide, json, yaml or name, is \"", text, "\""));
}

// Prints resources in one format, one batch after the other.
class Printer {
 public:
  Printer(Kind kind, Format format, World& world)
      : format_(format), world_(world), table_(Headers(kind, format == Format::kWide)) {}

  void Print(const std::vector<Item>& items) {
    switch (format_) {
      case Format::kTable:
      case Format::kWide: {
        std::vector<std::vector<std::string>> rows;
        for (const Item& item : items)
          rows.push_back(Row(item, format_ == Format::kWide, world_.clock.Now()));
        world_.out << table_.Print(rows);
        break;
      }
      case Format::kJson:
        for (const Item& item : items) world_.out << ToObject(item).dump(2) << "\n";
        break;
      case Format::kYaml:
        for (const Item& item : items)
          world_.out << (documents_++ > 0 ? "---\n" : "") << ToYaml(ToObject(item));
        break;
      case Format::kName:
        for (const Item& item : items)
          world_.out << KindWord(KindOf(item)) << "/" << IdOf(item) << "\n";
        break;
    }
    world_.out.flush();
  }

  // All of a list as one object.
  void PrintList(const std::vector<Item>& items) {
    if (format_ != Format::kJson && format_ != Format::kYaml) return Print(items);
    std::vector<nlohmann::json> objects;
    for (const Item& item : items) objects.push_back(ToObject(item));
    const nlohmann::json list = ToList(objects);
    world_.out << (format_ == Format::kJson ? list.dump(2) + "\n" : ToYaml(list));
  }

 private:
  const Format format_;
  World& world_;
  TablePrinter table_;
  int documents_ = 0;
};

// Events are read in order of time, all else by name.
void SortEvents(std::vector<Item>& items) {
  std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
    return Earlier(std::get<lifecycle::v1::Event>(a), std::get<lifecycle::v1::Event>(b));
  });
}

bool OfPool(const Item& item, const std::string& pool) {
  if (pool.empty()) return true;
  const auto* event = std::get_if<lifecycle::v1::Event>(&item);
  const std::string path = absl::StrCat("/nodePools/", pool);
  const std::string& name = event != nullptr ? event->object() : NameOf(item);
  return absl::StrContains(absl::StrCat(name, "/"), absl::StrCat(path, "/"));
}

// What the flags of `get machines` say; nullopt when there are none.
absl::StatusOr<std::optional<capacity::v1::ListMachinesRequest>> MachineFilterOf(
    const CommandLine& line, Kind kind) {
  capacity::v1::ListMachinesRequest filter;
  filter.set_zone(line.Get("zone"));
  filter.set_instance_type(line.Get("instance-type"));
  filter.set_claim(line.Get("claim"));
  if (line.Has("state")) {
    capacity::v1::Machine::State state = {};
    const std::string word = absl::StrCat("STATE_", absl::AsciiStrToUpper(line.Get("state")));
    if (!capacity::v1::Machine::State_Parse(word, &state) || state == 0)
      return WrongUse("--state: must be free, held, reclaiming, in_repair or retired");
    filter.set_state(state);
  }
  if (filter.ByteSizeLong() == 0) return std::optional<capacity::v1::ListMachinesRequest>();
  if (kind != Kind::kMachine || line.arguments.size() > 1 || line.Has("watch"))
    return WrongUse("--zone, --instance-type, --state, --claim: only with `get machines`");
  return std::optional(filter);
}

// The streams of one watch, one after the other. The first must begin within the timeout of a call;
// then it goes on for ever.
class Streams {
 public:
  explicit Streams(Session& session)
      : world_(session.world), first_until_(world_.clock.Now() + session.timeout) {}

  void Heard() {
    connected_ = true;
    told_ = false;
    backoff_.Reset();
  }
  // Waits until the next one is due. False: there is none, the watch ends as this one did.
  bool AwaitNext(const absl::Status& end) {
    if (!Passes(end)) return false;
    absl::Duration pause = backoff_.Next();
    if (!connected_) {
      const absl::Duration left = first_until_ - world_.clock.Now();
      if (left <= absl::ZeroDuration()) return false;
      pause = std::min(pause, left);
    } else if (!told_ && !absl::IsOutOfRange(end)) {
      told_ = true;
      world_.err << "note: the watch broke off (" << end.message() << "), reconnecting"
                 << std::endl;
    }
    world_.sleep(pause);
    return true;
  }

 private:
  bool Passes(const absl::Status& end) const {
    return absl::IsOutOfRange(end) || absl::IsUnavailable(end) || absl::IsResourceExhausted(end) ||
           (connected_ && absl::IsDeadlineExceeded(end));
  }

  World& world_;
  const absl::Time first_until_;
  bool connected_ = false;
  bool told_ = false;  // that the last one broke
  Backoff backoff_{kFirstRetry, kLastRetry};
};

absl::Status WatchKind(Session& session, Kind kind, const std::string& id, Printer& printer) {
  const std::string pool = session.line.Get("nodepool");
  WatchView view;
  Streams streams(session);
  while (true) {
    // A Quota's `held` is a sum over the whole stream, which a resumed stream does not have.
    if (kind == Kind::kQuota) view.Forget();
    const absl::Status status =
        session.api.Watch(kind, view.Begin(), [&](const WatchMessage& message) {
          streams.Heard();
          std::vector<Item> items;
          for (WatchView::Change& change : view.Feed(message)) {
            if (!id.empty() && IdOfName(kind, change.name) != id) continue;
            if (!change.item) {
              session.world.out << KindWord(kind) << "/" << IdOfName(kind, change.name)
                                << " deleted" << std::endl;
            } else if (OfPool(*change.item, pool)) {
              items.push_back(*std::move(change.item));
            }
          }
          if (kind == Kind::kEvent) SortEvents(items);
          if (!items.empty() || message.type == type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END)
            printer.Print(items);
          return true;
        });
    if (absl::IsOutOfRange(status)) view.Forget();
    if (!streams.AwaitNext(status)) return status;
  }
}

absl::Status GetAt(Session& session, Kind kind, Printer& printer) {
  const CommandLine& line = session.line;
  if (line.Has("watch")) return WrongUse("--at: not with --watch");
  ASSIGN_OR_RETURN(const Moment then, ReadMoment("at", line.Get("at"), session.world.clock.Now()));
  // It is worked out when a quota is read.
  if (kind == Kind::kQuota) session.world.err << "note: what quotas held then is not told\n";
  if (line.arguments.size() == 1) {
    ASSIGN_OR_RETURN(const std::vector<Item> items,
                     session.api.ListPast(kind, line.Get("nodepool"), then));
    printer.PrintList(items);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const auto past, session.api.GetPast({kind, line.arguments[1]}, then));
  ASSIGN_OR_RETURN(Item item, ToItem(past.resource()));
  printer.Print({std::move(item)});
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Kind> ParseKindArgument(const CommandLine& line) {
  if (line.arguments.empty())
    return WrongUse(absl::StrCat(line.command, ": say what: ", KindWords()));
  if (const auto kind = ParseKind(line.arguments[0])) return *kind;
  return WrongUse(absl::StrCat("unknown kind \"", line.arguments[0], "\"; known: ", KindWords()));
}

absl::Status Get(Session& session) {
  const CommandLine& line = session.line;
  ASSIGN_OR_RETURN(const Kind kind, ParseKindArgument(line));
  ASSIGN_OR_RETURN(const Format format, ParseFormat(line.Get("output")));
  if (line.arguments.size() > 2) return WrongUse("get: one NAME at most");
  const std::string pool = line.Get("nodepool");
  if (!pool.empty() && kind != Kind::kNode && kind != Kind::kEvent) {
    return WrongUse("--nodepool: only with nodes and events");
  }
  ASSIGN_OR_RETURN(const auto filter, MachineFilterOf(line, kind));
  const std::string id = line.arguments.size() == 2 ? line.arguments[1] : "";
  Printer printer(kind, format, session.world);
  if (line.Has("at")) return GetAt(session, kind, printer);
  if (line.Has("watch")) return WatchKind(session, kind, id, printer);
  if (!id.empty()) {
    ASSIGN_OR_RETURN(Item item, session.api.Get(kind, id));
    printer.Print({std::move(item)});
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(std::vector<Item> items,
                   filter ? session.api.ListMachines(*filter) : session.api.List(kind, pool));
  if (kind == Kind::kEvent) SortEvents(items);
  if (items.empty() && (format == Format::kTable || format == Format::kWide)) {
    session.world.err << "No " << line.arguments[0] << " found.\n";
    return absl::OkStatus();
  }
  printer.PrintList(items);
  return absl::OkStatus();
}

absl::Status Describe(Session& session) {
  ASSIGN_OR_RETURN(const Kind kind, ParseKindArgument(session.line));
  if (kind != Kind::kNodePool && kind != Kind::kNode) return WrongUse("describe: nodepool or node");
  if (session.line.arguments.size() != 2)
    return WrongUse(absl::StrCat("describe ", KindWord(kind), ": one NAME"));
  ASSIGN_OR_RETURN(const Format format, ParseFormat(session.line.Get("output")));
  if (format != Format::kTable && format != Format::kWide)
    return WrongUse("describe: --output may be wide; `get` knows the others");
  const bool all = session.line.Has("all") || format == Format::kWide;
  ASSIGN_OR_RETURN(const Item item, session.api.Get(kind, session.line.arguments[1]));
  const absl::Time now = session.world.clock.Now();
  if (const auto* pool = std::get_if<lifecycle::v1::NodePool>(&item)) {
    ASSIGN_OR_RETURN(const auto events, session.api.PoolEvents(pool->uid()));
    session.world.out << DescribeNodePool(*pool, events, now, all);
  } else if (const auto* node = std::get_if<lifecycle::v1::Node>(&item)) {
    ASSIGN_OR_RETURN(const auto events, session.api.PoolEvents(node->pool_uid()));
    session.world.out << DescribeNode(*node, events, now);
  }
  return absl::OkStatus();
}

}  // namespace muster::musterctl
