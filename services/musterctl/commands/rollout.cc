#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "services/common/condition_names.h"
#include "services/common/count_text.h"
#include "services/common/status_macros.h"
#include "services/musterctl/client/errors.h"
#include "services/musterctl/commands/commands.h"
#include "services/musterctl/commands/for_each.h"
#include "services/musterctl/commands/output.h"
#include "services/musterctl/commands/references.h"
#include "services/musterctl/print/preview.h"
#include "services/musterctl/print/printable.h"
#include "services/musterctl/print/table.h"
#include "services/musterctl/print/words.h"

// kubectl's rollout, applied to a NodePool's configuration: status, history, and the orders undo,
// pause and resume.
namespace muster::musterctl {
namespace {

using lifecycle::v1::NodeConfiguration;
using lifecycle::v1::NodePool;
using lifecycle::v1::Reconfiguration;

constexpr absl::Duration kRolloutPoll = absl::Milliseconds(500);

// Nodes that are not at the active configuration, as far as revisions tell; also those that leave.
int64_t Behind(const NodePool& pool) {
  int64_t nodes = 0;
  for (const NodeConfiguration& revision : pool.status().node_configuration_revisions()) {
    if (revision.node_profile() != pool.status().node_profile()) nodes += revision.active_nodes();
  }
  return nodes;
}

// Too many boots failed: no further Node boots into the active configuration.
bool IsDisabled(const NodePool& pool) {
  const auto& revisions = pool.status().node_configuration_revisions();
  return std::any_of(revisions.begin(), revisions.end(), [&](const NodeConfiguration& revision) {
    return revision.disabled() && revision.node_profile() == pool.status().node_profile();
  });
}

// How far a rollout is, and whether it is over; `end` is an error if it did not end well.
struct RolloutProgress {
  std::string line = {};
  bool is_over = false;
  absl::Status end = {};
  bool is_known = true;  // false: the server is away
};

// The event of a NodePool whose instance type does not exist.
constexpr char kTypeIsGone[] = "CWInvalidInstanceType";

// Why the NodePool takes up no configuration: lifecycle asks for none while it is invalid and has
// no Nodes, or is of a type that does not exist. Empty: it may.
std::string WhyNoneIsTakenUp(const NodePool& pool) {
  const lifecycle::v1::Condition* said = FindCondition(pool, condition::kValidated);
  const bool is_invalid = said != nullptr && said->observed_generation() >= pool.generation() &&
                          said->reason() == reason::kInvalid;
  const bool has_nodes = pool.status().current_nodes() > 0 || pool.status().in_progress() > 0;
  const bool is_asked_for = has_nodes && is_invalid && said->event_reason() != kTypeIsGone;
  return is_invalid && !is_asked_for ? said->message() : "";
}

RolloutProgress TakesUpNone(const ResourceId& id, const std::string& why) {
  return {.is_over = true,
          .end = absl::FailedPreconditionError(
              absl::StrCat(Label(id), " takes up its configuration once it is valid: ", why))};
}

// The progress without a reconfiguration, from the server's condition: revisions do not count all
// Nodes, nor tell which of them stay.
RolloutProgress WithoutReconfiguration(const NodePool& pool, const ResourceId& id) {
  const std::string label = Label(id);
  // An order waits for Nodes in delivery.
  if (pool.status().has_waiting_node_configuration()) {
    return {.line = absl::StrCat("Waiting for ", label, " to be at ",
                                 pool.status().waiting_node_configuration().node_profile(),
                                 ", once no Node is in delivery...")};
  }
  const lifecycle::v1::Condition* said =
      FindCondition(pool, condition::kNodeReconfigurationRequired);
  const bool is_known = said != nullptr && said->observed_generation() >= pool.generation();
  if (is_known && said->reason() == reason::kAllNodesUpToDate) {
    return {absl::StrCat(
                label, " is up to date: ", CountText(pool.status().current_nodes(), "Node"), " at ",
                pool.status().node_profile().empty() ? "no configuration yet"
                                                     : pool.status().node_profile()),
            true,
            {}};
  }
  if (is_known && said->reason() == reason::kStagedNodeConfig) {
    return {"", true,
            absl::FailedPreconditionError(absl::StrCat(
                label, ": ", said->message(), " No reconfiguration runs; musterctl reconfigure ",
                WordsFor(id), " begins one"))};
  }
  if (is_known && said->reason() == reason::kInternalError && IsDisabled(pool)) {
    return {"", true, absl::FailedPreconditionError(absl::StrCat(label, ": ", said->message()))};
  }
  const std::string why = is_known ? "" : WhyNoneIsTakenUp(pool);
  if (!why.empty()) return TakesUpNone(id, why);
  return {.line = absl::StrCat(
              "Waiting for ", label, ": ",
              is_known ? said->message() : "the server has not looked at its last generation yet")};
}

// How to go on from a halted reconfiguration: `resume`, unless its configuration is disabled.
std::string WayOn(const NodePool& pool, const ResourceId& id) {
  const std::string words = WordsFor(id);
  if (!IsDisabled(pool)) return absl::StrCat("musterctl rollout resume ", words, " goes on");
  return absl::StrCat("musterctl enable revision ", words, " ", pool.status().node_profile(),
                      " lets it be booted again, musterctl rollout undo ", words, " leaves it");
}

RolloutProgress ProgressOf(const NodePool& pool, const ResourceId& id) {
  const std::string label = Label(id);
  const Reconfiguration& reconfiguration = pool.reconfiguration();
  const std::string which = absl::StrCat("reconfiguration ", reconfiguration.number());
  const std::string waiting =
      absl::StrCat("Waiting for ", which, " of ", label, ": ",
                   CountText(reconfiguration.rebooted_nodes(), "Node"), " rebooted, ", Behind(pool),
                   " not at ", pool.status().node_profile(), " yet");
  switch (reconfiguration.state()) {
    case Reconfiguration::STATE_RUNNING:
      return {absl::StrCat(waiting, "..."), false, {}};
    case Reconfiguration::STATE_PAUSED:
      return {absl::StrCat(waiting, "; it is paused, see musterctl rollout resume"), false, {}};
    case Reconfiguration::STATE_HALTED:
      return {waiting, true,
              absl::FailedPreconditionError(
                  absl::StrCat(which, " of ", label, " is halted: ", reconfiguration.halt_reason(),
                               "; ", WayOn(pool, id)))};
    case Reconfiguration::STATE_DONE: {
      const RolloutProgress of_all = WithoutReconfiguration(pool, id);
      const bool is_of_some =
          !reconfiguration.machines().empty() && !pool.status().has_waiting_node_configuration();
      if (!is_of_some && !(of_all.is_over && of_all.end.ok())) return of_all;
      return {absl::StrCat(label, ": ", which, " is DONE, ",
                           CountText(reconfiguration.rebooted_nodes(), "Node"), " rebooted"),
              true,
              {}};
    }
    case Reconfiguration::STATE_CANCELLED:
    default:
      return WithoutReconfiguration(pool, id);
  }
}

RolloutProgress Unknown() {
  return {.line = "the server is away, trying again", .is_known = false};
}

// Whether configuration has decided what the NodePool's status does not show yet, as right after a
// promotion. Whoever may not read it goes by the status. nullopt: it does not answer now.
std::optional<bool> IsBehindConfiguration(Session& session, const NodePool& pool) {
  const auto found = session.api.Get(Kind::kConfiguration, pool.uid());
  if (PassesBy(found.status())) return std::nullopt;
  if (!found.ok()) return false;
  const auto& decided = std::get<configuration::v1::PoolConfiguration>(*found);
  const auto& status = pool.status();
  return (!decided.active().empty() && decided.active() != status.node_profile()) ||
         decided.waiting().node_profile() != status.waiting_node_configuration().node_profile();
}

RolloutProgress ProgressOf(Session& session, const NodePool& pool, const ResourceId& id) {
  RolloutProgress progress = ProgressOf(pool, id);
  const std::optional<bool> is_behind = progress.is_over
                                            ? IsBehindConfiguration(session, pool)
                                            : pool.status().has_waiting_node_configuration();
  if (!is_behind) return Unknown();
  if (!*is_behind) return progress;
  if (const std::string why = WhyNoneIsTakenUp(pool); !why.empty()) return TakesUpNone(id, why);
  if (!progress.is_over) return progress;
  return {.line = absl::StrCat("Waiting for ", Label(id), " to take up its configuration...")};
}

// When `--timeout` is over, by the process's steady clock.
absl::StatusOr<absl::Duration> ReadUntil(Session& session) {
  if (!session.line.Has("timeout")) return absl::InfiniteDuration();
  const auto timeout = ParseTimeout("--timeout", session.line.Get("timeout"));
  if (!timeout.ok()) return WrongUse(timeout.status().message());
  return session.env.steady.Now() + *timeout;
}

absl::Status RolloutStatus(Session& session, const ResourceId& id, absl::Duration until) {
  const CommandLine& line = session.line;
  const bool once = line.given.contains("watch") && !line.Has("watch");
  std::string last;
  std::string meant;  // the uid of the NodePool that was there at first
  while (true) {
    auto pool = session.api.GetNodePool(id.id);
    if (pool.ok() && meant.empty()) meant = pool->uid();
    if (pool.ok() && pool->uid() != meant) {
      pool = absl::NotFoundError(
          absl::StrCat(Label(id), " is gone; another NodePool of that name is there"));
    }
    const bool away = PassesBy(pool.status());
    if (!pool.ok() && !(away && !last.empty())) return pool.status();
    const RolloutProgress progress = pool.ok() ? ProgressOf(session, *pool, id) : Unknown();
    if (once && !progress.is_known) {
      return absl::UnavailableError(
          absl::StrCat(Label(id),
                       ": configuration does not answer, so it is not known whether "
                       "the rollout is over"));
    }
    if (progress.line != last && !progress.line.empty())
      session.env.out << Printable(progress.line) << std::endl;
    last = progress.line;
    if (progress.is_over) return progress.end;
    if (once) return absl::OkStatus();
    if (session.env.steady.Now() >= until)
      return absl::DeadlineExceededError(absl::StrCat("timed out; ", progress.line));
    session.env.sleep(kRolloutPoll);
    session.api.AskAgain();
  }
}

std::string StateOf(const NodeConfiguration& revision, const NodePool& pool) {
  if (revision.disabled()) return "disabled";
  return revision.node_profile() == pool.status().node_profile() ? "active" : "former";
}

absl::Status RolloutHistory(Session& session, const ResourceId& id) {
  ASSIGN_OR_RETURN(const NodePool pool, session.api.GetNodePool(id.id));
  const absl::Time now = session.env.clock.Now();
  std::vector<std::vector<std::string>> rows;
  const auto add = [&](const std::string& number, const NodeConfiguration& revision,
                       const std::string& state) {
    rows.push_back({number, revision.node_profile(), state, absl::StrCat(revision.active_nodes()),
                    Age(revision.created_at(), now), absl::StrJoin(revision.summary(), "; ")});
  };
  const auto& revisions = pool.status().node_configuration_revisions();
  for (int i = 0; i < revisions.size(); ++i)
    add(absl::StrCat(i + 1), revisions[i], StateOf(revisions[i], pool));
  if (pool.status().has_waiting_node_configuration())
    add("-", pool.status().waiting_node_configuration(), "waiting");
  if (pool.status().has_pending_node_configuration())
    add("-", pool.status().pending_node_configuration(), "pending");
  if (rows.empty()) {
    session.env.out << Label(id) << " has no configuration yet.\n";
    return absl::OkStatus();
  }
  session.env.out << Label(id) << "\n";
  PrintTable({"REVISION", "PROFILE", "STATE", "NODES", "AGE", "SUMMARY"}, rows, false, session);
  return absl::OkStatus();
}

// The profile that `--to-revision` means: a number of `history`, or a profile; empty: configuration
// chooses.
absl::StatusOr<std::string> ProfileOf(const NodePool& pool, const std::string& revision) {
  int number = 0;
  if (!absl::SimpleAtoi(revision, &number))
    return std::string(absl::StripPrefix(revision, "profile/"));
  const auto& revisions = pool.status().node_configuration_revisions();
  if (number == 0) return "";
  if (number < 1 || number > revisions.size())
    return WrongUse(absl::StrCat("--to-revision: must be 1 to ", revisions.size(),
                                 ", see rollout history, is ", number));
  return revisions[number - 1].node_profile();
}

absl::Status Undo(Session& session, const ResourceId& id) {
  const bool dry_run = session.line.Has("dry-run");
  ASSIGN_OR_RETURN(const NodePool pool, session.api.GetNodePool(id.id));
  ASSIGN_OR_RETURN(const std::string profile, ProfileOf(pool, session.line.Get("to-revision")));
  const auto configuration = session.api.Rollback(pool.uid(), profile, dry_run);
  if (!dry_run && IsByNumber(session.line) && IsInDoubt(configuration.status())) {
    session.env.err << "note: whether it was done is not known; with " << WordsFor(id)
                    << " --to-revision=" << profile
                    << " --request-id=" << RequestIdOf(session.request_id, session.order)
                    << " the same again is done once\n";
  }
  RETURN_IF_ERROR(configuration.status());
  session.env.out << Label(id) << (dry_run ? " would be" : "") << " rolled back: it "
                  << ReachedBy(*configuration, dry_run) << "\n";
  if (Behind(pool) > 0 || pool.status().current_nodes() > 0)
    session.env.err << "note: Nodes that run come to it by musterctl reconfigure " << WordsFor(id)
                    << "\n";
  return absl::OkStatus();
}

absl::Status ControlRollout(Session& session, const ResourceId& id, ReconfigurationVerb verb) {
  const bool dry_run = session.line.Has("dry-run");
  ASSIGN_OR_RETURN(const NodePool pool, session.api.ControlReconfiguration(verb, id.id, dry_run));
  session.env.out << Label(id) << (dry_run ? " would be" : "")
                  << (verb == ReconfigurationVerb::kPause ? " paused" : " resumed")
                  << ": reconfiguration " << pool.reconfiguration().number()
                  << (dry_run ? " would be " : " is ")
                  << ReconfigurationStateWord(pool.reconfiguration().state()) << "\n";
  if (dry_run) session.env.out << RenderPreview(pool.preview());
  return absl::OkStatus();
}

// One verb over several NodePools.
absl::Status RolloutOf(Session& session, const std::string& verb,
                       const std::vector<ResourceId>& pools) {
  ASSIGN_OR_RETURN(const absl::Duration until, ReadUntil(session));
  bool first = true;
  const auto one = [&](const ResourceId& id) -> absl::Status {
    if (verb == "status") {
      const WaitLimit ends(session.api, until - session.env.steady.Now());
      return RolloutStatus(session, id, until);
    }
    if (verb == "history") {
      if (!std::exchange(first, false)) session.env.out << "\n";
      return RolloutHistory(session, id);
    }
    if (verb == "undo") return Undo(session, id);
    return ControlRollout(
        session, id, verb == "pause" ? ReconfigurationVerb::kPause : ReconfigurationVerb::kResume);
  };
  return ForEach(session, pools, one);
}

}  // namespace

bool IsByNumber(const CommandLine& line) {
  int number = 0;
  return line.command == "rollout" && !line.arguments.empty() && line.arguments[0] == "undo" &&
         absl::SimpleAtoi(line.Get("to-revision"), &number) && number != 0;
}

absl::Status Rollout(Session& session) {
  const std::string usage =
      "rollout: say status, history, undo, pause or resume, and nodepool/NAME";
  absl::Span<const std::string> words = session.line.arguments;
  if (words.empty()) return WrongUse(usage);
  const std::string& verb = words[0];
  if (verb == "restart")
    return WrongUse(
        "rollout restart: there is none; musterctl reconfigure nodepool/NAME reboots Nodes "
        "that are not at the active configuration");
  const std::vector<std::string> verbs = {"status", "history", "undo", "pause", "resume"};
  if (std::find(verbs.begin(), verbs.end(), verb) == verbs.end())
    return WrongUse(absl::StrCat("rollout: unknown \"", verb, "\"", DidYouMean(verb, verbs),
                                 "; say status, history, undo, pause or resume"));
  ASSIGN_OR_RETURN(const std::vector<ResourceId> pools,
                   ReadNamed(words.subspan(1), {Kind::kNodePool}, usage));
  return RolloutOf(session, verb, pools);
}

}  // namespace muster::musterctl
