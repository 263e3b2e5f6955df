#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "services/common/error.h"
#include "services/common/resource_name.h"
#include "services/quota/handlers.h"
#include "services/quota/wire/quota_wire.h"
#include "services/rpc/list.h"
#include "services/rpc/read.h"
#include "services/rpc/unary.h"
#include "services/rpc/watch_stream.h"
#include "services/rpc/watch_wire.h"

namespace muster::quota {
namespace {

// A list's parent as what the names below it begin with.
absl::StatusOr<std::string> ParseQuotasParent(absl::string_view parent) {
  const auto parts = MatchName("organizations/*", parent);
  if (!parts || ((*parts)[0] != "-" && !IsDnsLabel((*parts)[0]))) {
    return error::InvalidField(
        "parent", "must be `organizations/{organization}`, or `organizations/-` for all.");
  }
  if ((*parts)[0] == "-") return std::string("organizations/");
  return absl::StrCat(parent, "/quotas/");
}

absl::StatusOr<std::string> ParseHoldingsParent(absl::string_view parent) {
  if (ParseQuotaName(parent)) return absl::StrCat(parent, "/holdings/");
  absl::string_view organization = parent;
  if (absl::ConsumeSuffix(&organization, "/quotas/-")) {
    if (auto all = ParseQuotasParent(organization); all.ok()) return all;
  }
  return error::InvalidField("parent",
                             "must be a quota's name, `organizations/{organization}/quotas/-` or "
                             "`organizations/-/quotas/-`.");
}

bool ParseResource(const storage::WatchItem& item, v1::WatchQuotasResponse& response) {
  if (item.kind == Quota::kKind) return response.mutable_quota()->ParseFromString(*item.bytes);
  return response.mutable_holding()->ParseFromString(*item.bytes);
}

v1::WatchQuotasResponse ToWatchResponse(const storage::WatchItem& item) {
  return rpc::ToWatchResponse<v1::WatchQuotasResponse>(item, &ParseResource);
}

}  // namespace

Handlers::Unary Handlers::GetQuota(Context context, const v1::GetQuotaRequest* request,
                                   v1::Quota* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    if (!ParseQuotaName(request->name()))
      return responder.Finish(error::InvalidField("name", kQuotaNameShape));
    rpc::AnswerFrom(
        lane_, std::move(responder),
        [name = request->name(), response](const State& state, int64_t) -> absl::Status {
          const Versioned<Quota>* quota = state.table<Quota>().FindVersioned(name);
          if (quota == nullptr) return error::NotFound(name);
          *response = ToProto(*quota, state.Held(name));
          return absl::OkStatus();
        });
  });
}

Handlers::Unary Handlers::GetHolding(Context context, const v1::GetHoldingRequest* request,
                                     v1::Holding* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    if (!ParseHoldingName(request->name()))
      return responder.Finish(error::InvalidField("name", kHoldingNameShape));
    rpc::AnswerFrom(
        lane_, std::move(responder),
        [name = request->name(), response](const State& state, int64_t) -> absl::Status {
          const Holding* holding = state.table<Holding>().Find(name);
          if (holding == nullptr) return error::NotFound(name);
          *response = ToProto(*holding);
          return absl::OkStatus();
        });
  });
}

Handlers::Unary Handlers::ListQuotas(Context context, const v1::ListQuotasRequest* request,
                                     v1::ListQuotasResponse* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    absl::StatusOr<std::string> prefix = ParseQuotasParent(request->parent());
    if (!prefix.ok()) return responder.Finish(prefix.status());
    absl::StatusOr<KeyFilter> filter = FilterOf(*request);
    if (!filter.ok()) return responder.Finish(filter.status());
    absl::StatusOr<rpc::Page> page = rpc::ReadPage(*request);
    if (!page.ok()) return responder.Finish(page.status());
    rpc::AnswerFrom(lane_, std::move(responder),
                    [request = *request, prefix = *std::move(prefix), filter = *std::move(filter),
                     page = *std::move(page), response](const State& state, int64_t) {
                      response->set_next_page_token(rpc::ListPage(
                          state.table<Quota>().rows(), request, page, prefix,
                          [&](const auto& row) { return Matches(filter, row.first); },
                          [&](const auto& row) {
                            *response->add_quotas() = ToProto(row.second, state.Held(row.first));
                          }));
                      return absl::OkStatus();
                    });
  });
}

Handlers::Unary Handlers::ListHoldings(Context context, const v1::ListHoldingsRequest* request,
                                       v1::ListHoldingsResponse* response) {
  return rpc::Unary(context, [&](rpc::Responder responder) {
    absl::StatusOr<std::string> prefix = ParseHoldingsParent(request->parent());
    if (!prefix.ok()) return responder.Finish(prefix.status());
    absl::StatusOr<KeyFilter> filter = FilterOf(*request);
    if (!filter.ok()) return responder.Finish(filter.status());
    if (!request->pool_uid().empty() && !IsPoolUid(request->pool_uid()))
      return responder.Finish(error::InvalidField("pool_uid", "must be a pool's uid, or empty."));
    absl::StatusOr<rpc::Page> page = rpc::ReadPage(*request);
    if (!page.ok()) return responder.Finish(page.status());
    rpc::AnswerFrom(
        lane_, std::move(responder),
        [request = *request, prefix = *std::move(prefix), filter = *std::move(filter),
         page = *std::move(page), response](const State& state, int64_t) {
          response->set_next_page_token(rpc::ListPage(
              state.table<Holding>().rows(), request, page, prefix,
              [&](const auto& row) {
                const Holding& holding = *row.second.row;
                return Matches(filter, holding.quota) &&
                       (request.pool_uid().empty() || request.pool_uid() == holding.pool_uid);
              },
              [&](const auto& row) { *response->add_holdings() = ToProto(*row.second.row); }));
          return absl::OkStatus();
        });
  });
}

Handlers::Stream<v1::WatchQuotasResponse> Handlers::WatchQuotas(
    Context context, const v1::WatchQuotasRequest* request) {
  const auto options = rpc::ToWatchOptions<storage::WatchOptions>(request->start());
  if (!options.ok()) return rpc::FailStream<v1::WatchQuotasResponse>(context, options.status());
  return rpc::WatchStream<v1::WatchQuotasResponse>(context, lane_.Watch(*options), &ToWatchResponse,
                                                   request->start().bundle());
}

}  // namespace muster::quota
