#include "services/musterctl/commands/for_each.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/musterctl/client/errors.h"
#include "services/musterctl/commands/references.h"
#include "services/musterctl/commands/wrong_use.h"

namespace muster::musterctl {
namespace {

// That are named; of more their number is said.
constexpr size_t kNamedLeft = 20;

std::string NameOfLeft(const ResourceId& id) {
  return id.id.empty() ? std::string(KindPlural(id.kind)) : WordsFor(id);
}

}  // namespace

void TellLeft(Session& session, std::vector<std::string> left) {
  if (left.empty()) return;
  const size_t more = left.size() - std::min(left.size(), kNamedLeft);
  left.resize(left.size() - more);
  session.env.err << "note: not tried: " << absl::StrJoin(left, ", ")
                  << (more == 0 ? "" : absl::StrCat(" and ", more, " more")) << "\n";
}

absl::Status ForEach(Session& session, absl::Span<const ResourceId> all,
                     absl::FunctionRef<absl::Status(const ResourceId&)> what) {
  absl::Status last;
  session.order = 0;
  for (const ResourceId& id : all) {
    session.api.BeginOrder(++session.order);
    absl::Status status = what(id);
    if (status.ok()) continue;
    if (!last.ok()) session.env.err << RenderError(last);
    last = std::move(status);
    if (IsWrongUse(last)) break;
    // DEADLINE_EXCEEDED of a wait of ours is none of these: the others may still be done.
    if (!NoneAnswers(last) && !absl::IsUnauthenticated(last)) continue;
    // Where the first was not done, either, it is plain that none was.
    if (session.order > 1) TellLeftBehind(session, all, id, NameOfLeft);
    break;
  }
  return last;
}

}  // namespace muster::musterctl
