#pragma once

#include <grpcpp/server_context.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "services/access/scope.h"
#include "services/common/faults.h"
#include "services/common/state.h"
#include "services/rpc/filter.h"
#include "services/rpc/limits.h"
#include "services/rpc/list.h"
#include "services/rpc/list_order.h"
#include "services/rpc/page.h"
#include "services/rpc/revision.h"
#include "services/rpc/slow_calls.h"
#include "services/rpc/unary.h"

// Lists that are filtered or ordered (muster.type.v1.ListChoice).
namespace muster::rpc {

// What `filter` and `order_by` of a request say of its resources.
struct Choice {
  std::optional<Filter> filter = {};
  std::optional<ListOrder> order = {};  // nullopt: by name
};

// Faults at `filter` and `order_by`.
template <class Request>
Choice ParseChoice(const Request& request, const google::protobuf::Descriptor& type,
                   error::Faults& faults) {
  Choice choice;
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

// One page of rows that are gone through a few at a time, so that no commit waits long for the lane's memory.
template <class Row, class Lane, class Request, class Response, class Add, class Render>
class ChosenPage {
 public:
  using Resource =
      std::remove_reference_t<decltype(*std::declval<Add&>()(std::declval<Response&>()))>;

  ChosenPage(Lane& lane, const Request& request, Page page, Choice choice, Add add, Render render)
      : lane_(lane),
        request_(request),
        page_(std::move(page)),
        choice_(std::move(choice)),
        add_(std::move(add)),
        render_(std::move(render)) {}

  // Where to begin to look.
  std::string after() const { return choice_.order ? "" : page_.after; }

  void Fill(std::vector<std::pair<std::string, Versioned<Row>>> rows, const Responder& waiting,
            Response& response) {
    rows_ = std::move(rows);
    if (choice_.order) Sort(waiting);
    const size_t end = choice_.order ? order_.size() : rows_.size();
    for (size_t next = 0; next < end && !full_ && !waiting.gone();)
      next = FillSome(next, end, response);
    if (full_) response.set_next_page_token(PageToken(request_, last_));
  }

 private:
  static constexpr size_t kAtOnce = 100;

  const auto& RowAt(size_t i) const { return rows_[choice_.order ? order_[i].second : i]; }

  bool Keeps(const Resource& resource) const {
    return !choice_.filter || choice_.filter->Keeps(resource);
  }

  // The keys of those that are kept and come after the page before, the least first, one more than the page takes.
  void Sort(const Responder& waiting) {
    for (size_t begin = 0; begin < rows_.size() && !waiting.gone(); begin += kAtOnce) {
      lane_.Peek([&](const auto& state, int64_t) {
        for (size_t i = begin; i < std::min(rows_.size(), begin + kAtOnce); ++i) {
          const Resource resource = render_(state, rows_[i].second);
          if (!Keeps(resource)) continue;
          std::string key = choice_.order->KeyOf(resource, rows_[i].first);
          if (key > page_.after) order_.emplace_back(std::move(key), i);
        }
      });
    }
    const size_t wanted = std::min(order_.size(), static_cast<size_t>(page_.size) + 1);
    std::partial_sort(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(wanted),
                      order_.end());
    order_.resize(wanted);
  }

  size_t FillSome(size_t begin, size_t end, Response& response) {
    return lane_.Peek([&](const auto& state, int64_t) {
      size_t i = begin;
      for (; i < std::min(end, begin + kAtOnce) && !full_; ++i) {
        Resource resource = render_(state, RowAt(i).second);
        if (!choice_.order && !Keeps(resource)) continue;
        full_ = filled_ == page_.size || bytes_ >= kMaxPageBytes;
        if (full_) break;
        ++filled_;
        bytes_ += resource.ByteSizeLong();
        last_ = choice_.order ? order_[i].first : RowAt(i).first;
        *add_(response) = std::move(resource);
      }
      return i;
    });
  }

  Lane& lane_;
  const Request request_;
  const Page page_;
  const Choice choice_;
  Add add_;
  Render render_;
  std::vector<std::pair<std::string, Versioned<Row>>> rows_;
  std::vector<std::pair<std::string, size_t>> order_;  // key, index of rows_
  bool full_ = false;                                  // there is more
  int filled_ = 0;
  size_t bytes_ = 0;
  std::string last_;
};

// Those that the caller may see and `wanted` selects, from behind `after` on, and the revision that they are of.
template <class Row, class Lane>
std::pair<std::vector<std::pair<std::string, Versioned<Row>>>, int64_t> Gather(
    Lane& lane, const std::shared_ptr<const access::Scope>& scope, const Selection<Row>& wanted,
    const std::string& after) {
  return lane.Peek([&](const auto& state, int64_t revision) {
    std::vector<std::pair<std::string, Versioned<Row>>> gathered;
    const auto& rows = state.template table<Row>().rows();
    const std::string prefix = NarrowedPrefix(scope, wanted.prefix);
    auto it = after.empty() ? rows.lower_bound(prefix) : rows.upper_bound(after);
    for (; it != rows.end() && absl::StartsWith(it->first, prefix); ++it) {
      if (Sees(scope, state, it->first) &&
          (!wanted.keep || wanted.keep(it->first, *it->second.row)))
        gathered.emplace_back(it->first, it->second);
    }
    return std::make_pair(std::move(gathered), revision);
  });
}

}  // namespace internal

// As ListRows, of a request that may also have a `filter` and an `order_by`: what has is answered by one of `slow`'s threads.
template <class Row, class Lane, class Request, class Response, class Select, class Add,
          class Render>
grpc::ServerUnaryReactor* ChooseRows(grpc::CallbackServerContext* context,
                                     const std::shared_ptr<SlowCalls>& slow, Lane& lane,
                                     const Request& request, Response* response, Select select,
                                     Add add, Render render) {
  if (request.filter().empty() && request.order_by().empty())
    return ListRows<Row>(context, lane, request, response, std::move(select), std::move(add),
                         std::move(render));
  using Filled = internal::ChosenPage<Row, Lane, Request, Response, Add, Render>;
  return Unary(context, [&](Responder responder) {
    error::Faults faults;
    Selection<Row> wanted = select(request, faults);
    Choice choice = ParseChoice(request, *Filled::Resource::descriptor(), faults);
    if (!faults.empty()) return responder.Finish(faults.status());
    absl::StatusOr<Page> page = ReadPage(request);
    if (!page.ok()) return responder.Finish(page.status());
    auto filled = std::make_unique<Filled>(lane, request, *std::move(page), std::move(choice),
                                           std::move(add), std::move(render));
    const absl::Time deadline = responder.deadline();
    SlowCalls::Answer answer = [&lane, filled = std::move(filled), wanted = std::move(wanted),
                                scope = NarrowedTo(*context), response](Responder& waiting) {
      auto [rows, revision] = internal::Gather<Row>(lane, scope, wanted, filled->after());
      Response told;
      filled->Fill(std::move(rows), waiting, told);
      SetRevision(told, revision);
      waiting.Reply([&] { *response = std::move(told); });
    };
    lane.Read(
        [slow, answer = std::move(answer), responder = std::move(responder)](
            const absl::Status& status, const auto*, int64_t) mutable {
          if (!status.ok()) return responder.Finish(status);
          slow->Add(std::move(responder), std::move(answer));
        },
        deadline);
  });
}

}  // namespace muster::rpc
