// Holds muster.type.v1.ErrorReason against the sources: every reason that an error of a server can
// have is in it, and no other; and keeps the page made of it.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tests/proto/lint.h"
#include "tests/testing/temp_folder.h"

namespace muster::proto_lint {
namespace {

using google::protobuf::EnumDescriptor;
using testing::ReadFile;

constexpr char kRegenerate[] =
    "MUSTER_WRITE_GOLDEN=1 ctest --preset dev -R proto_error_reasons_test";

// Whose errors callers see.
constexpr const char* kFolders[] = {
    "services/access",  "services/capacity", "services/common",    "services/configuration",
    "services/history", "services/daemon",   "services/lifecycle", "services/musterd",
    "services/quota",   "services/rpc",      "services/tls",       "services/tokens",
    "storage"};

// Files whose other words in capitals are states, flags or SQL. What is visibly a reason counts in
// them too.
constexpr const char* kOtherWords[] = {"services/capacity/core/machine_state.cc",
                                       "services/configuration/core/names.cc",
                                       "services/daemon/notifier.cc",
                                       "services/lifecycle/core/explain_words.cc",
                                       "services/lifecycle/core/node_machine.cc",
                                       "services/lifecycle/core/report.cc",
                                       "services/lifecycle/store/lifecycle_store.cc",
                                       "services/musterd/flags.cc",
                                       "services/rpc/field_path.cc",
                                       "services/rpc/filter.cc",
                                       "services/tls/pem_folder.cc",
                                       "services/tokens/key_set.cc",
                                       "services/tokens/token_checker.cc",
                                       "services/tokens/token_checker.h",
                                       "storage/postgres/connection_pool.cc",
                                       "storage/postgres/migration_files.cc",
                                       "storage/postgres/statement_pipeline.cc",
                                       "storage/postgres/transaction.h",
                                       "storage/postgres/transaction_runner.cc"};

bool IsOfATest(const std::string& path) {
  return absl::EndsWith(path, "_test.cc") || absl::StrContains(path, "/testing/");
}

void AddMatches(const std::string& text, const char* pattern, std::set<std::string>& words) {
  const std::regex regex(pattern);
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it) {
    for (size_t group = 1; group < it->size(); ++group) {
      if ((*it)[group].matched) words.insert((*it)[group]);
    }
  }
}

// `absl::NotFoundError(` is NOT_FOUND: an error without a reason has its code's name.
void AddCodes(const std::string& text, std::set<std::string>& words) {
  std::set<std::string> names;
  AddMatches(text, R"(absl::([A-Z][A-Za-z]+)Error\()", names);
  for (const std::string& name : names) {
    std::string code;
    for (const char c : name) {
      if (absl::ascii_isupper(c) && !code.empty()) code += '_';
      code += absl::ascii_toupper(c);
    }
    words.insert(code);
  }
}

// Reasons in a source.
std::set<std::string> ReasonsIn(const std::string& path, const std::string& with_comments) {
  const std::string text = std::regex_replace(with_comments, std::regex("//[^\n]*"), "");
  std::set<std::string> words;
  constexpr char kWord[] = R"re("([A-Z][A-Z0-9]+(?:_[A-Z0-9]+)*)")re";
  const bool others = std::any_of(std::begin(kOtherWords), std::end(kOtherWords),
                                  [&](const char* file) { return path == file; });
  if (others) {
    AddMatches(text, absl::StrCat(R"((?:\breason = |FailedPrecondition\(\s*))", kWord).c_str(),
               words);
  } else {
    AddMatches(text, kWord, words);
  }
  words.erase("OK");  // what a code that is no error is called
  AddCodes(text, words);
  return words;
}

class ErrorReasonsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const EnumDescriptor* type = api_.pool->FindEnumTypeByName("muster.type.v1.ErrorReason");
    ASSERT_NE(type, nullptr);
    for (int i = 1; i < type->value_count(); ++i) {  // 0 is none
      google::protobuf::SourceLocation location;
      ASSERT_TRUE(type->value(i)->GetSourceLocation(&location));
      const std::string name = type->value(i)->name().substr(sizeof("ERROR_REASON_") - 1);
      names_.push_back(name);
      comments_[name] =
          absl::StrReplaceAll(absl::StripAsciiWhitespace(location.leading_comments), {{"\n", ""}});
    }
  }

  // By reason, the first file that has it.
  static std::map<std::string, std::string> InSources() {
    std::map<std::string, std::string> found;
    for (const char* folder : kFolders) {
      const std::filesystem::path root = absl::StrCat(MUSTER_SOURCES, "/", folder);
      for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
        const std::string path =
            std::filesystem::relative(entry.path(), MUSTER_SOURCES).generic_string();
        if (!absl::EndsWith(path, ".cc") && !absl::EndsWith(path, ".h")) continue;
        if (IsOfATest(path)) continue;
        for (const std::string& reason : ReasonsIn(path, ReadFile(entry.path())))
          found.emplace(reason, path);
      }
    }
    return found;
  }

  const BuiltApi api_ = LoadApi(MUSTER_DESCRIPTORS);
  std::vector<std::string> names_ = {};
  std::map<std::string, std::string> comments_ = {};
};

TEST_F(ErrorReasonsTest, HasEveryReasonOfTheSources) {
  for (const auto& [reason, path] : InSources())
    EXPECT_TRUE(comments_.contains(reason))
        << path << " has " << reason
        << ": a reason belongs into error_reason.proto; if it is none, see kOtherWords here";
}

TEST_F(ErrorReasonsTest, HasNoOther) {
  const std::map<std::string, std::string> found = InSources();
  for (const std::string& name : names_)
    EXPECT_TRUE(found.contains(name)) << name << " is the reason of no error any more";
}

TEST_F(ErrorReasonsTest, FindsReasonsHoweverTheyAreWritten) {
  const char* const other = kOtherWords[0];
  using ::testing::UnorderedElementsAre;
  EXPECT_THAT(ReasonsIn("a.cc", R"re(Exhausted("ONE", x); y ? "TWO" : "THREE"; // "NOT_THIS")re"),
              UnorderedElementsAre("ONE", "TWO", "THREE"));
  EXPECT_THAT(
      ReasonsIn("a.cc", R"re(Case("Not_This"); "a NOT_THIS"; "OK"; absl::DataLossError(x);)re"),
      UnorderedElementsAre("DATA_LOSS"));
  EXPECT_THAT(ReasonsIn(other, "FailedPrecondition(\n  \"ONE\", x); {.reason = \"TWO\"}; \"FREE\""),
              UnorderedElementsAre("ONE", "TWO"));
}

// What the protos promise at their RPCs, e.g. `ABORTED (ETAG_MISMATCH; GENERATION_TOO_OLD: ...)`,
// is among them.
TEST_F(ErrorReasonsTest, HasWhatTheApiPromises) {
  size_t promised = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(MUSTER_SOURCES "/proto")) {
    if (entry.path().extension() != ".proto") continue;
    std::set<std::string> words;
    AddMatches(ReadFile(entry.path()),
               "(?:INVALID_ARGUMENT|NOT_FOUND|ALREADY_EXISTS|ABORTED|FAILED_PRECONDITION|"
               R"(RESOURCE_EXHAUSTED|OUT_OF_RANGE|UNAVAILABLE) \(([A-Z][A-Z0-9_]+))",
               words);
    for (const std::string& word : words)
      EXPECT_TRUE(comments_.contains(word)) << entry.path() << " promises " << word;
    promised += words.size();
  }
  EXPECT_GT(promised, 10U);
}

// `CODE. Meaning. Do: what.` → its parts.
std::vector<std::string> Parts(const std::string& comment) {
  const std::vector<std::string> code = absl::StrSplit(comment, absl::MaxSplits(". ", 1));
  if (code.size() < 2) return {};
  const std::vector<std::string> text = absl::StrSplit(code[1], absl::MaxSplits(" Do: ", 1));
  if (text.size() < 2) return {};
  return {code[0], text[0], text[1]};
}

TEST_F(ErrorReasonsTest, AreToldInThePage) {
  std::string page =
      "# Errors\n\nMade by `tests/proto/error_reasons_test.cc` of "
      "`proto/muster/type/v1/error_reason.proto`. An error's details "
      "(google.rpc) have its reason\nin ErrorInfo, of the domain `muster`; BadRequest has every "
      "wrong field, QuotaFailure and "
      "PreconditionFailure what stands in the way,\nRetryInfo how long to wait. Go by the reason, "
      "never by the message. `x-request-id` of "
      "the call finds it in the server's log.\n\n| reason | code | what it means | what to do |\n| "
      "--- | --- | --- | --- |\n";
  for (const std::string& name : names_) {
    const std::vector<std::string> parts = Parts(comments_[name]);
    ASSERT_EQ(parts.size(), 3U) << name << ": not `CODE. Meaning. Do: what.`";
    absl::StrAppend(&page, "| `", name, "` | ", parts[0], " | ", parts[1], " | ", parts[2], " |\n");
  }
  if (getenv("MUSTER_WRITE_GOLDEN") != nullptr) std::ofstream(MUSTER_ERRORS_PAGE) << page;
  EXPECT_TRUE(ReadFile(MUSTER_ERRORS_PAGE) == page)
      << MUSTER_ERRORS_PAGE " is out of date: " << kRegenerate;
}

}  // namespace
}  // namespace muster::proto_lint
