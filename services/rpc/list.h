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

// Goes through the entries of an ordered map whose keys begin with `prefix` and come after the key
// `after` (empty: all): calls `visit(cursor, entry)` until it returns false. A later walk with the
// cursor as `after` goes on behind that entry.
template <class Map, class Visit>
void WalkByKey(const Map& rows, absl::string_view prefix, const std::string& after, Visit visit) {
  // `after` may be before `prefix`, if the caller sees less by now: the list goes on with what is
  // left.
  auto it = absl::string_view(after) < prefix ? rows.lower_bound(prefix) : rows.upper_bound(after);
  for (; it != rows.end() && absl::StartsWith(it->first, prefix); ++it) {
    if (!visit(it->first, *it)) return;
  }
}

// The default order of a list: WalkByKey over the entries of the table of Rows.
template <class Row>
struct ByName {
  template <class State, class Visit>
  void operator()(const State& state, absl::string_view prefix, const std::string& after,
                  Visit visit) const {
    WalkByKey(state.template table<Row>().rows(), prefix, after, visit);
  }
};

// Makes one page of the entries that `walk(visit)` goes through: calls `emit(entry)`, which returns
// the size of its answer in bytes, for those for which `keep(entry)` is true, until there are
// page.size of them or they have kMaxPageBytes. Returns the token of the next page, empty if there
// is none.
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

// As ParsedUnary, for a list: `handle(Responder, query, page)`.
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
  // The zone in which a row was when it was changed, as for a watch (watch_wire.h, Narrow);
  // nullopt: not known yet, so that its name says where it is. Empty: rows do not outlive what they
  // are in.
  std::function<std::optional<std::string>(absl::string_view key, int64_t revision)> zone_of = {};
};

// Selects all rows of the kind.
template <class Row>
struct SelectAll {
  template <class Request>
  Selection<Row> operator()(const Request&, error::Faults&) const {
    return {};
  }
};

// Whether a caller that sees `scope` (null: all) sees that entry of the table of Rows. Where it is:
// `wanted.zone_of`, else PlaceOf(state, key) of the state's domain, else its name says so.
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

// The prefix below `prefix` that all keys have which `scope` may cover, so that others need not be
// looked through; nullopt: it covers none. `prefix` ends with a `/`; an empty one stays, as keys
// may not tell whose the rows are.
inline std::optional<std::string> NarrowedPrefix(const std::shared_ptr<const access::Scope>& scope,
                                                 const std::string& prefix) {
  return scope == nullptr || prefix.empty() ? prefix : scope->Narrowed(prefix);
}

// `walk(state, prefix, after, visit)` of a NarrowedPrefix.
template <class Row, class State, class Walk, class Visit>
void WalkNarrowed(std::optional<std::string> prefix, const Walk& walk, const State& state,
                  const std::string& after, Visit visit) {
  if (!prefix) return;
  // A prefix without `/` also fits longer names, which sort in between: `c`, `c-2/...`, `c/...`.
  const bool is_row = !prefix->empty() && !absl::EndsWith(*prefix, "/");
  if (is_row && state.template table<Row>().Find(*prefix) == nullptr) prefix->push_back('/');
  walk(state, *prefix, after, std::move(visit));
}

// A whole handler: one page of the Rows that `select(request, faults)` selects. `add(response) =
// render(state, versioned_row)` for each, in the order of `walk`. A caller sees none beyond its
// scope.
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
