#include "services/page/cell_links.h"

#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace muster::page {
namespace {

// Whether it is the URL of a server's root, with no other scheme, query or fragment, which could
// harm the reader.
bool IsRoot(absl::string_view url) {
  for (const absl::string_view scheme : {"http://", "https://"}) {
    if (!absl::StartsWith(url, scheme)) continue;
    const absl::string_view host = url.substr(scheme.size());
    const size_t end = host.find_first_of("/?# \"'<>\\");
    return end != 0 && (end == absl::string_view::npos ? !host.empty() : host.substr(end) == "/");
  }
  return false;
}

}  // namespace

absl::StatusOr<std::vector<CellLink>> ParseCellLinks(absl::Span<const std::string> words) {
  std::vector<CellLink> links;
  std::set<std::string> names;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    CellLink link{.cell = word.substr(0, equals)};
    if (equals != std::string::npos) link.url = word.substr(equals + 1);
    if (link.cell.empty() || !IsRoot(link.url)) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", word, "\" is not as west=http://muster.west.example.org:7605/."));
    }
    if (!names.insert(link.cell).second)
      return absl::InvalidArgumentError(absl::StrCat("\"", link.cell, "\" is there twice."));
    if (!absl::EndsWith(link.url, "/")) link.url.push_back('/');
    links.push_back(std::move(link));
  }
  return links;
}

}  // namespace muster::page
