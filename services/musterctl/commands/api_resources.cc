#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/common/build_info.h"
#include "services/common/kubernetes_names.h"
#include "services/common/status_macros.h"
#include "services/musterctl/commands/commands.h"
#include "services/musterctl/commands/editing.h"
#include "services/musterctl/commands/output.h"

// What there is to be asked for, and who answers.
namespace muster::musterctl {
namespace {

absl::string_view WhereOf(Kind kind) {
  if (kind <= Kind::kEvent) return "cluster";
  return kind <= Kind::kQuota ? "organization" : "everywhere";
}

// As manifests and -o json call it.
std::string ObjectName(Kind kind) {
  constexpr const char* kNames[] = {
      "NodePool",     "Node",    "Event", "Cluster", "Holding",           "Quota",      "Zone",
      "InstanceType", "Machine", "Claim", "Release", "PoolConfiguration", "NodeProfile"};
  return kNames[static_cast<size_t>(kind)];
}

std::string VerbsOf(Kind kind) {
  std::vector<std::string> verbs = {"get", "list", "watch"};
  const absl::Span<const Kind> written = WrittenKinds();
  if (std::find(written.begin(), written.end(), kind) != written.end()) {
    verbs.insert(verbs.end(), {"apply", "patch"});
  } else if (kind == Kind::kRelease) {
    verbs.emplace_back("apply");
  }
  const absl::Span<const Kind> deleted = DeletedKinds();
  if (std::find(deleted.begin(), deleted.end(), kind) != deleted.end())
    verbs.emplace_back("delete");
  return absl::StrJoin(verbs, ",");
}

}  // namespace

absl::Status ApiResources(Session& session) {
  const CommandLine& line = session.line;
  const std::string output = line.Get("output");
  if (!line.arguments.empty()) return WrongUse("api-resources: no argument");
  if (!output.empty() && output != "wide" && output != "name")
    return WrongUse("api-resources: --output may be wide or name");
  const bool wide = output == "wide";
  std::vector<std::string> headers = {"NAME", "SHORTNAMES", "APIVERSION", "BELONGS TO", "KIND"};
  if (wide) headers.emplace_back("VERBS");
  std::vector<std::vector<std::string>> rows;
  for (const Kind kind : AllKinds()) {
    if (output == "name") session.env.out << KindPlural(kind) << "\n";
    rows.push_back({std::string(KindPlural(kind)), std::string(KindBrief(kind)),
                    kind == Kind::kNodePool ? kNodePoolApiVersion : "muster/v1",
                    std::string(WhereOf(kind)), ObjectName(kind)});
    if (wide) rows.back().push_back(VerbsOf(kind));
  }
  if (output != "name") PrintTable(headers, rows, wide, session);
  return absl::OkStatus();
}

absl::Status Version(Session& session) {
  std::ostream& out = session.env.out;
  out << "musterctl " << build_info::kVersion << " (" << build_info::kCommit << ")" << std::endl;
  if (session.line.Has("client")) return absl::OkStatus();
  ASSIGN_OR_RETURN(const access::v1::GetCallerResponse answer, session.api.GetCaller());
  const access::v1::Server& server = answer.server();
  out << "server " << session.line.Get("server") << " "
      << (server.version().empty() ? "does not tell its version"
                                   : absl::StrCat(server.version(), " (", server.commit(), ")"))
      << "\n";
  return absl::OkStatus();
}

}  // namespace muster::musterctl
