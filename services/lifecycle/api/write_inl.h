#pragma once

#include <google/protobuf/empty.pb.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "services/common/deadline.h"
#include "services/common/kept_request.h"
#include "services/common/status_macros.h"
#include "services/lifecycle/api/fits.h"
#include "services/lifecycle/api/handlers.h"
#include "services/lifecycle/api/on_behalf.h"
#include "services/lifecycle/core/grantable.h"
#include "services/lifecycle/core/growth.h"
#include "services/lifecycle/core/validate_command.h"
#include "services/lifecycle/peers/catalogue_mirror.h"
#include "services/lifecycle/wire/lifecycle_wire.h"
#include "services/rpc/revision.h"
#include "services/rpc/write.h"

// What the mutations of lifecycle have in common. For the .cc files of Handlers.
namespace muster::lifecycle {

// A command that does not name the instance type of its pool. It is judged by the type of the pool
// that is decided on: this replica may not have seen that pool yet, or a former one of its name
// with another type.
template <class Command>
struct WithPoolType : Command {
  std::shared_ptr<const CatalogueMirror> catalogue = {};  // null: no type is known

  Command In(const State& state) const {
    Command command = *this;
    const Pool* pool = state.table<Pool>().Find(command.name);
    if (pool != nullptr && catalogue != nullptr)
      command.type = catalogue->Type(pool->spec.instance_type);
    return command;
  }
};
template <class Command>
WithPoolType(Command, std::shared_ptr<const CatalogueMirror>) -> WithPoolType<Command>;

template <class Command>
StatusOrOutcome Decide(StagedState<State>& staged, const WithPoolType<Command>& command,
                       absl::Time now) {
  return Decide(staged, command.In(staged.state()), now);
}
template <class Command>
std::optional<Growth> GrowthBy(const State& state, const WithPoolType<Command>& command) {
  return GrowthBy(state, command.In(state));
}
template <class Command>
void ValidateIn(const State& state, const WithPoolType<Command>& command, Faults& faults) {
  ValidateIn(state, command.In(state), faults);
}

inline constexpr auto kDecide = [](StagedState<State>& staged, const auto& command,
                                   absl::Time now) { return Decide(staged, command, now); };

// Adds warnings of what in the pool's spec will not have the effect that it says.
inline void WarnOfSpec(const Outcome& outcome, const std::optional<Grantable>& grantable,
                       v1::NodePool& response) {
  const std::string of_most = MaxNodesWarning(outcome.pool->spec, grantable);
  if (!of_most.empty()) response.add_warnings(of_most);
  if (outcome.set_back) {
    response.add_warnings(
        "The NodePool is a Kubernetes object, whose spec will be applied again: change it there.");
  }
}

// Renders the outcome of a command as its response, which stays empty if the outcome has no row.
struct RenderOutcome {
  // A further warning for a pool; empty: none.
  std::string warning = {};

  void operator()(const Outcome&, google::protobuf::Empty&) const {}
  void operator()(const Outcome& outcome, v1::Cluster& response) const {
    if (!outcome.cluster) return;
    response = ToProto(*outcome.cluster);
    if (outcome.etag_there) response.set_etag(*outcome.etag_there);
  }
  void operator()(const Outcome& outcome, v1::NodePool& response) const {
    if (!outcome.pool) return;
    response = ToProto(*outcome.pool);
    if (outcome.etag_there) response.set_etag(*outcome.etag_there);
    for (const std::string& path : outcome.changed_fields)
      response.mutable_changed_fields()->add_paths(path);
    if (!warning.empty()) response.add_warnings(warning);
    const Pool& pool = *outcome.pool;
    WarnOfSpec(outcome, pool.deleting() ? std::nullopt : pool.status.grantable, response);
  }
  void operator()(const Outcome& outcome, v1::Node& response) const {
    if (!outcome.node) return;
    response =
        ToProto(Versioned<Node>{std::make_shared<const Node>(*outcome.node), outcome.revision});
    if (outcome.etag_there) response.set_etag(*outcome.etag_there);
  }
};

// Adds the preview, and replaces the warning of max_nodes: the preview knows newer numbers than the
// status.
inline void RenderPreview(const Outcome& outcome, v1::NodePoolPreview preview,
                          v1::NodePool& response) {
  std::optional<Grantable> grantable;
  if (preview.has_grantable_nodes())
    grantable = Grantable{preview.grantable_nodes(), preview.grantable_nodes_bound_by()};
  if (outcome.pool && (grantable || !preview.invalid().empty())) {
    response.clear_warnings();
    WarnOfSpec(outcome, grantable, response);
  }
  *response.mutable_preview() = std::move(preview);
}

// Tries the command and takes it back. `then(tried, revision, responder)` answers with what it
// would do, unless it is refused.
template <class Command, class Then>
void TryOut(Lane& lane, rpc::Responder responder, const rpc::WriteOptions& options, Command command,
            Then then) {
  const absl::Time deadline = responder.deadline();
  const auto decide = [command = std::move(command)](StagedState<State>& staged, absl::Time now) {
    return Try(staged, command, now);
  };
  rpc::Commit(lane, deadline, options, decide,
              [then = std::move(then), responder = std::move(responder)](
                  absl::StatusOr<Tried> tried, int64_t revision) mutable {
                if (!tried.ok() || !tried->dry_run)
                  return responder.Reply([&] { return tried.status(); });
                responder.ShowRevision(revision);
                then(*std::move(tried), revision, std::move(responder));
              });
}

// Answers with what the command of a pool would do, by `advisor`; with `must_fit`, with an error if
// quota does not cover it. Without an advisor only a refusal is told: whoever tries something out
// must not take an answer without a preview for one that says that nothing would happen.
template <class Command>
void AnswerPreview(Lane& lane, rpc::Responder responder, std::shared_ptr<Advisor> advisor,
                   const rpc::WriteOptions& options, bool must_fit, Command command,
                   v1::NodePool* response) {
  const auto answer = [advisor = std::move(advisor), must_fit, response](
                          Tried tried, int64_t revision, rpc::Responder waiting) {
    if (advisor == nullptr) return waiting.Finish(NoAdvisor());
    advisor->Preview(
        std::move(*tried.dry_run), std::move(waiting),
        [outcome = std::move(tried.outcome), must_fit, revision, response](
            v1::NodePoolPreview preview, const std::optional<QuotaTold>& growth) -> absl::Status {
          if (must_fit && growth) RETURN_IF_ERROR(CheckFits(*outcome.pool, *growth));
          const std::string warning = growth ? QuotaWarning(*outcome.pool, *growth) : "";
          RenderOutcome()(outcome, *response);
          RenderPreview(outcome, std::move(preview), *response);
          if (!warning.empty()) response->add_warnings(warning);
          rpc::SetRevision(*response, revision);
          return absl::OkStatus();
        });
  };
  TryOut(lane, std::move(responder), options, std::move(command), answer);
}

// Likewise, of a Node.
template <class Command>
void AnswerNodePreview(Lane& lane, rpc::Responder responder, std::shared_ptr<Advisor> advisor,
                       const rpc::WriteOptions& options, Command command, v1::Node* response) {
  const auto answer = [advisor = std::move(advisor), response](Tried tried, int64_t revision,
                                                               rpc::Responder waiting) {
    if (advisor == nullptr) return waiting.Finish(NoAdvisor());
    const Node node = *tried.outcome.node;
    advisor->PreviewNode(
        std::move(*tried.dry_run), node, std::move(waiting),
        [outcome = std::move(tried.outcome), revision, response](v1::NodePreview preview) {
          RenderOutcome()(outcome, *response);
          *response->mutable_preview() = std::move(preview);
          rpc::SetRevision(*response, revision);
        });
  };
  TryOut(lane, std::move(responder), options, std::move(command), answer);
}

// Whether the request is to be refused if quota does not cover it.
template <class Request>
bool MustFit(const Request& request) {
  if constexpr (requires { request.must_fit(); }) return request.must_fit();
  return false;
}

// What quota is to be asked before the command is carried out; nullopt: nothing. A repeated request
// is not judged anew.
template <class Command>
std::optional<Growth> GrowthToAsk(const State& state, const Command& command,
                                  const rpc::WriteOptions& options, const KeepPolicy& policy,
                                  absl::Time now) {
  const bool repeated =
      !options.kept_id.empty() && FindKept(state, options.kept_id, now, policy.keep) != nullptr;
  return repeated ? std::nullopt : GrowthBy(state, command);
}

// Calls `commit(responder, warning)` once quota has answered, or after half a second with the
// warning that it has not.
template <class Commit>
void CommitWithWarning(const Growth& growth, const Advisor& asked, rpc::Responder responder,
                       Commit commit) {
  constexpr absl::Duration kForWarning = absl::Milliseconds(500);
  const absl::Time deadline = std::min(responder.deadline(), NowForDeadlines() + kForWarning);
  asked.AskQuota(
      growth, deadline,
      [pool = growth.pool, responder = std::move(responder), commit = std::move(commit)](
          QuotaTold told) mutable { commit(std::move(responder), QuotaWarning(pool, told)); });
}

// Calls `commit(responder, "")` if quota covers `growth_of(state)` of the newest state; else
// refuses.
template <class GrowthOf, class Commit>
void CommitIfItFits(Lane& lane, GrowthOf growth_of, std::shared_ptr<Advisor> asked,
                    rpc::Responder responder, Commit commit) {
  const absl::Time deadline = responder.deadline();
  const auto ask = [asked = std::move(asked), commit](Growth growth, rpc::Responder waiting) {
    if (asked == nullptr) return waiting.Finish(CheckFits(growth.pool, {}));
    const absl::Time until = waiting.deadline();
    asked->AskQuota(
        growth, until,
        [pool = growth.pool, waiting = std::move(waiting), commit](QuotaTold told) mutable {
          if (const absl::Status fits = CheckFits(pool, told); !fits.ok())
            return waiting.Finish(fits);
          commit(std::move(waiting), "");
        });
  };
  lane.Read(
      [growth_of = std::move(growth_of), ask, commit, caller = OnBehalf(),
       responder = std::move(responder)](const absl::Status& status, const State* state,
                                         int64_t) mutable {
        if (!status.ok()) return responder.Finish(status);
        std::optional<Growth> growth = growth_of(*state);
        caller.Do([&] {
          if (!growth) return commit(std::move(responder), "");
          ask(*std::move(growth), std::move(responder));
        });
      },
      deadline);
}

template <class Request, class Parse>
Handlers::Unary Handlers::WritePool(Context context, const Request& request, v1::NodePool* response,
                                    Parse parse) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    Faults faults;
    auto command = parse(request, faults);
    const rpc::WriteOptions options = rpc::OptionsOf(request, responder.caller().get(), faults);
    if (!faults.empty()) return responder.Finish(faults.status());
    const std::shared_ptr<Advisor> asked = advisor();
    if (request.validate_only()) {
      return AnswerPreview(lane_, std::move(responder), asked, options, MustFit(request),
                           std::move(command), response);
    }
    const auto commit = [writer = writer_, options, response, command](rpc::Responder waiting,
                                                                       std::string warning) {
      const auto decide = [command](StagedState<State>& staged, absl::Time now) {
        return Decide(staged, command, now);
      };
      rpc::CommitTo(writer, std::move(waiting), options, response, decide,
                    RenderOutcome{std::move(warning)});
    };
    if constexpr (requires(const State& state) { GrowthBy(state, command); }) {
      const auto of = [command = std::move(command), options, policy = writer_.keep,
                       now = lane_.clock().Now()](const State& state) {
        return GrowthToAsk(state, command, options, policy, now);
      };
      if (MustFit(request)) return CommitIfItFits(lane_, of, asked, std::move(responder), commit);
      // A warning need not be by the newest state.
      if (auto growth = lane_.Peek([&](const State& state, int64_t) { return of(state); });
          growth) {
        if (asked == nullptr) return commit(std::move(responder), QuotaWarning(growth->pool, {}));
        return CommitWithWarning(*growth, *asked, std::move(responder), commit);
      }
    }
    commit(std::move(responder), "");
  });
}

template <class Request, class Parse>
Handlers::Unary Handlers::WriteNode(Context context, const Request& request, v1::Node* response,
                                    Parse parse) {
  if (!request.validate_only())
    return rpc::Write(context, writer_, request, response, parse, kDecide, RenderOutcome());
  return rpc::Unary(context, [&](rpc::Responder responder) {
    Faults faults;
    auto command = parse(request, faults);
    const rpc::WriteOptions options = rpc::OptionsOf(request, responder.caller().get(), faults);
    if (!faults.empty()) return responder.Finish(faults.status());
    AnswerNodePreview(lane_, std::move(responder), advisor(), options, std::move(command),
                      response);
  });
}

}  // namespace muster::lifecycle
