#include "services/kubernetes/api/kubeconfig.h"

#include <yaml-cpp/yaml.h>

#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/common/read_file.h"
#include "services/common/status_macros.h"
#include "services/common/text_fault.h"
#include "services/kubernetes/api/server_address.h"

namespace muster::kubernetes {
namespace {

// A mapping of a kubeconfig, with its place for messages.
class Section {
 public:
  Section(YAML::Node node, std::string place) : node_(std::move(node)), place_(std::move(place)) {}

  absl::Status Refuse(absl::string_view field, absl::string_view why) const {
    return absl::InvalidArgumentError(absl::StrCat(place_, field, ": ", why));
  }
  bool Has(const char* field) const {
    const YAML::Node value = node_[field];
    return value.IsDefined() && !value.IsNull();
  }
  // Empty when it is absent.
  absl::StatusOr<std::string> Text(const char* field) const {
    if (!Has(field)) return "";
    if (!node_[field].IsScalar()) return Refuse(field, "expected a string");
    return node_[field].Scalar();
  }
  absl::StatusOr<bool> Flag(const char* field) const {
    ASSIGN_OR_RETURN(const std::string text, Text(field));
    if (text.empty() || text == "false") return false;
    if (text == "true") return true;
    return Refuse(field, "expected true or false");
  }
  // Empty when it is absent.
  absl::StatusOr<std::vector<std::string>> Texts(const char* field) const {
    std::vector<std::string> texts;
    if (!Has(field)) return texts;
    if (!node_[field].IsSequence()) return Refuse(field, "expected a list of strings");
    for (const YAML::Node& each : node_[field]) {
      if (!each.IsScalar()) return Refuse(field, "expected a list of strings");
      texts.push_back(each.Scalar());
    }
    return texts;
  }
  // Puts this section's place before a message that begins with a field.
  absl::Status Place(const absl::Status& status) const {
    return status.ok() ? status
                       : absl::Status(status.code(), absl::StrCat(place_, status.message()));
  }
  // The text of `<field>-data` in base64, or else of the file that `field` names, whose path it is
  // then.
  absl::StatusOr<std::string> Content(const char* field, absl::string_view folder,
                                      std::string& path) const;
  // The entry of list `list` with this name, its mapping `member`.
  absl::StatusOr<Section> Named(const char* list, const char* member, absl::string_view name) const;

 private:
  YAML::Node node_;
  std::string place_;  // what stands before a field: `kubeconfig <file>: clusters["a"].cluster.`
};

std::string Resolve(absl::string_view folder, absl::string_view file) {
  return absl::StartsWith(file, "/") ? std::string(file) : absl::StrCat(folder, "/", file);
}

absl::StatusOr<std::string> Section::Content(const char* field, absl::string_view folder,
                                             std::string& path) const {
  const std::string data_field = absl::StrCat(field, "-data");
  ASSIGN_OR_RETURN(const std::string data, Text(data_field.c_str()));
  if (!data.empty()) {
    std::string content;
    if (!absl::Base64Unescape(data, &content)) return Refuse(data_field, "expected base64");
    return content;
  }
  ASSIGN_OR_RETURN(const std::string file, Text(field));
  if (file.empty()) return "";
  path = Resolve(folder, file);
  std::optional<std::string> content = ReadFile(path);
  if (!content || content->empty()) {
    return Refuse(field, absl::StrCat("nothing could be read from ", path));
  }
  return *std::move(content);
}

absl::StatusOr<Section> Section::Named(const char* list, const char* member,
                                       absl::string_view name) const {
  const std::string entry = absl::StrCat(list, "[\"", name, "\"]");
  const YAML::Node all = node_[list];
  if (all.IsDefined() && !all.IsNull() && !all.IsSequence()) return Refuse(list, "expected a list");
  for (const YAML::Node& each : all) {
    if (!each.IsMap()) return Refuse(list, "expected a list of mappings");
    const Section section(each, absl::StrCat(place_, entry, "."));
    ASSIGN_OR_RETURN(const std::string its_name, section.Text("name"));
    if (its_name != name) continue;
    const YAML::Node value = each[member];
    if (!value.IsDefined() || !value.IsMap()) return section.Refuse(member, "expected a mapping");
    return Section(value, absl::StrCat(place_, entry, ".", member, "."));
  }
  return Refuse(entry, "there is no such entry");
}

absl::Status ReadCluster(const Section& cluster, absl::string_view folder, Endpoint& endpoint) {
  if (cluster.Has("proxy-url")) return cluster.Refuse("proxy-url", "proxies are not supported");
  ASSIGN_OR_RETURN(endpoint.server, cluster.Text("server"));
  if (endpoint.server.empty()) return cluster.Refuse("server", "is missing");
  ASSIGN_OR_RETURN(
      endpoint.certificate_authority,
      cluster.Content("certificate-authority", folder, endpoint.certificate_authority_file));
  ASSIGN_OR_RETURN(endpoint.server_name, cluster.Text("tls-server-name"));
  ASSIGN_OR_RETURN(endpoint.skip_server_verification, cluster.Flag("insecure-skip-tls-verify"));
  if (endpoint.skip_server_verification && !endpoint.certificate_authority.empty()) {
    return cluster.Refuse("insecure-skip-tls-verify",
                          "contradicts certificate-authority; expected one of them");
  }
  return absl::OkStatus();
}

absl::Status ReadImpersonation(const Section& user, Endpoint& endpoint) {
  ASSIGN_OR_RETURN(endpoint.as, user.Text("as"));
  if (user.Has("as") && endpoint.as.empty())
    return user.Refuse("as", "is empty; expected a user's name, or no such field");
  ASSIGN_OR_RETURN(endpoint.as_groups, user.Texts("as-groups"));
  return user.Place(ValidateImpersonation(endpoint, "as-groups"));
}

absl::Status ReadUser(const Section& user, absl::string_view folder, Endpoint& endpoint) {
  // Left out, each of these would make us somebody else than was meant.
  for (const char* field :
       {"exec", "auth-provider", "username", "password", "as-uid", "as-user-extra"}) {
    if (user.Has(field)) {
      return user.Refuse(
          field,
          "is not supported; expected token, tokenFile or client-certificate and client-key, as "
          "and as-groups");
    }
  }
  ASSIGN_OR_RETURN(endpoint.client_certificate,
                   user.Content("client-certificate", folder, endpoint.client_certificate_file));
  ASSIGN_OR_RETURN(endpoint.client_key,
                   user.Content("client-key", folder, endpoint.client_key_file));
  if (endpoint.client_certificate.empty() != endpoint.client_key.empty()) {
    return user.Refuse(endpoint.client_key.empty() ? "client-key" : "client-certificate",
                       "is missing; expected both or neither");
  }
  ASSIGN_OR_RETURN(endpoint.token, user.Text("token"));
  ASSIGN_OR_RETURN(const std::string token_file, user.Text("tokenFile"));
  if (!token_file.empty()) endpoint.token_file = Resolve(folder, token_file);
  return ReadImpersonation(user, endpoint);
}

absl::StatusOr<Endpoint> ReadContext(const Section& top, absl::string_view folder,
                                     absl::string_view context) {
  std::string name(context);
  if (name.empty()) {
    ASSIGN_OR_RETURN(name, top.Text("current-context"));
  }
  if (name.empty()) return top.Refuse("current-context", "is missing, and no context was named");
  ASSIGN_OR_RETURN(const Section chosen, top.Named("contexts", "context", name));
  ASSIGN_OR_RETURN(const std::string cluster_name, chosen.Text("cluster"));
  if (cluster_name.empty()) return chosen.Refuse("cluster", "is missing");
  ASSIGN_OR_RETURN(const std::string user_name, chosen.Text("user"));
  Endpoint endpoint;
  ASSIGN_OR_RETURN(const Section cluster, top.Named("clusters", "cluster", cluster_name));
  RETURN_IF_ERROR(ReadCluster(cluster, folder, endpoint));
  if (user_name.empty()) return endpoint;
  ASSIGN_OR_RETURN(const Section user, top.Named("users", "user", user_name));
  RETURN_IF_ERROR(ReadUser(user, folder, endpoint));
  return endpoint;
}

}  // namespace

absl::StatusOr<Endpoint> LoadKubeconfig(absl::string_view file, absl::string_view context) {
  const std::string path(file);
  const std::optional<std::string> text = ReadFile(path);
  if (!text) return absl::NotFoundError(absl::StrCat("kubeconfig ", path, ": cannot be read"));
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
  const std::string place = absl::StrCat("kubeconfig ", path, ": ");
  if (const auto fault = FindTextFault(*text))
    return absl::InvalidArgumentError(absl::StrCat(place, "line ", fault->line, ": ", fault->what));
  try {
    const YAML::Node top = YAML::Load(*text);
    if (!top.IsMap()) return absl::InvalidArgumentError(absl::StrCat(place, "expected a mapping"));
    return ReadContext(Section(top, place), folder, context);
  } catch (const YAML::Exception& exception) {
    return absl::InvalidArgumentError(
        absl::StrCat(place, "line ", exception.mark.line + 1, ": ", exception.msg));
  }
}

absl::StatusOr<Endpoint> InCluster(absl::string_view folder) {
  const char* const host = std::getenv("KUBERNETES_SERVICE_HOST");
  const char* const port = std::getenv("KUBERNETES_SERVICE_PORT");
  const auto refuse = [](absl::string_view what) {
    return absl::FailedPreconditionError(absl::StrCat("not in a Pod: ", what));
  };
  if (host == nullptr || *host == '\0') return refuse("KUBERNETES_SERVICE_HOST is not set");
  if (port == nullptr || *port == '\0') return refuse("KUBERNETES_SERVICE_PORT is not set");
  Endpoint endpoint;
  endpoint.token_file = absl::StrCat(folder, "/token");
  const std::string authority = absl::StrCat(folder, "/ca.crt");
  for (const std::string& path : {endpoint.token_file, authority}) {
    const std::optional<std::string> text = ReadFile(path);
    if (!text || absl::StripAsciiWhitespace(*text).empty()) {
      return refuse(absl::StrCat("nothing could be read from ", path));
    }
    if (path == authority) endpoint.certificate_authority = *text;
  }
  endpoint.certificate_authority_file = authority;
  const bool v6 = absl::StrContains(host, ':') && *host != '[';
  endpoint.server = absl::StrCat("https://", v6 ? "[" : "", host, v6 ? "]" : "", ":", port);
  return endpoint;
}

}  // namespace muster::kubernetes
