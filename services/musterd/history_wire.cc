#include "services/musterd/history_wire.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "services/common/cut.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"
#include "services/common/timestamp.h"
#include "services/history/field_changes.h"
#include "services/rpc/limits.h"
#include "services/rpc/page.h"

namespace muster::musterd {
namespace {

using storage::ChangeLog;
using storage::LoggedChange;

constexpr size_t kMostFields = 100;
constexpr size_t kMostValueBytes = 1'000;

void Fill(const Author& author, history::v1::Author& out) {
  out.set_principal(author.principal);
  out.set_method(author.method);
  out.set_request_id(author.request_id);
  out.set_trace_id(author.trace_id);
  out.set_reason(author.reason);
}

history::v1::Change::Type TypeOf(const LoggedChange& change) {
  if (change.bytes == nullptr) return history::v1::Change::TYPE_DELETED;
  return change.previous == 0 ? history::v1::Change::TYPE_CREATED
                              : history::v1::Change::TYPE_UPDATED;
}

void FillFields(const google::protobuf::Message& before, const google::protobuf::Message& after,
                history::v1::Change& out) {
  const std::vector<history::FieldChange> changes =
      history::FieldChangesOf(before, after, kMostFields);
  for (size_t i = 0; i < changes.size(); ++i) {
    history::v1::Change::Field& field = *out.add_fields();
    field.set_path(changes[i].path);
    field.set_before(Cut(changes[i].before, kMostValueBytes));
    field.set_after(Cut(changes[i].after, kMostValueBytes));
  }
}

absl::Status Unreadable(int64_t revision) {
  return absl::InternalError(absl::StrCat("The journal's revision ", revision, " cannot be read."));
}

// INTERNAL: the journal cannot be understood.
absl::Status Fill(const ServicePart& part, const std::string& kind, const LoggedChange& change,
                  history::v1::Change& out) {
  out.set_revision(change.revision);
  SetTimestamp(change.commit_time, out.mutable_change_time());
  out.set_type(TypeOf(change));
  Fill(change.author, *out.mutable_author());
  out.set_before_known(change.previous == 0 || change.before != nullptr);
  if (change.bytes == nullptr || !out.before_known()) return absl::OkStatus();
  const auto after = part.history.parse(kind, *change.bytes);
  const auto before = after == nullptr || change.before == nullptr
                          ? nullptr
                          : part.history.parse(kind, *change.before);
  if (after == nullptr || (change.before != nullptr && before == nullptr))
    return Unreadable(change.revision);
  const std::unique_ptr<google::protobuf::Message> none(after->New());
  FillFields(before == nullptr ? *none : *before, *after, out);
  return absl::OkStatus();
}

// The token for a revision: `REVISION@HISTORY`; the release before wrote no history.
std::string RevisionToken(int64_t revision, absl::string_view incarnation) {
  return absl::StrCat(revision, "@", incarnation);
}

template <class Request>
absl::StatusOr<storage::Moment> MomentIn(const Request& request) {
  storage::Moment then;
  switch (request.at_case()) {
    case Request::kRevision:
      if (request.revision() < 1) return error::InvalidField("revision", "must be at least 1.");
      then.revision = request.revision();
      return then;
    case Request::kTime:
      if (!IsTimestamp(request.time().seconds(), request.time().nanos()))
        return error::InvalidField("time", "must be in the years 1 to 9999.");
      then.time = FromTimestamp(request.time());
      return then;
    case Request::AT_NOT_SET:
      break;
  }
  return error::InvalidField("time", "or `revision` is required.");
}

}  // namespace

absl::StatusOr<storage::Moment> MomentOf(const history::v1::GetPastRequest& request) {
  return MomentIn(request);
}

absl::StatusOr<storage::Moment> MomentOf(const history::v1::ListPastRequest& request) {
  return MomentIn(request);
}

absl::Status ReadRevision(absl::string_view token, int64_t& revision, std::string& incarnation) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(token, absl::MaxSplits('@', 1));
  if (!absl::SimpleAtoi(parts.first, &revision))
    return error::InvalidField("page_token", "is not one of this list.");
  incarnation = parts.second;
  return absl::OkStatus();
}

absl::StatusOr<PastPlace> ReadPlace(const std::string& token, const storage::Moment& then) {
  if (token.empty()) return PastPlace{then};
  const std::pair<std::string, std::string> parts = absl::StrSplit(token, absl::MaxSplits(' ', 1));
  PastPlace place{.after = parts.second};
  RETURN_IF_ERROR(ReadRevision(parts.first, place.then.revision, place.then.incarnation));
  return place;
}

absl::StatusOr<history::v1::ListChangesResponse> ToResponse(
    const history::v1::ListChangesRequest& request, const ServicePart& part, const ChangeLog& log) {
  history::v1::ListChangesResponse response;
  response.set_service(part.name);
  int64_t next = log.next;
  for (const LoggedChange& change : log.changes) {
    if (response.ByteSizeLong() >= rpc::kMaxPageBytes) {
      next = change.revision;
      break;
    }
    RETURN_IF_ERROR(Fill(part, log.kind, change, *response.add_changes()));
  }
  if (next > 0) {
    response.set_next_page_token(rpc::PageToken(request, RevisionToken(next, log.incarnation)));
  } else {
    response.set_complete(!log.changes.empty() && log.changes.back().previous == 0);
  }
  return response;
}

absl::StatusOr<history::v1::ListPastResponse> ToResponse(
    const history::v1::ListPastRequest& request, const ServicePart& part,
    const storage::PastPage& page) {
  history::v1::ListPastResponse response;
  response.set_revision(page.revision);
  std::string last;
  for (const storage::PastRow& row : page.rows) {
    if (response.ByteSizeLong() >= rpc::kMaxPageBytes) break;
    last = row.key;
    const auto resource = part.history.parse(row.kind, *row.bytes);
    if (resource == nullptr) return Unreadable(row.revision);
    auto& out = *response.add_resources();
    out.mutable_resource()->PackFrom(*resource);
    out.set_revision(row.revision);
  }
  const bool all = static_cast<size_t>(response.resources_size()) == page.rows.size();
  if (page.more || !all) {
    const std::string& after = all ? page.last : last;
    response.set_next_page_token(rpc::PageToken(
        request, absl::StrCat(RevisionToken(page.revision, page.incarnation), " ", after)));
  }
  return response;
}

absl::StatusOr<history::v1::GetPastResponse> ToPast(const ServicePart& part, const ChangeLog& log) {
  const LoggedChange& change = log.changes.front();
  const auto resource = part.history.parse(log.kind, *change.bytes);
  if (resource == nullptr) return Unreadable(change.revision);
  history::v1::GetPastResponse past;
  past.mutable_resource()->PackFrom(*resource);
  past.set_revision(change.revision);
  if (change.commit_time != absl::UnixEpoch())
    SetTimestamp(change.commit_time, past.mutable_change_time());
  Fill(change.author, *past.mutable_author());
  return past;
}

}  // namespace muster::musterd
