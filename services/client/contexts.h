#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

// Servers by name: a file of the user's says how each is reached. `musterctl config` writes it.
namespace muster::client {

// A setting of a context: its key in the file, and musterctl's flag of the same meaning.
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

  // The value of `key`; empty: it is not set.
  std::string Get(const std::string& key) const;
};

struct Contexts {
  std::string current = {};  // its name; empty: none; for musterctl, several separated by commas
  std::vector<Context> all = {};

  const Context* Find(absl::string_view name) const;
  Context* Find(absl::string_view name);
};

// What a variable of the environment says; nullopt: it is not there.
using Environment = std::function<std::optional<std::string>(const std::string& variable)>;

// $MUSTER_CONFIG, or muster/config.yaml below $XDG_CONFIG_HOME or ~/.config. Empty: there is no
// such place.
std::string ConfigPath(const Environment& environment);

// Reads the file; without one there are none. INVALID_ARGUMENT names file and line, or says why it
// cannot be read. Relative paths in it are relative to its folder.
absl::StatusOr<Contexts> ReadContexts(const std::string& path);
// Replaces the file as a whole, readable by its owner alone. UNAVAILABLE: it cannot be written.
absl::Status WriteContexts(const std::string& path, const Contexts& contexts);

// Whoever changes the file holds it from the read to the write: changes made at the same time, also
// by other processes, wait for each other, and none is lost. `PATH.lock` beside the file stays.
// Where that cannot be made, or PATH is no file, such as /dev/null, nothing waits; contexts cannot
// be written there either.
class ContextsLock {
 public:
  explicit ContextsLock(const std::string& path);
  ~ContextsLock();
  ContextsLock(const ContextsLock&) = delete;
  ContextsLock& operator=(const ContextsLock&) = delete;

 private:
  int file_ = -1;
};

}  // namespace muster::client
