#pragma once

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/child.h"

// Where the stubs are, and how a program is run that has nothing else.
namespace muster::testing {

inline std::string Wheel() {
  return absl::StrCat(MUSTER_STUBS "/python/muster_api-", MUSTER_VERSION, "-py3-none-any.whl");
}

// With these variables in its environment beside PATH and HOME, and no others.
inline Finished RunAlone(const std::vector<std::string>& environment,
                         const std::vector<std::string>& command) {
  std::vector<std::string> words = {"/usr/bin/env", "-i", "PATH=/usr/bin:/bin",
                                    "HOME=/nonexistent"};
  words.insert(words.end(), environment.begin(), environment.end());
  words.insert(words.end(), command.begin(), command.end());
  return RunProgram(words);
}

// The Go compiler, as Debian's packages alone make it work.
inline Finished RunGo(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "/usr/bin/go");
  return RunAlone({"GO111MODULE=off", "GOFLAGS=-p=1", "GOCACHE=" MUSTER_GO_CACHE,
                   "GOPATH=" MUSTER_STUBS "/go:/usr/share/gocode"},
                  arguments);
}

}  // namespace muster::testing
