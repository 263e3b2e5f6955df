#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

// Servers by name, in a file of the user's: what each is reached by stands there once. `musterctl config` writes it.
namespace muster::client {

// What a context may say: its key in the file, and musterctl's flag of that meaning.
struct ContextKey {
  const char* key;
  const char* flag;
  bool is_file = false;
};
inline constexpr ContextKey kContextKeys[] = {
    {"server", "server"},
    {"operatorServer", "operator-server"},
    {"organization", "organization"},
    {"cluster", "cluster"},
    {"certificateAuthority", "certificate-authority", true},
    {"clientCertificate", "client-certificate", true},
    {"clientKey", "client-key", true},
    {"tokenFile", "token-file", true},
};

struct Context {
  std::string name = {};
  std::map<std::string, std::string> values = {};  // by key of kContextKeys

  // Empty: it does not say.
  std::string Get(const std::string& key) const;
};

struct Contexts {
  std::string current = {};  // name; empty: none; of musterctl several, with commas between
  std::vector<Context> all = {};

  const Context* Find(absl::string_view name) const;
  Context* Find(absl::string_view name);
};

// What a variable of the environment says; nullopt: it is not there.
using Environment = std::function<std::optional<std::string>(const std::string& variable)>;

// $MUSTER_CONFIG, or muster/config.yaml below $XDG_CONFIG_HOME or ~/.config. Empty: there is no such place.
std::string ConfigPath(const Environment& environment);

// None where there is no file. INVALID_ARGUMENT, naming file and line. Files that contexts name are meant from where it is.
absl::StatusOr<Contexts> ReadContexts(const std::string& path);
// Puts it in place as a whole, for its owner alone. UNAVAILABLE: it cannot be written.
absl::Status WriteContexts(const std::string& path, const Contexts& contexts);

}  // namespace muster::client
