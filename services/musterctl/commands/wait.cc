#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "services/common/condition_names.h"
#include "services/common/count_text.h"
#include "services/common/status_macros.h"
#include "services/musterctl/client/errors.h"
#include "services/musterctl/commands/for_each.h"
#include "services/musterctl/commands/output.h"
#include "services/musterctl/commands/references.h"
#include "services/musterctl/manifest/kinds.h"
#include "services/musterctl/print/objects.h"
#include "services/musterctl/print/printable.h"
#include "services/musterctl/print/table.h"
#include "services/musterctl/print/words.h"

namespace muster::musterctl {
namespace {

constexpr absl::Duration kStandardWait = absl::Minutes(5);
constexpr absl::Duration kLongWait = absl::Hours(7 * 24);
constexpr absl::Duration kPoll = absl::Milliseconds(250);

std::string Progress(const lifecycle::v1::NodePool& pool) {
  const auto& status = pool.status();
  std::string line =
      absl::StrCat("target ", pool.spec().target_nodes(), "  queued ", status.queued_nodes(),
                   "  in progress ", status.in_progress(), "  current ", status.current_nodes());
  for (const auto& condition : status.conditions()) {
    absl::StrAppend(&line, "  ", condition.type(), "=", condition.reason());
  }
  return line;
}

// Why no work may come to a Node in production; empty: it may.
std::string Unusable(const lifecycle::v1::Node& node) {
  if (node.observed().autoscaler_marked()) return "marked by the cluster autoscaler";
  if (node.orders().has_cordon_time()) return "cordoned by order";
  return node.observed().unschedulable() ? "cordoned by others" : "";
}

// The Nodes that are not in service, or take no work there, a phrase each; empty: all are in
// service.
absl::StatusOr<std::vector<std::string>> Absent(Session& session, const std::string& pool) {
  constexpr size_t kNamed = 5;
  ASSIGN_OR_RETURN(const std::vector<Item> nodes, session.api.List(Kind::kNode, pool));
  std::vector<std::string> absent;
  for (const Item& item : nodes) {
    const auto& node = std::get<lifecycle::v1::Node>(item);
    const bool serves = node.state() == lifecycle::v1::Node::STATE_PRODUCTION;
    const std::string why = serves ? Unusable(node) : NodeStateWord(node.state());
    if (!why.empty()) absent.push_back(absl::StrCat(IdOf(item), " is ", why));
  }
  if (absent.empty()) return absent;
  const size_t all = absent.size();
  absent.resize(std::min(all, kNamed));
  return std::vector<std::string>{absl::StrCat(all, " of ", CountText(std::ssize(nodes), "Node"),
                                               " not in service: ", absl::StrJoin(absent, ", "),
                                               all > kNamed ? ", ..." : "")};
}

// Why the server does not say that a pool is Ready; empty: it does.
std::string Unready(const lifecycle::v1::NodePool& pool) {
  const lifecycle::v1::Condition* ready = FindCondition(pool, condition::kReady);
  if (ready == nullptr) return "the server does not say whether it is Ready";
  if (ready->observed_generation() < pool.generation())
    return "Ready does not speak of the last generation yet";
  return ready->status() == condition_status::kTrue
             ? ""
             : absl::StrCat(ready->reason(), ": ", ready->message());
}

// What is still missing after an answer; nothing: the wait is over.
std::vector<std::string> Missing(Session& session, const ResourceId& id,
                                 const absl::StatusOr<lifecycle::v1::NodePool>& pool,
                                 bool deleted) {
  if (!pool.ok()) {
    if (absl::IsNotFound(pool.status()) && deleted) return {};
    return {std::string(pool.status().message())};
  }
  if (deleted)
    return {absl::StrCat(
        CountText(pool->status().current_nodes() + pool->status().in_progress(), "Node"), " left")};
  if (pool->has_delete_time()) return {"it is being deleted"};
  if (std::string unready = Unready(*pool); !unready.empty()) return {std::move(unready)};
  auto absent = Absent(session, id.id);
  if (!absent.ok()) return {std::string(absent.status().message())};
  return *std::move(absent);
}

std::string WaitLine(const absl::StatusOr<lifecycle::v1::NodePool>& pool, bool deleted) {
  if (pool.ok()) return Progress(*pool);
  if (PassesBy(pool.status())) return "the server is away, trying again";
  return deleted ? "gone" : "does not exist yet";
}

// ` after 5m`; empty if no time was left to wait.
std::string AfterText(absl::Duration timeout) {
  if (timeout <= absl::ZeroDuration()) return "";
  return absl::StrCat(" after ", absl::FormatDuration(absl::Ceil(timeout, absl::Milliseconds(1))));
}

}  // namespace

absl::Status WaitForPool(Session& session, const ResourceId& id, bool deleted,
                         absl::Duration timeout, const std::string& uid) {
  const absl::Duration begin = session.env.steady.Now();
  std::string meant = uid;
  std::string last;
  bool checked_cluster = false;
  while (true) {
    auto answer = session.api.GetNodePool(id.id);
    // A new NodePool of the same name: the one that was meant is gone.
    if (answer.ok() && deleted && meant.empty()) meant = answer->uid();
    if (answer.ok() && !meant.empty() && answer->uid() != meant) answer = absl::NotFoundError("");
    const bool awaited = PassesBy(answer.status()) || absl::IsNotFound(answer.status());
    if (!answer.ok() && !awaited) return answer.status();
    if (absl::IsNotFound(answer.status()) && !checked_cluster && meant.empty()) {
      checked_cluster = true;
      RETURN_IF_ERROR(CheckClusterOf(session, id));
    }
    const std::vector<std::string> missing = Missing(session, id, answer, deleted);
    const absl::Duration passed = session.env.steady.Now() - begin;
    const std::string line = WaitLine(answer, deleted);
    if (line != last) {
      session.env.out << absl::StrFormat("%5.1fs  %s", absl::ToDoubleSeconds(passed), line)
                      << std::endl;
      last = line;
    }
    if (missing.empty()) {
      session.env.out << Label(id) << (deleted ? " is gone" : " is healthy") << std::endl;
      return absl::OkStatus();
    }
    if (passed >= timeout) {
      return absl::DeadlineExceededError(
          absl::StrCat(Label(id), " is not ", deleted ? "gone" : "healthy", AfterText(timeout),
                       ": ", absl::StrJoin(missing, "; ")));
    }
    session.env.sleep(kPoll);
    session.api.AskAgain();
  }
}

namespace {

// What --for says, beside healthy and deleted.
struct Awaited {
  enum class Type { kHealthy, kDeleted, kGone, kCreated, kCondition, kPath };
  Type type = Type::kHealthy;
  std::string condition = {};
  std::string status = "true";
  JsonPath path = JsonPath();
  std::optional<std::string> value = {};
};

absl::StatusOr<Awaited> ReadAwaited(const std::string& text) {
  using Type = Awaited::Type;
  constexpr std::pair<absl::string_view, Type> kWords[] = {{"healthy", Type::kHealthy},
                                                           {"deleted", Type::kDeleted},
                                                           {"delete", Type::kGone},
                                                           {"create", Type::kCreated}};
  for (const auto& [word, type] : kWords) {
    if (text == word) return Awaited{.type = type};
  }
  Awaited awaited;
  absl::string_view rest = text;
  if (absl::ConsumePrefix(&rest, "condition=") && !rest.empty()) {
    awaited.type = Type::kCondition;
    const size_t equals = rest.find('=');
    awaited.condition = std::string(rest.substr(0, equals));
    if (equals != absl::string_view::npos)
      awaited.status = absl::AsciiStrToLower(rest.substr(equals + 1));
    return awaited;
  }
  if (absl::ConsumePrefix(&rest, "jsonpath=")) {
    awaited.type = Type::kPath;
    const size_t brace = rest.rfind('}');
    const size_t equals = rest.find('=', brace == absl::string_view::npos ? 0 : brace);
    if (equals != absl::string_view::npos) awaited.value = std::string(rest.substr(equals + 1));
    auto path = JsonPath::Parse(rest.substr(0, equals));
    if (!path.ok()) return WrongUse(absl::StrCat("--for: ", path.status().message()));
    awaited.path = *std::move(path);
    return awaited;
  }
  return WrongUse(
      absl::StrCat("--for: must be healthy or deleted, delete, create, "
                   "condition=TYPE[=STATUS] or jsonpath={.path}[=VALUE], is \"",
                   text, "\""));
}

// What is missing of a condition; empty: it is as awaited.
std::string MissingCondition(const nlohmann::json& object, const Awaited& awaited) {
  const nlohmann::json status = object.value("status", nlohmann::json::object());
  const nlohmann::json metadata = object.value("metadata", nlohmann::json::object());
  for (const nlohmann::json& condition : status.value("conditions", nlohmann::json::array())) {
    const std::string type = condition.value("type", "");
    if (!absl::EqualsIgnoreCase(type, awaited.condition)) continue;
    if (condition.value("observedGeneration", int64_t{0}) <
        metadata.value("generation", int64_t{0}))
      return absl::StrCat(type, " does not speak of the last generation yet");
    const std::string is = condition.value("status", "");
    if (absl::EqualsIgnoreCase(is, awaited.status)) return "";
    return absl::StrCat(type, " is ", is, " (", condition.value("reason", ""), ": ",
                        condition.value("message", ""), ")");
  }
  return absl::StrCat("it has no condition ", awaited.condition);
}

// What tells a resource from another one of its name that came after it.
std::string LifeOf(const nlohmann::json& object) {
  const nlohmann::json metadata = object.value("metadata", nlohmann::json::object());
  const std::string uid = metadata.value("uid", "");
  return uid.empty() ? metadata.value("creationTimestamp", "") : uid;
}

// What is missing of one resource; empty: it is as awaited. `life`: its LifeOf as it was first
// seen.
absl::StatusOr<std::string> MissingOf(Session& session, const ResourceId& id,
                                      const Awaited& awaited, std::optional<std::string>& life) {
  using Type = Awaited::Type;
  const auto item = session.api.Get(id.kind, id.id);
  const bool is_missing = absl::IsNotFound(item.status());
  if (is_missing && awaited.type == Type::kGone) {
    RETURN_IF_ERROR(CheckClusterOf(session, id));
    return "";
  }
  if (is_missing && awaited.type == Type::kCreated) return "it does not exist";
  if (PassesBy(item.status())) return "the server is away, trying again";
  if (!item.ok()) return item.status();
  if (awaited.type == Type::kCreated) return "";
  const nlohmann::json object = ToObject(*item);
  if (!life) life = LifeOf(object);
  if (awaited.type == Type::kGone) return LifeOf(object) == *life ? "it is there" : "";
  if (awaited.type == Type::kCondition) return MissingCondition(object, awaited);
  std::vector<std::string> found;
  for (const nlohmann::json* value : awaited.path.Find(object)) found.push_back(PathText(*value));
  const std::string is = absl::StrJoin(found, " ");
  if (awaited.value ? is == *awaited.value && !found.empty() : !is.empty()) return "";
  return found.empty() ? "nothing is there" : absl::StrCat("it is \"", is, "\"");
}

// `until`: of the process's steady clock.
absl::Status AwaitOne(Session& session, const ResourceId& id, const Awaited& awaited,
                      absl::Duration until) {
  if (awaited.type == Awaited::Type::kHealthy || awaited.type == Awaited::Type::kDeleted) {
    return WaitForPool(session, id, awaited.type == Awaited::Type::kDeleted,
                       until - session.env.steady.Now());
  }
  std::string last;
  std::optional<std::string> life;
  while (true) {
    ASSIGN_OR_RETURN(const std::string missing, MissingOf(session, id, awaited, life));
    if (missing.empty()) {
      session.env.out << Label(id) << " condition met" << std::endl;
      return absl::OkStatus();
    }
    if (missing != last) session.env.err << Label(id) << ": " << Printable(missing) << std::endl;
    last = missing;
    if (session.env.steady.Now() >= until) {
      return absl::DeadlineExceededError(
          absl::StrCat("timed out waiting for ", session.line.Get("for"), " of ", Label(id)));
    }
    session.env.sleep(kPoll);
    session.api.AskAgain();
  }
}

absl::Status CheckKinds(const Awaited& awaited, absl::Span<const Kind> kinds) {
  const bool of_pools =
      awaited.type == Awaited::Type::kHealthy || awaited.type == Awaited::Type::kDeleted;
  for (const Kind kind : kinds) {
    if (of_pools && kind != Kind::kNodePool)
      return WrongUse("wait: --for=healthy and --for=deleted are of nodepools");
  }
  return absl::OkStatus();
}

// `until`: of the process's steady clock.
absl::StatusOr<std::vector<Item>> AwaitList(Session& session, Kind kind, absl::Duration until) {
  bool is_told = false;
  while (true) {
    absl::StatusOr<std::vector<Item>> items = session.api.List(kind, "");
    if (!PassesBy(items.status()) || session.env.steady.Now() >= until) return items;
    if (!std::exchange(is_told, true))
      session.env.err << KindPlural(kind) << ": the server is away, trying again" << std::endl;
    session.env.sleep(kPoll);
    session.api.AskAgain();
  }
}

absl::StatusOr<std::vector<ResourceId>> ReadWaited(Session& session, const Awaited& awaited,
                                                   absl::Duration until) {
  const CommandLine& line = session.line;
  if (!line.Has("all") && !line.Has("selector")) {
    ASSIGN_OR_RETURN(std::vector<ResourceId> named,
                     ReadNamed(line.arguments, AllKinds(), "wait: nodepool NAME"));
    for (const ResourceId& id : named) RETURN_IF_ERROR(CheckKinds(awaited, {id.kind}));
    return named;
  }
  ASSIGN_OR_RETURN(const Asked asked, ReadAsked("wait", line.arguments));
  if (!asked.named.empty()) return WrongUse("wait: either NAME, or --all or --selector");
  RETURN_IF_ERROR(CheckKinds(awaited, asked.kinds));
  ASSIGN_OR_RETURN(const Selection selection, Selection::Read(line, asked.kinds));
  std::vector<ResourceId> ids;
  for (const Kind kind : asked.kinds) {
    ASSIGN_OR_RETURN(std::vector<Item> items, AwaitList(session, kind, until));
    selection.Filter(items);
    for (const Item& item : items) ids.push_back({kind, NameOf(item)});
  }
  if (ids.empty()) return absl::NotFoundError("wait: nothing is there that fits");
  return ids;
}

// How long to wait in all. As kubectl has it: 0 means to look once, less than that a week.
absl::StatusOr<absl::Duration> ReadWait(const CommandLine& line) {
  if (!line.Has("timeout")) return kStandardWait;
  absl::Duration timeout;
  if (!ParseLength(line.Get("timeout"), timeout))
    return WrongUse(
        absl::StrCat("--timeout: must be a duration such as 30s or 5m, 0 to look once, is \"",
                     line.Get("timeout"), "\""));
  return timeout < absl::ZeroDuration() ? kLongWait : timeout;
}

}  // namespace

absl::Status Wait(Session& session) {
  ASSIGN_OR_RETURN(const Awaited awaited, ReadAwaited(session.line.Get("for")));
  ASSIGN_OR_RETURN(const absl::Duration timeout, ReadWait(session.line));
  // Who looks once gives the look a call's time.
  const bool once = timeout == absl::ZeroDuration();
  const WaitLimit ends(session.api, once ? absl::InfiniteDuration() : timeout);
  const absl::Duration until = session.env.steady.Now() + timeout;
  ASSIGN_OR_RETURN(const std::vector<ResourceId> ids, ReadWaited(session, awaited, until));
  return ForEach(session, ids,
                 [&](const ResourceId& id) { return AwaitOne(session, id, awaited, until); });
}

}  // namespace muster::musterctl
