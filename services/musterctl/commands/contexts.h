#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/musterctl/commands/args.h"

// Servers by name, in a file of the user's: what each is reached by stands there once.
namespace muster::musterctl {

// What a context may say: its key in the file, and the flag, and so the environment variable, that it stands for.
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
};

struct Contexts {
  std::string current = {};  // name; empty: none
  std::vector<Context> all = {};

  Context* Find(absl::string_view name);
};

// $MUSTER_CONFIG, or muster/config.yaml below $XDG_CONFIG_HOME or ~/.config. Empty: there is no such place.
std::string ConfigPath(const Environment& environment);

// None where there is no file. INVALID_ARGUMENT, naming file and line.
absl::StatusOr<Contexts> ReadContexts(const std::string& path);
// Puts it in place as a whole, for its owner alone. UNAVAILABLE: it cannot be written.
absl::Status WriteContexts(const std::string& path, const Contexts& contexts);

// `environment`, and what the context says: of `--context` instead of what the environment says, of MUSTER_CONTEXT or the
// file's current one where that says nothing. INVALID_ARGUMENT: there is no such context, or the file is bad.
absl::StatusOr<Environment> WithContext(const CommandLine& line, const Environment& environment);

}  // namespace muster::musterctl
