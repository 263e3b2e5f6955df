#include "services/musterd/check_policy_command.h"

#include <memory>

#include "services/access/policy_file.h"
#include "services/common/status_macros.h"

namespace muster::musterd {

absl::Status RunCheckPolicy(const std::string& file, const std::vector<std::string>& principals,
                            std::ostream& out) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const access::Policy> policy, access::ReadPolicy(file));
  out << file << ": good, " << policy->bindings().size() << " bindings, hash " << policy->hash()
      << "\n";
  for (const std::string& principal : principals) {
    const std::shared_ptr<const access::Rights> rights = policy->RightsOf(principal);
    out << principal << (rights->none() ? ": nothing\n" : ":\n");
    for (const access::Verb verb : access::kVerbs) {
      if (!rights->Of(verb).empty())
        out << "  " << access::VerbName(verb) << ": " << rights->Of(verb).ToString() << "\n";
    }
  }
  return absl::OkStatus();
}

}  // namespace muster::musterd
