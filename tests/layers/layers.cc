#include "tests/layers/layers.h"

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <iterator>
#include <map>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tests/layers/include_loops.h"
#include "tests/layers/layer_table.h"
#include "tests/testing/temp_folder.h"

namespace muster::layers {
namespace {

namespace fs = std::filesystem;
using testing::ReadFile;

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
    {"storage/postgres/json_reader.cc", "nlohmann/"},
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

// Here each NAME.cc has a NAME_test.cc.
constexpr absl::string_view kTestedByName = "services/lifecycle/core";

// Header names of the standard library and the system: no folder, or one of the system's.
bool IsStandard(absl::string_view include) {
  for (const absl::string_view folder : {"sys/", "netinet/", "arpa/", "net/"}) {
    if (absl::StartsWith(include, folder)) return true;
  }
  return !absl::StrContains(include, '/') && include != "libpq-fe.h";
}

// Test code beside the code is in a folder `testing`, or told by its name: one of the words between
// the underscores is one of these.
bool IsTest(absl::string_view path) {
  if (absl::StrContains(path, "/testing/")) return true;
  path.remove_prefix(path.rfind('/') + 1);
  for (const absl::string_view word : absl::StrSplit(path.substr(0, path.rfind('.')), '_')) {
    if (word == "test" || word == "bench" || word == "fake" || word == "simulation") return true;
  }
  return false;
}

bool StartsWithAny(absl::string_view include, std::initializer_list<absl::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](absl::string_view prefix) { return absl::StartsWith(include, prefix); });
}

// A header of test code beside the code.
bool IsSharedByTests(absl::string_view path) {
  return IsTest(path) && absl::EndsWith(path, ".h") &&
         StartsWithAny(path, {"services/", "storage/"});
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

constexpr size_t kColumns = 100;

// A line of a comment that is wider than the code; tables and drawings, which have gaps, may be.
bool IsTooWide(absl::string_view line) {
  const absl::string_view text = absl::StripLeadingAsciiWhitespace(line);
  if (!absl::StartsWith(text, "// ") || absl::StrContains(text, "://")) return false;
  const auto columns = std::count_if(line.begin(), line.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  });
  return columns > static_cast<std::ptrdiff_t>(kColumns) &&
         !absl::StrContains(text.substr(3), "   ");
}

// Whether a line of what answers calls compares something with the time of day, or counts on from
// it. What a call may take goes by NowForDeadlines (services/common/deadline.h), so that setting
// the clock changes nothing.
bool GoesByTheTimeOfDay(absl::string_view path, absl::string_view code) {
  const bool answers = IsIn(path, "storage") || (absl::StartsWith(path, "services/rpc/") &&
                                                 !IsIn(path, "services/rpc/client"));
  if (!answers || IsTest(path)) return false;
  const absl::string_view uses[] = {"absl::Now() +", "absl::Now() -",  "absl::Now() <",
                                    "absl::Now() >", "< absl::Now()",  "> absl::Now()",
                                    "- absl::Now()", "<= absl::Now()", ">= absl::Now()"};
  return std::any_of(std::begin(uses), std::end(uses),
                     [&](absl::string_view use) { return absl::StrContains(code, use); });
}

void Append(std::vector<Violation>& all, std::vector<Violation> more) {
  std::move(more.begin(), more.end(), std::back_inserter(all));
}

std::vector<std::string> IncludesOf(absl::string_view content) {
  std::vector<std::string> includes;
  for (const absl::string_view line : absl::StrSplit(content, '\n')) {
    if (const auto include = ParseInclude(line)) includes.emplace_back(include->first);
  }
  return includes;
}

// A folder, its files and its subfolders.
void CheckBelow(const fs::path& root, const std::string& folder, Includes& includes,
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
      CheckBelow(root, path, includes, violations);
      continue;
    }
    has_files = true;
    if (name == "README.md") {
      const std::string text = ReadFile(root / path);
      readme_lines = static_cast<int>(std::count(text.begin(), text.end(), '\n'));
    }
    const bool is_source = absl::EndsWith(name, ".h") || absl::EndsWith(name, ".cc");
    if (!is_source) continue;
    const std::string content = ReadFile(root / path);
    Append(violations, CheckSource(path, content));
    includes[path] = IncludesOf(content);
  }
  if (has_files) Append(violations, CheckFolder(folder, readme_lines));
}

// Of code that is no test; empty: of none.
absl::string_view FolderOf(absl::string_view path) {
  if (IsTest(path) || (!IsIn(path, "services") && !IsIn(path, "storage"))) return "";
  return path.substr(0, path.rfind('/'));
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
  if (IsSharedByTests(path) && !absl::StrContains(path, "/testing/")) {
    violations.push_back({std::string(path), 0, "file name",
                          "what the tests of a folder share is in its folder testing/"});
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
    if (IsTooWide(line))
      violations.push_back({std::string(path), number, "comment", "100 columns, as the code"});
    const absl::string_view code = line.substr(0, line.find("//"));
    if (absl::StrContains(code, std_view)) {
      violations.push_back(
          {std::string(path), number, std_view, "absl::string_view in every signature"});
    }
    if (GoesByTheTimeOfDay(path, code)) {
      violations.push_back({std::string(path), number, "absl::Now()",
                            "what a call takes and may take goes by NowForDeadlines"});
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

std::vector<Violation> CheckFolderPairs(const Includes& includes) {
  // By the folder of a file and that of what it includes: the first such include.
  std::map<std::pair<absl::string_view, absl::string_view>,
           std::pair<absl::string_view, absl::string_view>>
      first;
  for (const auto& [file, of_file] : includes) {
    const absl::string_view from = FolderOf(file);
    for (const std::string& included : of_file) {
      const absl::string_view to = FolderOf(included);
      if (from.empty() || to.empty() || from == to || includes.count(included) == 0) continue;
      first.insert({{from, to}, {file, included}});
    }
  }
  std::vector<Violation> violations;
  for (const auto& [folders, include] : first) {
    const auto& [from, to] = folders;
    const auto back = first.find({to, from});
    if (from > to || back == first.end()) continue;
    violations.push_back(
        {std::string(include.first), 0, std::string(include.second),
         absl::StrCat(from, " and ", to, " depend on each other (", back->second.first,
                      " includes ", back->second.second, "); what both need goes below both")});
  }
  return violations;
}

std::vector<Violation> CheckTestsByName(const Includes& includes) {
  std::vector<Violation> violations;
  for (const auto& [file, of_file] : includes) {
    if (!IsIn(file, kTestedByName) || IsTest(file) || !absl::EndsWith(file, ".cc")) continue;
    const std::string test = absl::StrCat(absl::StripSuffix(file, ".cc"), "_test.cc");
    if (includes.count(test) == 0)
      violations.push_back({file, 0, "no " + test, "its tests lie beside it, by its name"});
  }
  return violations;
}

std::vector<Violation> CheckTopLevel(absl::string_view name) {
  if (std::find(std::begin(kTopLevel), std::end(kTopLevel), name) != std::end(kTopLevel)) return {};
  return {{std::string(name), 0, "entry of the top level",
           "it is not in the layout; extend tests/layers if it belongs"}};
}

std::vector<Violation> CheckTree(const std::string& root) {
  std::vector<Violation> violations;
  Includes includes;
  if (!fs::exists(fs::path(root) / "README.md")) Append(violations, CheckFolder(".", -1));
  for (const fs::directory_entry& entry : fs::directory_iterator(root)) {
    Append(violations, CheckTopLevel(entry.path().filename().string()));
  }
  for (const char* folder :
       {".ci", "deploy", "migrations", "proto", "services", "storage", "tests"}) {
    if (fs::is_directory(fs::path(root) / folder)) CheckBelow(root, folder, includes, violations);
  }
  Append(violations, CheckFolderPairs(includes));
  Append(violations, CheckTestsByName(includes));
  for (const std::vector<std::string>& loop : IncludeLoops(includes)) {
    violations.push_back({loop.front(), 0, absl::StrJoin(loop, ", "),
                          "these include each other; what two share goes where both see it"});
  }
  return violations;
}

}  // namespace muster::layers
