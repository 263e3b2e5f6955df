#pragma once

#include <grpcpp/server_context.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "services/access/scope.h"
#include "services/common/faults.h"
#include "services/rpc/limits.h"
#include "services/rpc/page.h"
#include "services/rpc/parsed.h"
#include "services/rpc/read.h"
#include "services/rpc/revision.h"
#include "services/rpc/unary.h"

namespace muster::rpc {

// One page of the rows of an ordered map whose keys begin with `prefix`: calls `emit(entry)`, which
// gives the bytes that it is answered with, for entries for which `keep(entry)` holds: for at most
// page.size of them, and for none once they have kMaxPageBytes. Returns the token of the next page,
// empty when there are no more.
template <class Map, class Request, class Keep, class Emit>
std::string ListPage(const Map& rows, const Request& request, const Page& page,
                     absl::string_view prefix, Keep keep, Emit emit) {
  auto it = page.after.empty() ? rows.lower_bound(prefix) : rows.upper_bound(page.after);
  int left = page.size;
  size_t bytes = 0;
  std::string last;
  for (; it != rows.end() && absl::StartsWith(it->first, prefix); ++it) {
    if (!keep(*it)) continue;
    if (left-- == 0 || bytes >= kMaxPageBytes) return PageToken(request, last);
    bytes += emit(*it);
    last = it->first;
  }
  return "";
}

// As ParsedUnary, of a list: `handle(Responder, what is asked for, page)`.
template <class Request, class Parse, class Handle>
grpc::ServerUnaryReactor* PagedUnary(grpc::CallbackServerContext* context, const Request& request,
                                     Parse parse, Handle handle) {
  return ParsedUnary(context, parse, [&](Responder responder, auto query) {
    absl::StatusOr<Page> page = ReadPage(request);
    if (!page.ok()) return responder.Finish(page.status());
    handle(std::move(responder), std::move(query), *std::move(page));
  });
}

// A whole handler of a list with pages of its own making: as Read, with the page that is asked for.
// `fill(state, request, page, query, response)`.
template <class Lane, class Request, class Response, class Parse, class Fill>
grpc::ServerUnaryReactor* ReadPaged(grpc::CallbackServerContext* context, Lane& lane,
                                    const Request& request, Response* response, Parse parse,
                                    Fill fill) {
  const auto asked = [&](error::Faults& faults) { return parse(request, faults); };
  return PagedUnary(context, request, asked, [&](Responder responder, auto query, Page page) {
    AnswerFrom(lane, std::move(responder),
               [request, page = std::move(page), query = std::move(query), response,
                fill = std::move(fill)](const auto& state, int64_t revision) {
                 fill(state, request, page, query, *response);
                 SetRevision(*response, revision);
                 return absl::OkStatus();
               });
  });
}

// Which rows a caller wants to see.
template <class Row>
struct Selection {
  std::string prefix = {};                                            // of their keys
  std::function<bool(const std::string& key, const Row&)> keep = {};  // empty: all
};

// Which rows: all of the kind.
template <class Row>
struct SelectAll {
  template <class Request>
  Selection<Row> operator()(const Request&, error::Faults&) const {
    return {};
  }
};

// Whether the caller, who sees `scope` (null: all), sees the row with that key. `PlaceOf(state, key)` of the state's domain says where
// it is.
template <class State>
bool Sees(const std::shared_ptr<const access::Scope>& scope, const State& state,
          const std::string& key) {
  if (scope == nullptr) return true;
  if constexpr (requires { PlaceOf(state, key); }) {
    return scope->Covers(PlaceOf(state, key));
  } else {
    return scope->Covers(key);
  }
}

// Where a caller who sees `scope` has to begin to look, of keys that begin with `prefix`.
inline std::string NarrowedPrefix(const std::shared_ptr<const access::Scope>& scope,
                                  const std::string& prefix) {
  const std::string common = scope == nullptr ? "" : scope->CommonPrefix();
  const bool is_below = !prefix.empty() && absl::StartsWith(common, prefix);
  return is_below ? common : prefix;
}

// A whole handler: one page of the Rows that `select(request, faults)` selects.
// `add(response) = render(state, versioned_row)` for each. A caller sees none beyond its scope.
template <class Row, class Lane, class Request, class Response, class Select, class Add,
          class Render>
grpc::ServerUnaryReactor* ListRows(grpc::CallbackServerContext* context, Lane& lane,
                                   const Request& request, Response* response, Select select,
                                   Add add, Render render) {
  return ReadPaged(
      context, lane, request, response, std::move(select),
      [add, render, scope = NarrowedTo(*context)](const auto& state, const Request& asked,
                                                  const Page& page, const Selection<Row>& wanted,
                                                  Response& out) {
        out.set_next_page_token(ListPage(
            state.template table<Row>().rows(), asked, page, NarrowedPrefix(scope, wanted.prefix),
            [&](const auto& row) {
              return Sees(scope, state, row.first) &&
                     (!wanted.keep || wanted.keep(row.first, *row.second.row));
            },
            [&](const auto& row) {
              auto& added = *add(out);
              added = render(state, row.second);
              return added.ByteSizeLong();
            }));
      });
}

}  // namespace muster::rpc
