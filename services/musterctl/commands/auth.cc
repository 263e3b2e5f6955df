#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "services/common/status_macros.h"
#include "services/musterctl/commands/output.h"

// What the server's policy lets the caller do.
namespace muster::musterctl {
namespace {

using access::v1::Caller;

std::string VerbName(const Caller::Grant& grant) {
  absl::string_view name = type::v1::Access::Verb_Name(grant.verb());
  absl::ConsumePrefix(&name, "VERB_");
  return absl::AsciiStrToLower(name);
}

std::string ScopeOf(const Caller::Grant& grant) {
  if (grant.everywhere()) return "everywhere";
  std::vector<std::string> parts;
  const auto add = [&](absl::string_view what, const auto& ids) {
    if (!ids.empty()) parts.push_back(absl::StrCat(what, " ", absl::StrJoin(ids, ", ")));
  };
  add("organizations", grant.organizations());
  add("clusters", grant.clusters());
  add("zones", grant.zones());
  return absl::StrJoin(parts, "; ");
}

absl::Status WhoAmI(Session& session) {
  ASSIGN_OR_RETURN(const access::v1::GetCallerResponse answer, session.api.GetCaller());
  const Caller& caller = answer.caller();
  session.env.out << caller.principal() << "\n";
  std::vector<std::vector<std::string>> rows;
  for (const Caller::Grant& grant : caller.grants())
    rows.push_back({VerbName(grant), ScopeOf(grant)});
  if (rows.empty()) {
    session.env.out << "No role: the server's policy lets you do nothing.\n";
  } else {
    PrintTable({"MAY", "WHERE"}, rows, false, session);
  }
  return absl::OkStatus();
}

absl::Status CanI(Session& session, const std::string& method, const std::string& resource) {
  access::v1::CheckAccessRequest request;
  request.set_method(method);
  request.set_resource(resource);
  ASSIGN_OR_RETURN(const auto answer, session.api.CheckAccess(request));
  session.env.out << (answer.allowed() ? "yes\n" : "no\n");
  return answer.allowed() ? absl::OkStatus() : absl::PermissionDeniedError(answer.reason());
}

}  // namespace

absl::Status Auth(Session& session) {
  const std::vector<std::string>& words = session.line.arguments;
  if (words == std::vector<std::string>{"whoami"}) return WhoAmI(session);
  if ((words.size() == 2 || words.size() == 3) && words[0] == "can-i")
    return CanI(session, words[1], words.size() == 3 ? words[2] : "");
  return WrongUse("auth: say whoami, or can-i METHOD [RESOURCE]");
}

}  // namespace muster::musterctl
