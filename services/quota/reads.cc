#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "services/common/resource_name.h"
#include "services/quota/core/place.h"
#include "services/quota/handlers.h"
#include "services/quota/wire/quota_wire.h"
#include "services/rpc/choose.h"
#include "services/rpc/list.h"
#include "services/rpc/read.h"
#include "services/rpc/watch_stream.h"
#include "services/rpc/watch_wire.h"

namespace muster::quota {
namespace {

// What the names below a list's parent begin with; nullopt: the parent is not valid.
std::optional<std::string> QuotasPrefix(absl::string_view parent) {
  const auto parts = MatchName("organizations/*", parent);
  if (!parts || ((*parts)[0] != "-" && !IsDnsLabel((*parts)[0]))) return std::nullopt;
  if ((*parts)[0] == "-") return "organizations/";
  return absl::StrCat(parent, "/quotas/");
}

std::optional<std::string> HoldingsPrefix(absl::string_view parent) {
  if (ParseQuotaName(parent)) return absl::StrCat(parent, "/holdings/");
  if (!absl::ConsumeSuffix(&parent, "/quotas/-")) return std::nullopt;
  return QuotasPrefix(parent);
}

constexpr auto kSelectQuotas = [](const v1::ListQuotasRequest& request, error::Faults& faults) {
  const auto prefix = QuotasPrefix(request.parent());
  faults.Require(prefix.has_value(), "parent",
                 "must be `organizations/{organization}`, or `organizations/-` for all.");
  return rpc::Selection<Quota>{prefix.value_or(""), [filter = FilterOf(request, faults)](
                                                        absl::string_view name, const Quota&) {
                                 return Matches(filter, name);
                               }};
};

constexpr auto kSelectHoldings = [](const v1::ListHoldingsRequest& request, error::Faults& faults) {
  const auto prefix = HoldingsPrefix(request.parent());
  faults.Require(prefix.has_value(), "parent",
                 "must be a quota's name, `organizations/{organization}/quotas/-` or "
                 "`organizations/-/quotas/-`.");
  const std::string& uid = request.pool_uid();
  faults.Require(uid.empty() || IsPoolUid(uid), "pool_uid", "must be a pool's uid, or empty.");
  return rpc::Selection<Holding>{
      prefix.value_or(""),
      [filter = FilterOf(request, faults), uid](absl::string_view, const Holding& holding) {
        return Matches(filter, holding.quota) && (uid.empty() || uid == holding.pool_uid);
      }};
};

constexpr auto kRenderQuota = [](const State& state, const Versioned<Quota>& quota) {
  return ToProto(quota, state.Held(quota.row->Key()));
};
constexpr auto kRenderHolding = [](const State&, const Versioned<Holding>& holding) {
  return ToProto(*holding.row);
};

int FieldOf(const storage::WatchItem& item) {
  using Response = v1::WatchQuotasResponse;
  if (item.kind == Quota::kKind) return Response::kQuotaFieldNumber;
  return item.kind == Holding::kKind ? Response::kHoldingFieldNumber : 0;
}

v1::WatchQuotasResponse ToWatchResponse(const storage::WatchItem& item) {
  return rpc::ToWatchResponse<v1::WatchQuotasResponse>(item, &FieldOf);
}

}  // namespace

Handlers::Unary Handlers::GetQuota(Context context, const v1::GetQuotaRequest* request,
                                   v1::Quota* response) {
  return rpc::GetRow<Quota>(context, lane_, *request, response,
                            rpc::NameShape{&ParseQuotaName, kQuotaNameShape}, kRenderQuota);
}

Handlers::Unary Handlers::GetHolding(Context context, const v1::GetHoldingRequest* request,
                                     v1::Holding* response) {
  return rpc::GetRow<Holding>(context, lane_, *request, response,
                              rpc::NameShape{&ParseHoldingName, kHoldingNameShape}, kRenderHolding);
}

Handlers::Unary Handlers::ListQuotas(Context context, const v1::ListQuotasRequest* request,
                                     v1::ListQuotasResponse* response) {
  return rpc::ChooseRows<Quota>(
      context, slow_, lane_, *request, response, kSelectQuotas,
      [](auto& page) { return page.add_quotas(); }, kRenderQuota);
}

Handlers::Unary Handlers::ListHoldings(Context context, const v1::ListHoldingsRequest* request,
                                       v1::ListHoldingsResponse* response) {
  return rpc::ListRows<Holding>(
      context, lane_, *request, response, kSelectHoldings,
      [](auto& page) { return page.add_holdings(); }, kRenderHolding);
}

Handlers::Stream<v1::WatchQuotasResponse> Handlers::WatchQuotas(
    Context context, const v1::WatchQuotasRequest* request) {
  auto options =
      rpc::ToWatchOptions<storage::WatchOptions>(request->start(), rpc::TurnOf(*context));
  if (!options.ok()) return rpc::FailStream<v1::WatchQuotasResponse>(context, options.status());
  options->key_prefix = request->name_prefix();
  const auto zone_of = [](absl::string_view key) { return PlaceOf(key).zone; };
  rpc::Narrow(*options, rpc::NarrowedTo(*context),
              [zone_of](absl::string_view key, int64_t) { return zone_of(key); });
  const absl::Status status =
      rpc::KeepZone(*options, request->zone(),
                    [zone_of](const storage::WatchItem& item) { return zone_of(item.key); });
  if (!status.ok()) return rpc::FailStream<v1::WatchQuotasResponse>(context, status);
  return rpc::WatchStream<v1::WatchQuotasResponse>(context, lane_.Watch(*options), &ToWatchResponse,
                                                   request->start());
}

}  // namespace muster::quota
