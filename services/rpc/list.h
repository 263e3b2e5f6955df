#pragma once

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "services/rpc/page.h"

namespace muster::rpc {

// One page of the rows of an ordered map whose keys begin with `prefix`: calls `emit(entry)` for at
// most page.size entries for which `keep(entry)` holds. Returns the token of the next page, empty
// when there are no more.
template <class Map, class Request, class Keep, class Emit>
std::string ListPage(const Map& rows, const Request& request, const Page& page,
                     absl::string_view prefix, Keep keep, Emit emit) {
  auto it = page.after.empty() ? rows.lower_bound(prefix) : rows.upper_bound(page.after);
  int left = page.size;
  std::string last;
  for (; it != rows.end() && absl::StartsWith(it->first, prefix); ++it) {
    if (!keep(*it)) continue;
    if (left-- == 0) return PageToken(request, last);
    emit(*it);
    last = it->first;
  }
  return "";
}

}  // namespace muster::rpc
