#pragma once

#include <grpcpp/server_context.h>

#include <functional>
#include <memory>
#include <optional>
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

// The entries of an ordered map whose keys begin with `prefix`, those behind the key `after` (empty: all of them): calls
// `visit(cursor, entry)`, the cursor being what `after` is of a list that goes on behind it, until it returns false.
template <class Map, class Visit>
void WalkByKey(const Map& rows, absl::string_view prefix, const std::string& after, Visit visit) {
  // A caller may see less by now than where it came to: the list goes on with what is left.
  auto it = absl::string_view(after) < prefix ? rows.lower_bound(prefix) : rows.upper_bound(after);
  for (; it != rows.end() && absl::StartsWith(it->first, prefix); ++it) {
    if (!visit(it->first, *it)) return;
  }
}

// The order of a list that is not told another one. `walk(state, prefix, after, visit)` as WalkByKey, with the entries of the table
// of Rows.
template <class Row>
struct ByName {
  template <class State, class Visit>
  void operator()(const State& state, absl::string_view prefix, const std::string& after,
                  Visit visit) const {
    WalkByKey(state.template table<Row>().rows(), prefix, after, visit);
  }
};

// One page of what `walk(visit)` goes through: calls `emit(entry)`, which gives the bytes that it is answered with, for entries for
// which `keep(entry)` holds: for at most page.size of them, and for none once they have kMaxPageBytes. Returns the token of the
// next page, empty when there are no more.
template <class Request, class Walk, class Keep, class Emit>
std::string ListPage(const Request& request, const Page& page, Walk walk, Keep keep, Emit emit) {
  int left = page.size;
  size_t bytes = 0;
  std::string last, token;
  walk([&](absl::string_view cursor, const auto& entry) {
    if (!keep(entry)) return true;
    if (left-- == 0 || bytes >= kMaxPageBytes) {
      token = PageToken(request, last);
      return false;
    }
    bytes += emit(entry);
    last.assign(cursor.data(), cursor.size());
    return true;
  });
  return token;
}

// As ParsedUnary, of a list: `handle(Responder, what is asked for, page)`.
template <class Request, class Parse, class Handle>
grpc::ServerUnaryReactor* PagedUnary(grpc::CallbackServerContext* context, const Request& request,
                                     Parse parse, Handle handle) {
  return ParsedUnary(context, request, parse, [&](Responder responder, auto query) {
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
  return PagedUnary(context, request, parse, [&](Responder responder, auto query, Page page) {
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
  std::string prefix = {};                                           // of their keys
  std::function<bool(absl::string_view key, const Row&)> keep = {};  // empty: all
  // In which zone a row was when it was changed, as a watch of them is narrowed (watch_wire.h); nullopt: not told yet, so where its name
  // is now. Empty: rows do not outlive what they are in.
  std::function<std::optional<std::string>(absl::string_view key, int64_t revision)> zone_of = {};
};

// Which rows: all of the kind.
template <class Row>
struct SelectAll {
  template <class Request>
  Selection<Row> operator()(const Request&, error::Faults&) const {
    return {};
  }
};

// Whether the caller, who sees `scope` (null: all), sees that entry of the table of Rows. `PlaceOf(state, key)` of the state's domain
// says where it is, unless `wanted` does.
template <class Row, class State, class Entry>
bool Sees(const std::shared_ptr<const access::Scope>& scope, const State& state,
          const Selection<Row>& wanted, const Entry& entry) {
  if (scope == nullptr) return true;
  const absl::string_view key = entry.first;
  if (wanted.zone_of) {
    if (const auto zone = wanted.zone_of(key, entry.second.revision))
      return scope->Covers(key, *zone);
  }
  if constexpr (requires { PlaceOf(state, key); }) {
    return scope->Covers(PlaceOf(state, key));
  } else {
    return scope->Covers(key);
  }
}

// What of the keys under `prefix` is not somebody else's, of which there may be much; nullopt: nothing is. `prefix` ends with a `/`;
// empty: keys need not tell whose the rows are.
inline std::optional<std::string> NarrowedPrefix(const std::shared_ptr<const access::Scope>& scope,
                                                 const std::string& prefix) {
  return scope == nullptr || prefix.empty() ? prefix : scope->Narrowed(prefix);
}

// `walk(state, prefix, after, visit)` of a NarrowedPrefix.
template <class Row, class State, class Walk, class Visit>
void WalkNarrowed(std::optional<std::string> prefix, const Walk& walk, const State& state,
                  const std::string& after, Visit visit) {
  if (!prefix) return;
  // What is in a cluster sorts behind what is in those whose names are longer: `c-2/` before `c/`.
  const bool is_row = !prefix->empty() && !absl::EndsWith(*prefix, "/");
  if (is_row && state.template table<Row>().Find(*prefix) == nullptr) prefix->push_back('/');
  walk(state, *prefix, after, std::move(visit));
}

// A whole handler: one page of the Rows that `select(request, faults)` selects.
// `add(response) = render(state, versioned_row)` for each, in the order of `walk`. A caller sees none beyond its scope.
template <class Row, class Lane, class Request, class Response, class Select, class Add,
          class Render, class Walk = ByName<Row>>
grpc::ServerUnaryReactor* ListRows(grpc::CallbackServerContext* context, Lane& lane,
                                   const Request& request, Response* response, Select select,
                                   Add add, Render render, Walk walk = {}) {
  return ReadPaged(context, lane, request, response, std::move(select),
                   [add, render, walk = std::move(walk), scope = NarrowedTo(*context)](
                       const auto& state, const Request& asked, const Page& page,
                       const Selection<Row>& wanted, Response& out) {
                     out.set_next_page_token(ListPage(
                         asked, page,
                         [&](auto visit) {
                           WalkNarrowed<Row>(NarrowedPrefix(scope, wanted.prefix), walk, state,
                                             page.after, std::move(visit));
                         },
                         [&](const auto& row) {
                           return Sees(scope, state, wanted, row) &&
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
