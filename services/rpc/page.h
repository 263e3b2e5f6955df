#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/common/status_macros.h"

// Keyset paging as in AIP-158, for requests with `page_size` and `page_token`.
//
//   ASSIGN_OR_RETURN(const rpc::Page page, rpc::ReadPage(request));
//   auto it = page.after.empty() ? rows.begin() : rows.upper_bound(page.after);
//   ... at most page.size rows; when there are more:
//   response.set_next_page_token(rpc::PageToken(request, last_key));
//
// A token holds the last key, and a checksum over it and all other fields of the request but
// page_size. It is opaque, not secret: whoever makes one up sees what he could have listed anyway.
namespace muster::rpc {

struct Page {
  int size = 0;            // most rows to return, 1 to kMaxPageSize
  std::string after = {};  // return rows with greater keys; empty: from the first
};

// INVALID_ARGUMENT page_size: negative.
absl::StatusOr<int> PageSize(int page_size);
// INVALID_ARGUMENT page_token: not made by PageToken, or for another request.
absl::StatusOr<std::string> ParsePageToken(const google::protobuf::Message& request,
                                           absl::string_view token);
// The token of the page that begins after `last_key`.
std::string PageToken(const google::protobuf::Message& request, absl::string_view last_key);

template <class Request>
absl::StatusOr<Page> ReadPage(const Request& request) {
  Page page;
  ASSIGN_OR_RETURN(page.size, PageSize(request.page_size()));
  ASSIGN_OR_RETURN(page.after, ParsePageToken(request, request.page_token()));
  return page;
}

}  // namespace muster::rpc
