#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/common/count_text.h"
#include "services/common/quota_name.h"
#include "services/common/status_macros.h"
#include "services/musterctl/client/errors.h"
#include "services/musterctl/commands/output.h"
#include "services/musterctl/commands/references.h"

namespace muster::musterctl {
namespace {

// The uid of a pool that is not there.
constexpr char kNewPool[] = "a-new-pool";

std::string Text(const quota::v1::HoldingAnswer& answer) {
  if (answer.verdict() == quota::v1::HoldingAnswer::VERDICT_NOT_SET) return "it is not set";
  return absl::StrCat(answer.held(), " of ", answer.limit(), " held, ", answer.remaining(),
                      " remain");
}

void PrintHolders(const quota::v1::HoldingAnswer& answer, Session& session) {
  if (answer.holders().empty()) return;
  std::vector<std::vector<std::string>> rows;
  for (const auto& holder : answer.holders())
    rows.push_back({absl::StrCat(holder.nodes()), holder.pool_uid(), holder.pool()});
  PrintTable({"NODES", "UID", "NODEPOOL"}, rows, false, session);
  if (answer.other_holders() > 0) {
    session.env.out << absl::StrCat("and ", answer.other_holders(), " more with ",
                                    CountText(answer.other_nodes(), "Node"), "\n");
  }
}

}  // namespace

absl::Status Check(Session& session) {
  ASSIGN_OR_RETURN(const ResourceId id,
                   ReadOne(session.line.arguments, {Kind::kQuota}, "check: quota NAME"));
  if (!session.line.Has("nodes")) return WrongUse("check: --nodes is missing");
  const absl::StatusOr<int64_t> nodes = ParseCount("--nodes", session.line.Get("nodes"));
  if (!nodes.ok()) return WrongUse(nodes.status().message());
  quota::v1::CheckQuotaRequest request;
  const std::string quota =
      absl::StrContains(id.id, "/") ? id.id : QuotaNameOf(session.scope.organization, id.id);
  request.add_holdings()->set_name(absl::StrCat(
      quota, "/holdings/", session.line.Has("pool-uid") ? session.line.Get("pool-uid") : kNewPool));
  request.mutable_holdings(0)->set_nodes(*nodes);
  const auto response = session.api.CheckQuota(request);
  if (!response.ok()) {
    return RenameFields(response.status(), [](const std::string& field) {
      return field == "holdings[0].nodes"  ? "--nodes"
             : field == "holdings[0].name" ? "NAME or --pool-uid"
                                           : field;
    });
  }
  if (response->results_size() == 1 && response->results(0).has_error()) {
    const auto& error = response->results(0).error();
    return absl::Status(static_cast<absl::StatusCode>(error.code()), error.message());
  }
  if (response->results_size() != 1 || !response->results(0).has_answer())
    return absl::InternalError("the server did not answer the question");
  const quota::v1::HoldingAnswer& answer = response->results(0).answer();
  // What does not grow is granted, also of a quota that it is beyond.
  const bool within = *nodes == 0 || answer.verdict() == quota::v1::HoldingAnswer::VERDICT_UNDER;
  const bool fits = within && answer.nodes() == *nodes;
  session.env.out << Label(id) << ": " << CountText(*nodes, "Node")
                  << (*nodes == 1 ? (fits ? " fits; then " : " does not fit: ")
                                  : (fits ? " fit; then " : " do not fit: "))
                  << Text(answer) << "\n";
  PrintHolders(answer, session);
  if (fits) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(CountText(*nodes, "Node"), *nodes == 1 ? " is" : " are", " not within quota"));
}

}  // namespace muster::musterctl
