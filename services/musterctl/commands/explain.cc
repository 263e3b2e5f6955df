#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "services/common/count_text.h"
#include "services/common/status_macros.h"
#include "services/musterctl/commands/output.h"
#include "services/musterctl/commands/references.h"
#include "services/musterctl/print/table.h"
#include "services/musterctl/print/words.h"
#include "services/musterctl/schema/schema.h"

// Why a NodePool is not where it should be; why a claim has not all its machines.
namespace muster::musterctl {
namespace {

std::string Text(const google::protobuf::Duration& duration) {
  return HumanDuration(absl::Seconds(duration.seconds()));
}

std::string QueueLine(const capacity::v1::QueuePlace& queue) {
  const std::string wait = queue.has_wait() ? absl::StrCat(Text(queue.wait().earliest()), " to ",
                                                           Text(queue.wait().latest()))
                                            : "unknown";
  return absl::StrCat("Place ", queue.place(), " in the queue, ",
                      CountText(queue.nodes_ahead(), "Node"), " ahead; wait ", wait, ".\n");
}

absl::Status ExplainClaim(Session& session, const ResourceId& id, bool wide) {
  ASSIGN_OR_RETURN(const capacity::v1::ExplainClaimResponse response,
                   session.api.ExplainClaim(IdOfName(Kind::kClaim, id.id)));
  const capacity::v1::Claim& claim = response.claim();
  session.env.out << Label(id) << ": " << claim.machines_size() << " of "
                  << CountText(claim.nodes(), "Node") << " held, " << claim.outstanding()
                  << " outstanding (" << ClaimReasonWord(claim.reason()) << ").\n";
  if (claim.has_queue()) session.env.out << QueueLine(claim.queue());
  if (response.obstacles().empty()) return absl::OkStatus();
  std::vector<std::vector<std::string>> rows;
  for (const capacity::v1::ClaimObstacle& obstacle : response.obstacles()) {
    rows.push_back({std::string(absl::StripPrefix(
                        capacity::v1::ClaimObstacle::Code_Name(obstacle.code()), "CODE_")),
                    absl::StrCat(obstacle.nodes()), absl::StrCat(obstacle.claims()),
                    obstacle.message()});
  }
  PrintTable({"OBSTACLE", "NODES", "CLAIMS", "MESSAGE"}, rows, wide, session);
  return absl::OkStatus();
}

// From now: `3h to 20h`, `at least 3h`, `at most 20h`.
std::string PassesIn(const lifecycle::v1::NodePoolObstacle& obstacle, absl::Time now) {
  const auto from_now = [now](const google::protobuf::Timestamp& time) {
    return HumanDuration(
        std::max(absl::FromUnixSeconds(time.seconds()) - now, absl::ZeroDuration()));
  };
  const bool earliest = obstacle.has_earliest_time();
  const bool latest = obstacle.has_latest_time();
  if (!earliest && !latest) return "<unknown>";
  if (!earliest) return absl::StrCat("at most ", from_now(obstacle.latest_time()));
  if (!latest) return absl::StrCat("at least ", from_now(obstacle.earliest_time()));
  return absl::StrCat(from_now(obstacle.earliest_time()), " to ", from_now(obstacle.latest_time()));
}

absl::Status ExplainNodePool(Session& session, const ResourceId& id, bool wide) {
  ASSIGN_OR_RETURN(const lifecycle::v1::ExplainNodePoolResponse response,
                   session.api.ExplainNodePool(id.id));
  const lifecycle::v1::NodePoolStatus& status = response.node_pool().status();
  session.env.out << Label(id) << ": target " << response.node_pool().spec().target_nodes() << ", "
                  << status.current_nodes() << " current, " << status.in_progress()
                  << " in progress, " << status.queued_nodes() << " queued.\n";
  if (response.obstacles().empty()) {
    session.env.out << "Nothing keeps it from being where it should be.\n";
    return absl::OkStatus();
  }
  std::vector<std::vector<std::string>> rows;
  for (const lifecycle::v1::NodePoolObstacle& obstacle : response.obstacles()) {
    rows.push_back({obstacle.reason(), ActorWord(obstacle.actor()), ShortObject(obstacle.subject()),
                    PassesIn(obstacle, session.env.clock.Now()), obstacle.message()});
  }
  PrintTable({"REASON", "WHO MUST ACT", "ABOUT", "PASSES IN", "MESSAGE"}, rows, wide, session);
  return absl::OkStatus();
}

// `nodepool`, `nodepool.spec.lifecycle`: what its fields mean.
absl::Status ExplainSchema(Session& session, const std::string& word) {
  std::vector<std::string> path = absl::StrSplit(word, '.', absl::SkipEmpty());
  const auto kind = path.empty() ? std::nullopt : ParseKind(path[0]);
  if (!kind) return UnknownKind(path.empty() ? word : path[0]);
  path.erase(path.begin());
  const auto text = ExplainFields(*kind, path, session.line.Has("recursive"));
  if (!text.ok()) return text.status();
  session.env.out << *text;
  return absl::OkStatus();
}

}  // namespace

absl::Status Explain(Session& session) {
  const std::vector<std::string>& words = session.line.arguments;
  ASSIGN_OR_RETURN(const bool wide, ReadWide(session.line));
  if (words.size() == 1 && !absl::StrContains(words[0], "/"))
    return ExplainSchema(session, words[0]);
  ASSIGN_OR_RETURN(const ResourceId id,
                   ReadOne(words, {Kind::kNodePool, Kind::kClaim},
                           "explain: nodepool NAME or claim UID, or KIND.FIELD.FIELD"));
  return id.kind == Kind::kNodePool ? ExplainNodePool(session, id, wide)
                                    : ExplainClaim(session, id, wide);
}

}  // namespace muster::musterctl
