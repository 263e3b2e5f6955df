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

// Converts the requests and tokens of muster.history.v1 for a service's journal, and its rows to
// responses. INVALID_ARGUMENT: a request is wrong; INTERNAL: the journal cannot be understood.
namespace muster::musterd {

absl::StatusOr<storage::Moment> MomentOf(const history::v1::GetPastRequest& request);
absl::StatusOr<storage::Moment> MomentOf(const history::v1::ListPastRequest& request);

// Reads what a page token of ListChanges holds.
absl::Status ReadRevision(absl::string_view token, int64_t& revision, std::string& incarnation);

// Where a page of a past list begins. All pages are of the same moment as the first.
struct PastPlace {
  storage::Moment then = {};
  std::string after = {};
};
// Reads what a page token of ListPast holds, `REVISION@HISTORY KEY`; an empty token means the first
// page at `then`.
absl::StatusOr<PastPlace> ReadPlace(const std::string& token, const storage::Moment& then);

absl::StatusOr<history::v1::ListChangesResponse> ToResponse(
    const history::v1::ListChangesRequest& request, const ServicePart& part,
    const storage::ChangeLog& log);
absl::StatusOr<history::v1::ListPastResponse> ToResponse(
    const history::v1::ListPastRequest& request, const ServicePart& part,
    const storage::PastPage& page);
// The response for the log's first change.
absl::StatusOr<history::v1::GetPastResponse> ToPast(const ServicePart& part,
                                                    const storage::ChangeLog& log);

}  // namespace muster::musterd
