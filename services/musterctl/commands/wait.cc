#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "services/common/condition_names.h"
#include "services/common/status_macros.h"
#include "services/musterctl/commands/commands.h"
#include "services/musterctl/manifest/kinds.h"
#include "services/musterctl/print/table.h"
#include "services/musterctl/print/words.h"

namespace muster::musterctl {
namespace {

constexpr absl::Duration kStandardWait = absl::Minutes(5);
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
  return node.observed().unschedulable() ? "cordoned by others" : "";
}

// Nodes that are not in service, or of no use there, one phrase; nothing: all are.
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
  return std::vector<std::string>{absl::StrCat(
      all, " of ", nodes.size(), " Nodes not in service: ", absl::StrJoin(absent, ", "),
      all > kNamed ? ", ..." : "")};
}

// What is still missing after an answer; nothing: the wait is over.
std::vector<std::string> Missing(const absl::StatusOr<lifecycle::v1::NodePool>& pool,
                                 bool deleted) {
  if (!pool.ok()) {
    if (absl::IsNotFound(pool.status()) && deleted) return {};
    return {std::string(pool.status().message())};
  }
  if (deleted)
    return {absl::StrCat(pool->status().current_nodes() + pool->status().in_progress(),
                         " Nodes are left")};
  if (pool->has_delete_time()) return {"it is being deleted"};
  return Ailments(*pool);
}

}  // namespace

std::vector<std::string> Ailments(const lifecycle::v1::NodePool& pool) {
  std::vector<std::string> ailments;
  for (const HealthyCondition& wish : kHealthyConditions) {
    const lifecycle::v1::Condition* condition = FindCondition(pool, wish.type);
    if (condition == nullptr) {
      ailments.push_back(absl::StrCat(wish.type, " is not set"));
    } else if (condition->reason() != wish.reason) {
      ailments.push_back(
          absl::StrCat(wish.type, "=", condition->reason(), ": ", condition->message()));
    } else if (condition->observed_generation() != pool.generation()) {
      ailments.push_back(absl::StrCat(wish.type, " speaks of generation ",
                                      condition->observed_generation(), ", not ",
                                      pool.generation()));
    }
  }
  return ailments;
}

absl::Status WaitForPool(Session& session, const std::string& pool, bool deleted,
                         absl::Duration timeout) {
  const absl::Time begin = session.world.clock.Now();
  std::string last;
  while (true) {
    const auto answer = session.api.GetNodePool(pool);
    const bool away =
        absl::IsUnavailable(answer.status()) || absl::IsDeadlineExceeded(answer.status());
    const bool awaited = away || (absl::IsNotFound(answer.status()));
    if (!answer.ok() && !awaited) return answer.status();
    std::vector<std::string> missing = Missing(answer, deleted);
    if (missing.empty() && !deleted) {
      const auto absent = Absent(session, pool);
      missing =
          absent.ok() ? *absent : std::vector<std::string>{std::string(absent.status().message())};
    }
    const absl::Duration passed = session.world.clock.Now() - begin;
    const std::string line = answer.ok() ? Progress(*answer)
                             : away      ? "the server is away, trying again"
                             : deleted   ? "gone"
                                         : "does not exist yet";
    if (line != last) {
      session.world.out << absl::StrFormat("%5.1fs  %s", absl::ToDoubleSeconds(passed), line)
                        << std::endl;
      last = line;
    }
    if (missing.empty()) {
      session.world.out << "nodepool/" << pool << (deleted ? " is gone" : " is healthy")
                        << std::endl;
      return absl::OkStatus();
    }
    if (passed >= timeout) {
      return absl::DeadlineExceededError(
          absl::StrCat("nodepool/", pool, " is not ", deleted ? "gone" : "healthy", " after ",
                       absl::FormatDuration(timeout), ": ", absl::StrJoin(missing, "; ")));
    }
    session.world.sleep(kPoll);
  }
}

absl::Status Wait(Session& session) {
  const std::vector<std::string>& arguments = session.line.arguments;
  if (arguments.size() != 2 || ParseKind(arguments[0]) != Kind::kNodePool)
    return WrongUse("wait: nodepool NAME");
  const std::string what = session.line.Get("for");
  if (what != "healthy" && what != "deleted") {
    return WrongUse(absl::StrCat("--for: must be healthy or deleted, is \"", what, "\""));
  }
  absl::Duration timeout = kStandardWait;
  if (session.line.Has("timeout")) {
    const auto given = ParseTimeout("--timeout", session.line.Get("timeout"));
    if (!given.ok()) return WrongUse(given.status().message());
    timeout = *given;
  }
  return WaitForPool(session, arguments[1], what == "deleted", timeout);
}

}  // namespace muster::musterctl
