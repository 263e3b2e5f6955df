#include "tests/layers/layers.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace muster::layers {
namespace {

namespace fs = std::filesystem;

// What a folder may include beside the standard library, Abseil and itself. Prefixes of include
// paths; $D is the domain.
struct Layer {
  const char* folder;
  const char* rule;
  std::vector<absl::string_view> allowed;
};

// The first that matches a file's folder counts; `$D` in `folder` stands for each domain. A folder
// includes its subfolders.
const std::vector<Layer>& Layers() {
  static const auto& layers = *new std::vector<Layer>{
      {"services/common", "layer 0: nothing but the standard library and Abseil", {}},
      {"services/trace",
       "layer 0: spans; services/common, and the libraries of exporter.cc and client_calls.cc only",
       {"services/common/", "curl/", "grpcpp/", "nlohmann/"}},
      {"services/daemon",
       "layer 0: what a program's main has; services/common and services/trace only",
       {"services/common/", "services/trace/"}},
      {"services/$D/core",
       "layer 1: a core may include services/common and itself only",
       {"services/common/"}},
      {"services/$D/wire",
       "layer 2: wire/ may include services/common, its core and its proto only",
       {"services/common/", "services/$D/core/", "muster/$D/", "muster/type/", "google/protobuf/"}},
      {"services/lifecycle/peers/wire",
       "layer 2: what is said to the other services: lifecycle's core and wire, and proto only",
       {"services/common/", "services/lifecycle/core/", "services/lifecycle/wire/", "muster/",
        "google/protobuf/"}},
      {"storage/postgres",
       "layer 2: storage/postgres may include services/common, services/trace, the shared proto "
       "types "
       "and libpqxx (and libpq below it) only",
       {"services/common/", "services/trace/", "muster/type/", "google/protobuf/", "pqxx/",
        "libpq-fe.h"}},
      {"services/$D/store",
       "layer 2: a store may include services/common, its domain's core, wire and proto, and "
       "storage/postgres only",
       {"services/common/", "services/$D/core/", "services/$D/wire/", "storage/postgres/", "pqxx/",
        "muster/$D/", "muster/type/", "google/protobuf/"}},
      {"services/tls",
       "layer 2: who a program is: services/common, OpenSSL and gRPC only",
       {"services/common/", "openssl/", "grpcpp/"}},
      {"services/rpc/client",
       "layer 2: what every client needs: services/common, services/trace, the limits and errors "
       "of services/rpc, and proto only",
       {"services/common/", "services/trace/", "services/rpc/limits.h", "services/rpc/status.h",
        "muster/", "google/", "grpc/", "grpcpp/"}},
      {"services/client",
       "layer 3: muster::client, for programs outside of this tree: services/common, "
       "services/rpc's "
       "client and errors, services/tls, proto, gRPC and yaml-cpp only",
       {"services/common/", "services/rpc/client/", "services/rpc/status.h", "services/tls/",
        "muster/", "google/", "grpc/", "grpcpp/", "yaml-cpp/"}},
      {"services/access",
       "layer 2: who may do what: services/common, proto and yaml-cpp only",
       {"services/common/", "muster/", "google/protobuf/", "yaml-cpp/"}},
      {"services/history",
       "layer 2: what changed between two messages: proto only",
       {"muster/", "google/protobuf/"}},
      {"services/tokens",
       "layer 2: whom a token names: services/common, the policy's words, libjwt, OpenSSL and JSON "
       "only",
       {"services/common/", "services/access/policy.h", "jwt.h", "openssl/", "nlohmann/"}},
      {"services/rpc",
       "layer 3: services/rpc may include services/common, services/trace, services/access, "
       "services/tls and proto only",
       {"services/common/", "services/trace/", "services/access/", "services/tls/", "muster/",
        "google/", "grpc/", "grpcpp/", "prometheus/"}},
      {"services/lifecycle/peers",
       "layer 4: lifecycle's peers know neither its api nor its reconcile loop",
       {"services/common/", "services/trace/", "services/lifecycle/core/",
        "services/lifecycle/wire/", "services/lifecycle/lane.h", "services/rpc/",
        "storage/postgres/", "muster/", "google/", "grpc/", "grpcpp/"}},
      {"services/lifecycle/reconcile",
       "layer 4: lifecycle's reconcile loop knows nothing of its api",
       {"services/common/", "services/trace/", "services/lifecycle/core/",
        "services/lifecycle/wire/", "services/lifecycle/store/", "services/lifecycle/peers/",
        "services/lifecycle/lane.h", "services/lifecycle/options.h", "services/rpc/",
        "storage/postgres/", "muster/", "google/", "grpc/", "grpcpp/", "prometheus/"}},
      {"services/lifecycle/api",
       "layer 4: lifecycle's api knows nothing of its reconcile loop",
       {"services/access/scope.h", "services/common/", "services/trace/",
        "services/lifecycle/core/", "services/lifecycle/wire/", "services/lifecycle/store/",
        "services/lifecycle/peers/", "services/lifecycle/lane.h", "services/rpc/",
        "storage/postgres/", "muster/", "google/", "grpc/", "grpcpp/", "prometheus/"}},
      {"services/$D",
       "layer 4: a service may include layers 0 to 3 of its own domain, and other domains' proto "
       "only",
       {"services/common/", "services/trace/", "services/$D/", "services/rpc/", "storage/postgres/",
        "muster/", "google/", "grpc/", "grpcpp/", "prometheus/"}},
      {"services/page/core",
       "what the page shows, pure: services/common, the bundles of watches, proto and JSON "
       "only",
       {"services/common/", "services/rpc/client/bundle.h", "muster/", "google/protobuf/",
        "nlohmann/"}},
      {"services/page",
       "a client of the API: proto, services/common, services/trace, services/rpc's client and its "
       "own libraries only",
       {"services/common/", "services/trace/", "services/rpc/client/", "services/rpc/status.h",
        "muster/", "google/", "grpc/", "grpcpp/", "nlohmann/"}},
      {"services/musterd",
       "layer 5: services/musterd composes: everything but libpqxx and the clients",
       {"services/access/", "services/common/", "services/trace/", "services/daemon/",
        "services/history/", "services/rpc/", "services/tls/", "services/tokens/",
        "services/capacity/", "services/configuration/", "services/lifecycle/", "services/page/",
        "services/quota/", "storage/", "muster/", "google/", "grpc/", "grpcpp/", "prometheus/"}},
      {"services/kubernetes/api",
       "the API server's client: services/common and its own libraries only",
       {"services/common/", "curl/", "nlohmann/", "yaml-cpp/"}},
      {"services/kubernetes/core",
       "what the adapter works out, pure: services/common, proto and JSON only",
       {"services/common/", "services/kubernetes/api/json.h", "muster/", "google/protobuf/",
        "nlohmann/"}},
      {"services/kubernetes",
       "a client of the API: proto, services/common, services/trace, services/daemon, services/rpc "
       "(channel, metrics, health) and its own libraries only",
       {"services/common/", "services/trace/", "services/daemon/", "services/rpc/", "services/tls/",
        "muster/", "google/", "grpc/", "grpcpp/", "prometheus/", "nlohmann/"}},
      {"services/musterctl/manifest",
       "musterctl's manifests: proto, services/common and yaml-cpp only",
       {"services/common/", "muster/", "google/protobuf/", "yaml-cpp/"}},
      {"services/musterctl/client",
       "musterctl's calls: proto, services/common, services/client, services/rpc's client, the "
       "page's watches (top follows the same four), its manifests and gRPC only",
       {"services/common/", "services/client/", "services/rpc/client/", "services/rpc/status.h",
        "services/page/page_watches.h", "services/page/watch_sink.h", "services/page/core/source.h",
        "services/musterctl/manifest/", "muster/", "google/", "grpc/", "grpcpp/"}},
      {"services/musterctl/print",
       "musterctl's printers: proto, services/common, its manifests and their libraries only",
       {"services/common/", "services/musterctl/manifest/", "muster/", "google/protobuf/",
        "yaml-cpp/", "nlohmann/"}},
      {"services/musterctl/query",
       "what musterctl's users ask of objects, pure: services/common and JSON only",
       {"services/common/", "nlohmann/"}},
      {"services/musterctl/schema",
       "what fields mean: descriptors when it is made, the kinds when it is asked",
       {"services/musterctl/manifest/kinds.h", "google/protobuf/"}},
      {"services/musterctl/top",
       "what top shows, pure: services/common, the bundles of watches, the page's word for "
       "what a machine is doing, its printers and proto only",
       {"services/common/", "services/rpc/client/bundle.h", "services/page/core/cell.h",
        "services/page/core/source.h", "services/musterctl/print/", "muster/", "google/protobuf/"}},
      {"services/musterctl",
       "a client of the API: proto, services/common, contexts, credentials, when watches go on, "
       "what changes are told by, what the page's watches tell to and its own rooms only",
       {"services/common/", "services/client/contexts.h", "services/client/credentials.h",
        "services/client/request_id.h", "services/client/stream_retries.h", "services/history/",
        "services/page/watch_sink.h", "services/page/core/source.h", "services/musterctl/",
        "muster/", "google/"}},
      {"services/fleetsim",
       "a client of the APIs: proto, services/common, services/trace, services/daemon, "
       "services/rpc's client, services/kubernetes/api and its own libraries only",
       {"services/common/", "services/trace/", "services/daemon/", "services/tls/",
        "services/rpc/client/", "services/kubernetes/api/", "muster/", "google/", "grpc/",
        "grpcpp/", "prometheus/", "nlohmann/"}},
      {"deploy/clients",
       "an example of a client by itself: what the stubs have for it and nothing else of this tree",
       {"services/client/", "services/common/error.h", "services/common/status_macros.h", "muster/",
        "google/", "grpcpp/"}},
      {"tests",
       "tests may include everything but libpqxx, which stays in storage/ and the stores",
       {"services/", "storage/", "tests/", "muster/", "google/", "grpc/", "grpcpp/", "prometheus/",
        "yaml-cpp/", "nlohmann/", "libpq-fe.h"}},
  };
  return layers;
}

constexpr absl::string_view kDomains[] = {"capacity", "configuration", "lifecycle", "quota"};

// A single file that may include a library that its folder may not.
struct Exception {
  const char* file;
  const char* allowed;
};
constexpr Exception kExceptions[] = {
    {"services/capacity/core/rank_tree.h", "ext/pb_ds/"},
    {"services/common/log.cc", "spdlog/"},
    {"services/common/log.cc", "nlohmann/"},
    {"services/common/log_test.cc", "nlohmann/"},
    {"tests/testing/issuer.cc", "openssl/"},
};

// What a core may not include of what is free for all others: I/O, clocks, threads, logging. (Its
// tests may.)
constexpr absl::string_view kImpure[] = {"thread",
                                         "mutex",
                                         "shared_mutex",
                                         "condition_variable",
                                         "future",
                                         "atomic",
                                         "semaphore",
                                         "latch",
                                         "barrier",
                                         "chrono",
                                         "ctime",
                                         "time.h",
                                         "fstream",
                                         "iostream",
                                         "cstdio",
                                         "stdio.h",
                                         "filesystem",
                                         "unistd.h",
                                         "stdlib.h",
                                         "pthread.h",
                                         "random",
                                         "sys/",
                                         "absl/time/clock.h",
                                         "absl/synchronization/",
                                         "absl/random/",
                                         "services/common/clock.h",
                                         "services/common/log.h",
                                         "services/common/mutex.h"};

constexpr absl::string_view kTopLevel[] = {
    ".ci",        ".clang-format", ".clang-tidy",    ".git",
    ".gitignore", ".state",        "CMakeLists.txt", "CMakePresets.json",
    "README.md",  "build",         "deploy",         "migrations",
    "proto",      "services",      "storage",        "tests"};

constexpr int kReadmeLines = 20;

// Header names of the standard library and the system: no folder, or one of the system's.
bool IsStandard(absl::string_view include) {
  for (const absl::string_view folder : {"sys/", "netinet/", "arpa/", "net/"}) {
    if (absl::StartsWith(include, folder)) return true;
  }
  return !absl::StrContains(include, '/') && include != "libpq-fe.h";
}

// Test code beside the code is told by its name: one of the words between the underscores is one of
// these.
bool IsTest(absl::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);
  for (const absl::string_view word : absl::StrSplit(path.substr(0, path.rfind('.')), '_')) {
    if (word == "test" || word == "bench" || word == "fake" || word == "simulation") return true;
  }
  return false;
}

bool IsIn(absl::string_view path, absl::string_view folder) {
  return absl::ConsumePrefix(&path, folder) && absl::StartsWith(path, "/");
}

struct Match {
  const Layer* layer;
  absl::string_view domain;  // empty: the folder names none
  std::string folder;
};

std::optional<Match> LayerOf(absl::string_view path) {
  for (const Layer& layer : Layers()) {
    if (!absl::StrContains(layer.folder, "$D")) {
      if (IsIn(path, layer.folder)) return Match{&layer, "", layer.folder};
      continue;
    }
    for (const absl::string_view domain : kDomains) {
      std::string folder = absl::StrReplaceAll(layer.folder, {{"$D", domain}});
      if (IsIn(path, folder)) return Match{&layer, domain, std::move(folder)};
    }
  }
  return std::nullopt;
}

bool StartsWithAny(absl::string_view include, std::initializer_list<absl::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](absl::string_view prefix) { return absl::StartsWith(include, prefix); });
}

bool IsPure(absl::string_view include) {
  return std::none_of(std::begin(kImpure), std::end(kImpure), [&](absl::string_view impure) {
    return include == impure || (absl::EndsWith(impure, "/") && absl::StartsWith(include, impure));
  });
}

// The rule that an include breaks; empty: none.
std::string BrokenRule(absl::string_view path, const Match& match, absl::string_view include,
                       bool quoted) {
  const bool is_core = IsIn(path, absl::StrCat("services/", match.domain, "/core"));
  if (quoted && !absl::StrContains(include, '/'))
    return "includes are written from the top of the tree";
  if (IsTest(include) && !IsTest(path) && absl::StartsWith(include, "services/") &&
      !absl::StartsWith(path, "tests/")) {
    return "test code is for tests only";
  }
  // The two walls that stand whatever the table says.
  const bool is_store =
      IsIn(path, "storage") || IsIn(path, absl::StrCat("services/", match.domain, "/store"));
  if (absl::StartsWith(include, "pqxx/") && !is_store) {
    return "libpqxx appears in storage/ and the stores only";
  }
  if (is_core && (absl::StartsWith(include, "grpc") || absl::EndsWith(include, ".pb.h"))) {
    return "neither gRPC nor proto in a core";
  }
  const bool is_pure = is_core || IsIn(path, "services/kubernetes/core") ||
                       IsIn(path, "services/page/core") || IsIn(path, "services/musterctl/top");
  if (is_pure && !IsTest(path) && !IsPure(include))
    return "a core is pure: no I/O, no clock, no threads, no logging";
  if (IsStandard(include) || absl::StartsWith(include, "absl/")) return "";
  if (absl::StartsWith(include, absl::StrCat(match.folder, "/"))) return "";
  if (IsTest(path) && StartsWithAny(include, {"gtest/", "gmock/", "tests/testing/"})) return "";
  if (absl::StartsWith(path, "tests/") && StartsWithAny(include, {"gtest/", "gmock/"})) return "";
  for (const Exception& exception : kExceptions) {
    if (path == exception.file && absl::StartsWith(include, exception.allowed)) return "";
  }
  for (const absl::string_view allowed : match.layer->allowed) {
    if (absl::StartsWith(include, absl::StrReplaceAll(allowed, {{"$D", match.domain}}))) return "";
  }
  return match.layer->rule;
}

// `#include <x>` or `#include "x"`: x, and whether it is quoted.
std::optional<std::pair<absl::string_view, bool>> ParseInclude(absl::string_view line) {
  line = absl::StripLeadingAsciiWhitespace(line);
  if (!absl::ConsumePrefix(&line, "#")) return std::nullopt;
  line = absl::StripLeadingAsciiWhitespace(line);
  if (!absl::ConsumePrefix(&line, "include")) return std::nullopt;
  line = absl::StripLeadingAsciiWhitespace(line);
  if (line.empty() || (line[0] != '<' && line[0] != '"')) return std::nullopt;
  const bool quoted = line[0] == '"';
  const size_t end = line.find(quoted ? '"' : '>', 1);
  if (end == absl::string_view::npos) return std::nullopt;
  return std::make_pair(line.substr(1, end - 1), quoted);
}

// A file of a domain bears the domain's name only where what it declares does: `quota_store.h` for
// QuotaStore.
bool BearsItsDomainInVain(absl::string_view path, absl::string_view domain) {
  absl::string_view name = path.substr(path.rfind('/') + 1);
  if (domain.empty() || !absl::ConsumePrefix(&name, absl::StrCat(domain, "_"))) return false;
  name = name.substr(0, name.rfind('.'));
  absl::ConsumeSuffix(&name, "_test");
  return name != "service" && name != "store" && name != "wire" && name != "metrics";
}

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void Append(std::vector<Violation>& all, std::vector<Violation> more) {
  std::move(more.begin(), more.end(), std::back_inserter(all));
}

// A folder, its files and its subfolders.
void CheckBelow(const fs::path& root, const std::string& folder,
                std::vector<Violation>& violations) {
  bool has_files = false;
  int readme_lines = -1;
  std::vector<std::string> entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(root / folder)) {
    entries.push_back(entry.path().filename().string());
  }
  std::sort(entries.begin(), entries.end());
  for (const std::string& name : entries) {
    const std::string path = absl::StrCat(folder, "/", name);
    if (fs::is_directory(root / path)) {
      CheckBelow(root, path, violations);
      continue;
    }
    has_files = true;
    if (name == "README.md") {
      const std::string text = ReadFile(root / path);
      readme_lines = static_cast<int>(std::count(text.begin(), text.end(), '\n'));
    }
    const bool is_source = absl::EndsWith(name, ".h") || absl::EndsWith(name, ".cc");
    if (is_source) Append(violations, CheckSource(path, ReadFile(root / path)));
  }
  if (has_files) Append(violations, CheckFolder(folder, readme_lines));
}

}  // namespace

std::string Render(const Violation& violation) {
  return absl::StrCat(violation.path, violation.line == 0 ? "" : absl::StrCat(":", violation.line),
                      ": ", violation.what, ": ", violation.rule);
}

std::vector<Violation> CheckSource(absl::string_view path, absl::string_view content) {
  // Joined here, so that this file passes its own test.
  static const std::string& std_view = *new std::string(absl::StrCat("std::", "string_view"));
  std::vector<Violation> violations;
  const std::optional<Match> match = LayerOf(path);
  if (!match)
    return {{std::string(path), 0, "source file", "its folder is not in the layer table"}};
  if (BearsItsDomainInVain(path, match->domain)) {
    violations.push_back({std::string(path), 0, "file name",
                          "the folder says the domain; only what declares its service, store, wire "
                          "or metrics bears its name"});
  }
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(content, '\n')) {
    ++number;
    if (const auto include = ParseInclude(line)) {
      const std::string rule = BrokenRule(path, *match, include->first, include->second);
      if (!rule.empty())
        violations.push_back({std::string(path), number, std::string(include->first), rule});
      continue;
    }
    const absl::string_view code = line.substr(0, line.find("//"));
    if (absl::StrContains(code, std_view)) {
      violations.push_back(
          {std::string(path), number, std_view, "absl::string_view in every signature"});
    }
  }
  return violations;
}

std::vector<Violation> CheckFolder(absl::string_view path, int readme_lines) {
  if (readme_lines < 0) return {{std::string(path), 0, "no README.md", "every folder has one"}};
  if (readme_lines <= kReadmeLines) return {};
  return {{absl::StrCat(path, "/README.md"), 0, absl::StrCat(readme_lines, " lines"),
           absl::StrCat("the README of a folder has at most ", kReadmeLines)}};
}

std::vector<Violation> CheckTopLevel(absl::string_view name) {
  if (std::find(std::begin(kTopLevel), std::end(kTopLevel), name) != std::end(kTopLevel)) return {};
  return {{std::string(name), 0, "entry of the top level",
           "it is not in the layout; extend tests/layers if it belongs"}};
}

std::vector<Violation> CheckTree(const std::string& root) {
  std::vector<Violation> violations;
  if (!fs::exists(fs::path(root) / "README.md")) Append(violations, CheckFolder(".", -1));
  for (const fs::directory_entry& entry : fs::directory_iterator(root)) {
    Append(violations, CheckTopLevel(entry.path().filename().string()));
  }
  for (const char* folder :
       {".ci", "deploy", "migrations", "proto", "services", "storage", "tests"}) {
    if (fs::is_directory(fs::path(root) / folder)) CheckBelow(root, folder, violations);
  }
  return violations;
}

}  // namespace muster::layers
