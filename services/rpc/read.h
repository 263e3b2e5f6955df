#pragma once

#include <grpcpp/server_context.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/error.h"
#include "services/common/faults.h"
#include "services/rpc/parsed.h"
#include "services/rpc/revision.h"
#include "services/rpc/unary.h"

// The one way to read. A Lane is a storage::CommitLane; what `fill` and `render` are given must not
// be kept.
namespace muster::rpc {

// Answers a call from a linearizable read of `lane`: `fill(state, revision)` writes the response
// and returns the status of the answer.
template <class Lane, class Fill>
void AnswerFrom(Lane& lane, Responder responder, Fill fill) {
  const absl::Time deadline = responder.deadline();
  lane.Read(
      [fill = std::move(fill), responder = std::move(responder)](
          const absl::Status& status, const auto* state, int64_t revision) mutable {
        responder.ShowRevision(revision);
        responder.Reply(
            [&]() -> absl::Status { return status.ok() ? fill(*state, revision) : status; });
      },
      deadline);
}

// A whole handler of a question. `parse(request, faults)` returns the query, or adds faults with
// which the call is refused; `fill(state, revision, query, response)` as above, or void for OK.
template <class Lane, class Request, class Response, class Parse, class Fill>
grpc::ServerUnaryReactor* Read(grpc::CallbackServerContext* context, Lane& lane,
                               const Request& request, Response* response, Parse parse, Fill fill) {
  return ParsedUnary(context, request, parse, [&](Responder responder, auto query) {
    AnswerFrom(lane, std::move(responder),
               [query = std::move(query), response, fill = std::move(fill)](
                   const auto& state, int64_t revision) -> absl::Status {
                 if constexpr (std::is_void_v<decltype(fill(state, revision, query, *response))>) {
                   fill(state, revision, query, *response);
                   return absl::OkStatus();
                 } else {
                   return fill(state, revision, query, *response);
                 }
               });
  });
}

// What the names of a kind look like.
template <class ParseName>
struct NameShape {
  ParseName parse;  // (name) → something that converts to false if it is no such name
  absl::string_view description;  // of such names, for callers that give another
};
template <class ParseName>
NameShape(ParseName, const char*) -> NameShape<ParseName>;

// A whole handler: the Row that `request.name()` names. `render(state, versioned_row)` gives the
// response. INVALID_ARGUMENT name; NOT_FOUND.
template <class Row, class Lane, class Request, class Response, class ParseName, class Render>
grpc::ServerUnaryReactor* GetRow(grpc::CallbackServerContext* context, Lane& lane,
                                 const Request& request, Response* response,
                                 const NameShape<ParseName>& shape, Render render) {
  return Read(
      context, lane, request, response,
      [&](const Request& asked, error::Faults& faults) {
        faults.Require(static_cast<bool>(shape.parse(asked.name())), "name", shape.description);
        return std::string(asked.name());
      },
      [render = std::move(render)](const auto& state, int64_t revision, const std::string& name,
                                   Response& out) -> absl::Status {
        const auto* row = state.template table<Row>().FindVersioned(name);
        if (row == nullptr) return error::NotFound(name);
        out = render(state, *row);
        SetRevision(out, revision);
        return absl::OkStatus();
      });
}

}  // namespace muster::rpc
