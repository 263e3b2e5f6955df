#pragma once

#include <google/protobuf/empty.pb.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "services/common/kept_request.h"
#include "services/common/status_macros.h"
#include "services/lifecycle/api/fits.h"
#include "services/lifecycle/api/handlers.h"
#include "services/lifecycle/core/grantable.h"
#include "services/lifecycle/core/growth.h"
#include "services/lifecycle/wire/lifecycle_wire.h"
#include "services/rpc/revision.h"
#include "services/rpc/write.h"

// What the mutations of lifecycle have in common. For the .cc files of Handlers.
namespace muster::lifecycle {

inline constexpr auto kDecide = [](StagedState<State>& staged, const auto& command,
                                   absl::Time now) { return Decide(staged, command, now); };

// What came of a command as its response; empty without a row.
struct RenderOutcome {
  // What else is to be told of a pool; empty: nothing.
  std::string warning = {};

  void operator()(const Outcome&, google::protobuf::Empty&) const {}
  void operator()(const Outcome& outcome, v1::Cluster& response) const {
    if (outcome.cluster) response = ToProto(*outcome.cluster, outcome.revision);
  }
  void operator()(const Outcome& outcome, v1::NodePool& response) const {
    if (!outcome.pool) return;
    response = ToProto(*outcome.pool);
    for (const std::string& path : outcome.changed_fields)
      response.mutable_changed_fields()->add_paths(path);
    const Pool& pool = *outcome.pool;
    const std::string of_most =
        pool.deleting() ? "" : MaxNodesWarning(pool.spec, pool.status.grantable);
    if (!warning.empty()) response.add_warnings(warning);
    if (!of_most.empty()) response.add_warnings(of_most);
  }
  void operator()(const Outcome& outcome, v1::Node& response) const {
    if (!outcome.node) return;
    response =
        ToProto(Versioned<Node>{std::make_shared<const Node>(*outcome.node), outcome.revision});
  }
};

// What the preview says of max_nodes is newer than what the status told last.
inline void RenderPreview(const Outcome& outcome, v1::NodePoolPreview preview,
                          v1::NodePool& response) {
  if (outcome.pool && preview.has_grantable_nodes()) {
    const std::string warning =
        MaxNodesWarning(outcome.pool->spec,
                        Grantable{preview.grantable_nodes(), preview.grantable_nodes_bound_by()});
    response.clear_warnings();
    if (!warning.empty()) response.add_warnings(warning);
  }
  *response.mutable_preview() = std::move(preview);
}

// Tries the command, takes it back, and answers with what it would do, as `advisor` sees it; with `must_fit` only if quota covers it.
template <class Command>
void AnswerPreview(Lane& lane, rpc::Responder responder, std::shared_ptr<Advisor> advisor,
                   const rpc::WriteOptions& options, bool must_fit, Command command,
                   v1::NodePool* response) {
  const absl::Time deadline = responder.deadline();
  const auto decide = [command = std::move(command)](StagedState<State>& staged, absl::Time now) {
    return Try(staged, command, now);
  };
  rpc::Commit(lane, deadline, options, decide,
              [advisor = std::move(advisor), must_fit, response, responder = std::move(responder)](
                  absl::StatusOr<Tried> tried, int64_t revision) mutable {
                if (!tried.ok() || !tried->dry_run)
                  return responder.Reply([&] { return tried.status(); });
                advisor->Preview(std::move(*tried->dry_run), std::move(responder),
                                 [outcome = std::move(tried->outcome), must_fit, revision,
                                  response](v1::NodePoolPreview preview) -> absl::Status {
                                   if (must_fit && preview.quota().delta() > 0)
                                     RETURN_IF_ERROR(CheckFits(*outcome.pool, preview.quota()));
                                   RenderOutcome()(outcome, *response);
                                   RenderPreview(outcome, std::move(preview), *response);
                                   rpc::SetRevision(*response, revision);
                                   return absl::OkStatus();
                                 });
              });
}

// Whether the request wants nothing that quota does not cover.
template <class Request>
bool MustFit(const Request& request) {
  if constexpr (requires { request.must_fit(); }) return request.must_fit();
  return false;
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
    if (request.validate_only() && asked != nullptr) {
      return AnswerPreview(lane_, std::move(responder), asked, options, MustFit(request),
                           std::move(command), response);
    }
    const auto commit = [writer = writer_, options, response, command = std::move(command)](
                            rpc::Responder waiting, std::string warning) {
      const auto decide = [command](StagedState<State>& staged, absl::Time now) {
        return Decide(staged, command, now);
      };
      rpc::CommitTo(writer, std::move(waiting), options, response, decide,
                    RenderOutcome{std::move(warning)});
    };
    if constexpr (requires(const State& state) { GrowthBy(state, command); }) {
      if (auto growth = GrowthToAsk(command, options))
        return CommitIfItFits(std::move(*growth), MustFit(request), asked.get(),
                              std::move(responder), commit);
    }
    commit(std::move(responder), "");
  });
}

// What is repeated was judged when it came first.
template <class Command>
std::optional<Growth> Handlers::GrowthToAsk(const Command& command,
                                            const rpc::WriteOptions& options) const {
  const absl::Time now = lane_.clock().Now();
  return lane_.Peek([&](const State& state, int64_t) -> std::optional<Growth> {
    const bool repeated = !options.kept_id.empty() &&
                          FindKept(state, options.kept_id, now, writer_.keep.keep) != nullptr;
    return repeated ? std::nullopt : GrowthBy(state, command);
  });
}

template <class Commit>
void Handlers::CommitIfItFits(Growth growth, bool must_fit, const Advisor* asked,
                              rpc::Responder responder, Commit commit) {
  if (asked == nullptr) {
    if (must_fit) return responder.Finish(CheckFits(growth.pool, {}));
    return commit(std::move(responder), "");
  }
  // Nobody waits long for a warning.
  constexpr absl::Duration kForWarning = absl::Milliseconds(500);
  const absl::Time deadline =
      must_fit ? responder.deadline() : std::min(responder.deadline(), absl::Now() + kForWarning);
  asked->AskQuota(growth, deadline,
                  [pool = growth.pool, must_fit, responder = std::move(responder),
                   commit = std::move(commit)](v1::NodePoolPreview::Quota told) mutable {
                    const absl::Status fits = CheckFits(pool, told);
                    if (must_fit && !fits.ok()) return responder.Finish(fits);
                    const bool known = !absl::IsUnavailable(fits);
                    commit(std::move(responder),
                           fits.ok() || !known ? "" : QuotaWarning(pool, told));
                  });
}

}  // namespace muster::lifecycle
