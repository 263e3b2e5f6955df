#include "services/client/options.h"

#include <cstdlib>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/client/contexts.h"
#include "services/client/credentials.h"
#include "services/common/error.h"
#include "services/common/kept_request.h"
#include "services/common/sha256.h"
#include "services/common/status_macros.h"

namespace muster::client {
namespace {

std::optional<std::string> ProcessEnvironment(const std::string& variable) {
  const char* value = std::getenv(variable.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::string WithEnd(const std::string& id, const std::string& end) {
  constexpr size_t kDigits = 32;
  const bool fits = id.size() + end.size() <= kMaxRequestIdBytes;
  return absl::StrCat(fits ? id : Sha256Hex(id).substr(0, kDigits), end);
}

}  // namespace

std::string NumberedId(const std::string& id, int order, int number) {
  if (order == 0) return number == 1 ? id : WithEnd(id, absl::StrCat(".", number));
  if (number > 1) return WithEnd(id, absl::StrCat(".", order, ".", number));
  return order == 1 ? id : WithEnd(id, absl::StrCat(".", order));
}

absl::StatusOr<Options> OptionsFromContext(const std::string& name) {
  ASSIGN_OR_RETURN(const Contexts contexts, ReadContexts(ConfigPath(ProcessEnvironment)));
  const std::string said = ProcessEnvironment("MUSTER_CONTEXT").value_or("");
  const std::string& asked = !name.empty() ? name : !said.empty() ? said : contexts.current;
  if (asked.empty()) return absl::InvalidArgumentError("no context is named, and none is current.");
  const Context* context = contexts.Find(asked);
  if (context == nullptr && absl::StrContains(asked, ","))
    return absl::InvalidArgumentError(
        absl::StrCat("\"", asked, "\" are several contexts: a client is of one of them."));
  if (context == nullptr)
    return absl::InvalidArgumentError(absl::StrCat("there is no context \"", asked, "\"."));
  Options options{.server = context->Get("server")};
  if (options.server.empty())
    return error::InvalidField("server", absl::StrCat("context \"", asked, "\" names none."));
  ASSIGN_OR_RETURN(options.credentials,
                   ReadCredentials({.authority = context->Get("certificateAuthority"),
                                    .certificate = context->Get("clientCertificate"),
                                    .key = context->Get("clientKey"),
                                    .token = context->Get("tokenFile")}));
  return options;
}

}  // namespace muster::client
