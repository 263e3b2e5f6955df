#include "services/common/kept_request.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "services/common/error.h"

namespace muster {

void ValidateRequestId(absl::string_view request_id, error::Faults& faults) {
  const bool printable = std::all_of(request_id.begin(), request_id.end(), [](char c) {
    return absl::ascii_isgraph(static_cast<unsigned char>(c));
  });
  faults.Require(printable && request_id.size() <= kMaxRequestIdBytes, "request_id",
                 absl::StrCat("must be empty or 1 to ", kMaxRequestIdBytes,
                              " printable ASCII characters without spaces."));
}

absl::Status CheckKeepPolicy(const KeepPolicy& policy) {
  if (policy.keep >= kMinRequestKeep) return absl::OkStatus();
  return error::InvalidField(
      "request_keep", absl::StrCat("must be at least ", absl::FormatDuration(kMinRequestKeep),
                                   ", longer than anybody repeats a call."));
}

size_t BytesOf(const KeptRequest& kept) {
  return kKeptRowBytes + kept.request_id.size() + kept.method.size() + kept.digest.size() +
         kept.answer.size() + kept.account.size();
}

void KeptByTime::Reindex(const KeptRequest* before, const KeptRequest* after) {
  if (before != nullptr) {
    all_.Remove(*before);
    const auto own = by_account_.find(before->account);
    if (own != by_account_.end()) {
      own->second.Remove(*before);
      if (own->second.ids.empty()) by_account_.erase(own);
    }
  }
  if (after == nullptr) return;
  all_.Add(*after);
  if (!after->account.empty()) by_account_[after->account].Add(*after);
}

const KeptByTime::Kept* KeptByTime::Of(const std::string& account) const {
  const auto own = by_account_.find(account);
  return own == by_account_.end() ? nullptr : &own->second;
}

absl::Status RequestIdsExhausted(absl::Duration retry_after) {
  return error::Make(absl::StatusCode::kResourceExhausted,
                     absl::StrCat("Too many requests with a request_id within ",
                                  absl::FormatDuration(kMinRequestKeep),
                                  ": no room to keep another answer. Nothing was done."),
                     {.reason = "REQUEST_IDS_EXHAUSTED", .retry_after = retry_after});
}

absl::Status CheckSameRequest(const KeptRequest& kept, absl::string_view method,
                              absl::string_view digest) {
  if (kept.method == method && kept.digest == digest) return absl::OkStatus();
  return error::Make(absl::StatusCode::kInvalidArgument,
                     absl::StrCat("request_id ", kept.request_id,
                                  " was given to another request before: give each its own."),
                     {.reason = "REQUEST_ID_REUSED",
                      .metadata = {{"request_id", kept.request_id}, {"method", kept.method}},
                      .fields = {{"request_id", "was given to another request before."}}});
}

}  // namespace muster
