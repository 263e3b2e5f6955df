#pragma once

#include <muster/history/v1/history_service.pb.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/musterd/service_part.h"
#include "storage/postgres/change_log.h"
#include "storage/postgres/past_lists.h"

// Between muster.history.v1 and what a service's journal knows: requests and tokens one way, rows the other. INVALID_ARGUMENT: of a
// request; INTERNAL: the journal cannot be understood.
namespace muster::musterd {

absl::StatusOr<storage::Moment> MomentOf(const history::v1::GetPastRequest& request);
absl::StatusOr<storage::Moment> MomentOf(const history::v1::ListPastRequest& request);

// Of what a token of ListChanges holds.
absl::Status ReadRevision(absl::string_view token, int64_t& revision, std::string& incarnation);

// Where a page of a past list begins: all pages are of the moment that the first one was of.
struct PastPlace {
  storage::Moment then = {};
  std::string after = {};
};
// Of what a token of ListPast holds, `REVISION@HISTORY KEY`; `then`: without one.
absl::StatusOr<PastPlace> ReadPlace(const std::string& token, const storage::Moment& then);

absl::StatusOr<history::v1::ListChangesResponse> ToResponse(
    const history::v1::ListChangesRequest& request, const ServicePart& part,
    const storage::ChangeLog& log);
absl::StatusOr<history::v1::ListPastResponse> ToResponse(
    const history::v1::ListPastRequest& request, const ServicePart& part,
    const storage::PastPage& page);
// Of the log's first change.
absl::StatusOr<history::v1::GetPastResponse> ToPast(const ServicePart& part,
                                                    const storage::ChangeLog& log);

}  // namespace muster::musterd
