#include "storage/postgres/writable_host.h"

#include <libpq-fe.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace muster::storage {
namespace {

struct FreeOptions {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};

// The values of `conninfo` by keyword; none if libpq does not understand it.
std::map<std::string, std::string> Words(const std::string& conninfo) {
  const std::unique_ptr<PQconninfoOption, FreeOptions> options(
      PQconninfoParse(conninfo.c_str(), nullptr));
  std::map<std::string, std::string> words;
  for (const PQconninfoOption* at = options.get(); at != nullptr && at->keyword != nullptr; ++at) {
    if (at->val != nullptr) words.emplace(at->keyword, at->val);
  }
  return words;
}

// One of the parallel lists (hosts, addresses, ports), with its member `chosen` first.
std::string Reordered(const std::string& list, size_t chosen) {
  std::vector<std::string> members = absl::StrSplit(list, ',');
  // One port stands for all.
  if (chosen < members.size())
    std::rotate(members.begin(), members.begin() + static_cast<long>(chosen),
                members.begin() + static_cast<long>(chosen) + 1);
  return absl::StrJoin(members, ",");
}

std::string Quoted(const std::string& value) {
  return absl::StrCat("'", absl::StrReplaceAll(value, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
}

}  // namespace

std::string WithHostFirst(const std::string& conninfo, const DatabaseHost& first) {
  const std::map<std::string, std::string> words = Words(conninfo);
  // libpq calls a member by its name, or by its address where it has no name.
  const auto named = words.find(words.contains("host") ? "host" : "hostaddr");
  if (named == words.end()) return conninfo;
  const std::vector<std::string> hosts = absl::StrSplit(named->second, ',');
  const auto port = words.find("port");
  std::vector<std::string> ports;
  if (port != words.end()) ports = absl::StrSplit(port->second, ',');
  for (size_t i = 1; i < hosts.size(); ++i) {
    if (hosts[i] != first.host) continue;
    if (ports.size() == hosts.size() && ports[i] != first.port) continue;
    std::string reordered = conninfo;
    // Of a word that is said twice the last holds.
    for (const char* list : {"host", "hostaddr", "port"}) {
      const auto said = words.find(list);
      if (said != words.end())
        absl::StrAppend(&reordered, " ", list, "=", Quoted(Reordered(said->second, i)));
    }
    return reordered;
  }
  return conninfo;
}

}  // namespace muster::storage
