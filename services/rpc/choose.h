#pragma once

#include <grpcpp/server_context.h>

#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "services/access/scope.h"
#include "services/common/faults.h"
#include "services/common/state.h"
#include "services/rpc/filter.h"
#include "services/rpc/limits.h"
#include "services/rpc/list.h"
#include "services/rpc/list_order.h"
#include "services/rpc/page.h"
#include "services/rpc/slow_calls.h"
#include "services/rpc/unary.h"

// Lists that are filtered or ordered (muster.type.v1.ListChoice).
namespace muster::rpc {

// What `filter` and `order_by` of a request say of its resources.
struct ListChoice {
  std::optional<Filter> filter = {};
  std::optional<ListOrder> order = {};  // nullopt: as the list goes by itself
};

// Faults at `filter` and `order_by`.
template <class Request>
ListChoice ParseChoice(const Request& request, const google::protobuf::Descriptor& type,
                       error::Faults& faults) {
  ListChoice choice;
  absl::StatusOr<Filter> filter = Filter::Parse(request.filter(), type);
  faults.Require(filter.ok(), "filter", filter.status().message());
  if (filter.ok()) choice.filter = *std::move(filter);
  if (request.order_by().empty()) return choice;
  absl::StatusOr<ListOrder> order = ListOrder::Parse(request.order_by(), type);
  faults.Require(order.ok(), "order_by", order.status().message());
  if (order.ok()) choice.order = *std::move(order);
  return choice;
}

namespace internal {

// Whether a list with this parent may have to skip many rows: those with other names, if an id
// follows a `-` (any id), which no prefix of keys can express; or those that the caller does not
// see, if its scope is in several places.
inline bool MayPassByManyBelow(absl::string_view parent, const access::Scope* scope) {
  bool any = false;
  bool is_id = false;
  for (absl::string_view part : absl::StrSplit(parent, '/')) {
    if (is_id && any && part != "-") return true;
    any |= is_id && part == "-";
    is_id = !is_id;
  }
  return scope != nullptr && scope->Narrowed("").value_or("").empty() && !scope->Covers(parent);
}

// The same for a request; without a parent, all rows are looked through.
template <class Request>
bool MayPassByMany(const Request& request, const access::Scope* scope) {
  if constexpr (requires { request.parent(); }) {
    return MayPassByManyBelow(request.parent(), scope);
  } else {
    return scope != nullptr;
  }
}

// Makes one page from rows that it reads a few at a time, so that no commit waits long for the
// lane's memory.
template <class Row, class Lane, class Request, class Response, class Add, class Render, class Walk>
class ChosenPage {
 public:
  using Resource =
      std::remove_reference_t<decltype(*std::declval<Add&>()(std::declval<Response&>()))>;

  // `scope`: what the caller sees; null: all.
  ChosenPage(Lane& lane, std::shared_ptr<const access::Scope> scope, Selection<Row> wanted,
             const Request& request, Page page, ListChoice choice, Add add, Render render,
             Walk walk)
      : lane_(lane),
        scope_(std::move(scope)),
        wanted_(std::move(wanted)),
        request_(request),
        page_(std::move(page)),
        choice_(std::move(choice)),
        add_(std::move(add)),
        render_(std::move(render)),
        walk_(std::move(walk)) {}

  void Fill(const Responder& waiting, Response& response) {
    const std::optional<std::string> prefix = NarrowedPrefix(scope_, wanted_.prefix);
    std::string after = choice_.order ? "" : page_.after;
    for (bool more = true; more && !full_ && !waiting.gone();) {
      more = lane_.Peek([&](const auto& state, int64_t revision) {
        if (!response.revision()) response.set_revision(revision);
        return GoOn(state, prefix, after, response);
      });
    }
    if (choice_.order) FillInOrder(response);
    if (full_) response.set_next_page_token(PageToken(request_, last_));
  }

 private:
  // Rows that are looked at while the memory is held.
  static constexpr size_t kAtOnce = 200;
  using Keyed = std::pair<std::string, Resource>;

  // Looks at some rows behind the key `after`, which it moves on. False: there are no more.
  template <class State>
  bool GoOn(const State& state, const std::optional<std::string>& prefix, std::string& after,
            Response& response) {
    size_t looked = 0;
    bool more = false;
    const std::string behind = std::exchange(after, {});
    WalkNarrowed<Row>(prefix, walk_, state, behind,
                      [&](absl::string_view cursor, const auto& entry) {
                        more = ++looked > kAtOnce;
                        if (more) return false;
                        after.assign(cursor.data(), cursor.size());
                        Look(state, cursor, entry, response);
                        return !full_;
                      });
    return more;
  }

  template <class State, class Entry>
  void Look(const State& state, absl::string_view cursor, const Entry& entry, Response& response) {
    const auto& [name, versioned] = entry;
    if (!Sees(scope_, state, wanted_, entry)) return;
    if (wanted_.keep && !wanted_.keep(name, *versioned.row)) return;
    Resource resource = render_(state, versioned);
    if (choice_.filter && !choice_.filter->Keeps(resource)) return;
    if (choice_.order) {
      Keep(name, std::move(resource));
    } else {
      Put(cursor, std::move(resource), response);
    }
  }

  // Of those that come after the page before: the first, and one more.
  void Keep(absl::string_view name, Resource resource) {
    std::string key = choice_.order->KeyOf(resource, name);
    if (key <= page_.after) return;
    kept_.emplace(std::move(key), std::move(resource));
    if (kept_.size() > static_cast<size_t>(page_.size) + 1) kept_.erase(std::prev(kept_.end()));
  }

  void FillInOrder(Response& response) {
    for (auto& [key, resource] : kept_) Put(key, std::move(resource), response);
  }

  void Put(absl::string_view key, Resource resource, Response& response) {
    full_ = full_ || filled_ == page_.size || bytes_ >= kMaxPageBytes;
    if (full_) return;
    ++filled_;
    bytes_ += resource.ByteSizeLong();
    last_ = std::string(key);
    *add_(response) = std::move(resource);
  }

  Lane& lane_;
  const std::shared_ptr<const access::Scope> scope_;
  const Selection<Row> wanted_;
  const Request request_;
  const Page page_;
  const ListChoice choice_;
  Add add_;
  Render render_;
  Walk walk_;
  std::map<std::string, Resource> kept_;
  bool full_ = false;  // there is more
  int filled_ = 0;
  size_t bytes_ = 0;
  std::string last_;
};

}  // namespace internal

// As ListRows, for a request that may also have a `filter` and an `order_by`. One that has, or that
// MayPassByMany rows, is answered by a thread of `slow`, a few rows at a time.
template <class Row, class Lane, class Request, class Response, class Select, class Add,
          class Render, class Walk = ByName<Row>>
grpc::ServerUnaryReactor* ChooseRows(grpc::CallbackServerContext* context,
                                     const std::shared_ptr<SlowCalls>& slow, Lane& lane,
                                     const Request& request, Response* response, Select select,
                                     Add add, Render render, Walk walk = {}) {
  if (request.filter().empty() && request.order_by().empty() &&
      !internal::MayPassByMany(request, NarrowedTo(*context).get())) {
    return ListRows<Row>(context, lane, request, response, std::move(select), std::move(add),
                         std::move(render), std::move(walk));
  }
  using Filled = internal::ChosenPage<Row, Lane, Request, Response, Add, Render, Walk>;
  // Before Unary: it is asked once.
  std::shared_ptr<const access::Scope> scope = NarrowedTo(*context);
  const auto parse = [&](const Request& asked, error::Faults& faults) {
    Selection<Row> wanted = select(asked, faults);
    ListChoice choice = ParseChoice(asked, *Filled::Resource::descriptor(), faults);
    return std::pair(std::move(wanted), std::move(choice));
  };
  return PagedUnary(context, request, parse, [&](Responder responder, auto asked, Page page) {
    auto filled = std::make_unique<Filled>(lane, std::move(scope), std::move(asked.first), request,
                                           std::move(page), std::move(asked.second), std::move(add),
                                           std::move(render), std::move(walk));
    SlowCalls::Answer answer = [filled = std::move(filled), response](Responder& waiting) {
      Response told;
      filled->Fill(waiting, told);
      waiting.ShowRevision(told.revision());
      waiting.Reply([&] { *response = std::move(told); });
    };
    AnswerSlowly(slow, lane, std::move(responder), std::move(answer));
  });
}

}  // namespace muster::rpc
