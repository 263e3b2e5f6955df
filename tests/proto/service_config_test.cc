// Holds proto/muster/service_config.json against the API: every method is in it, and only what may
// be repeated is.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/proto/lint.h"
#include "tests/testing/temp_folder.h"

namespace muster::proto_lint {
namespace {

using google::protobuf::FileDescriptor;
using google::protobuf::MethodDescriptor;
using nlohmann::json;
using testing::ReadFile;

constexpr char kRegenerate[] =
    "MUSTER_WRITE_GOLDEN=1 ctest --preset dev -R proto_service_config_test";

// Whether a call that changes something and takes no request_id may be sent again when nobody knows
// whether it was carried out; and why. What takes a request_id is never repeated by gRPC, which
// does not know whether it was given: without one, what comes a second time may undo what somebody
// else did in between. Under one its sender may repeat it, after UNKNOWN too.
struct Mutation {
  bool repeated = false;
  const char* why = "";
};
constexpr char kGeneration[] = "it says how things should be; the answer is that of now";

const std::map<std::string, Mutation>& Mutations() {
  static const auto& mutations = *new std::map<std::string, Mutation>{
      {"ApplyNodePool",
       {true, "says how the pool should be; send the `etag` where others write the spec too"}},
      {"UpdateNodePool",
       {true, "says how its fields should be; send the `etag` where others write them too"}},
      {"SyncClaim", {true, kGeneration}},
      {"BatchSyncClaims", {true, kGeneration}},
      {"SyncHolding", {true, kGeneration}},
      {"BatchSyncHoldings", {true, kGeneration}},
      {"SyncPoolConfiguration", {true, kGeneration}},
      {"BatchSyncPoolConfigurations", {true, kGeneration}},
      {"ReportNodes", {false, "the second may come after a later report; agents repeat in order"}},
      {"SetLogLevel", {false, "it is one replica's, and the second may go to another"}},
  };
  return mutations;
}

enum class Kind { kRead, kMutation, kAudit, kWatch };

Kind KindOf(const MethodDescriptor& method) {
  if (method.server_streaming()) return Kind::kWatch;
  for (const char* verb : {"Audit", "Compare"}) {
    if (absl::StartsWith(method.name(), verb)) return Kind::kAudit;
  }
  return Changes(method) ? Kind::kMutation : Kind::kRead;
}

bool HasRequestId(const MethodDescriptor& method) {
  return method.input_type()->FindFieldByName("request_id") != nullptr;
}

class ServiceConfigTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const FileDescriptor* file : api_.files) {
      for (int i = 0; i < file->service_count(); ++i) {
        for (int j = 0; j < file->service(i)->method_count(); ++j)
          methods_.push_back(file->service(i)->method(j));
      }
    }
    ASSERT_FALSE(methods_.empty());
    config_ = json::parse(ReadFile(MUSTER_SERVICE_CONFIG));
    for (const json& entry : config_.at("methodConfig")) {
      for (const json& name : entry.at("name")) {
        const std::string method = absl::StrCat(name.at("service").get<std::string>(), ".",
                                                name.at("method").get<std::string>());
        EXPECT_NE(api_.pool->FindMethodByName(method), nullptr) << method << " is no method";
        EXPECT_TRUE(entries_.emplace(method, entry).second) << method << " stands there twice";
      }
    }
  }

  const BuiltApi api_ = LoadApi(MUSTER_DESCRIPTORS);
  std::vector<const MethodDescriptor*> methods_ = {};
  json config_ = {};
  std::map<std::string, json> entries_ = {};  // by method
};

TEST_F(ServiceConfigTest, HasEveryMethod) {
  for (const MethodDescriptor* method : methods_)
    EXPECT_EQ(entries_.count(method->full_name()), 1U)
        << method->full_name() << " is missing in " << MUSTER_SERVICE_CONFIG;
}

TEST_F(ServiceConfigTest, RepeatsWhatIsSafeToRepeatAndNothingElse) {
  std::set<std::string> met;
  for (const MethodDescriptor* method : methods_) {
    SCOPED_TRACE(method->full_name());
    bool repeated = KindOf(*method) == Kind::kRead;
    if (KindOf(*method) != Kind::kMutation) {
      EXPECT_FALSE(HasRequestId(*method)) << "is it a read?";
    } else if (!HasRequestId(*method)) {
      const auto it = Mutations().find(method->name());
      ASSERT_NE(it, Mutations().end())
          << "changes something: say in service_config_test.cc whether it may be repeated";
      repeated = it->second.repeated;
      met.insert(method->name());
    }
    const auto entry = entries_.find(method->full_name());
    if (entry == entries_.end()) continue;  // told above
    EXPECT_EQ(entry->second.contains("retryPolicy"), repeated);
  }
  EXPECT_EQ(met.size(), Mutations().size())
      << "one there is none of, or that takes a request_id by now";
}

TEST_F(ServiceConfigTest, GivesEveryCallButWatchesATime) {
  for (const MethodDescriptor* method : methods_) {
    const auto entry = entries_.find(method->full_name());
    if (entry == entries_.end()) continue;
    EXPECT_EQ(entry->second.contains("timeout"), KindOf(*method) != Kind::kWatch)
        << method->full_name();
  }
}

TEST_F(ServiceConfigTest, RepeatsSlowlyAndWithABudget) {
  EXPECT_GT(config_.at("retryThrottling").at("maxTokens"), 0);
  EXPECT_LT(config_.at("retryThrottling").at("tokenRatio"), 0.5);
  for (const auto& [method, entry] : entries_) {
    if (!entry.contains("retryPolicy")) continue;
    const json& policy = entry.at("retryPolicy");
    EXPECT_EQ(policy.at("retryableStatusCodes"), json::array({"UNAVAILABLE"})) << method;
    EXPECT_LE(policy.at("maxAttempts"), 5) << method << ": gRPC makes five of more";
    EXPECT_GE(policy.at("backoffMultiplier"), 1.5) << method;
  }
  EXPECT_TRUE(config_.at("loadBalancingConfig").at(0).contains("round_robin"));
  EXPECT_EQ(config_.at("healthCheckConfig").at("serviceName"), "");
}

// The page for people.
std::string Row(const MethodDescriptor& method, const json& entry) {
  std::string safe = "yes: it reads";
  if (KindOf(method) == Kind::kAudit) safe = "yes, but it costs much: gRPC does not";
  if (KindOf(method) == Kind::kWatch)
    safe = "go on after the last revision: `muster.type.v1.WatchStart`";
  if (KindOf(method) == Kind::kMutation && HasRequestId(method))
    safe = "with the same `request_id`: it is then carried out once";
  if (const auto it = Mutations().find(method.name()); it != Mutations().end())
    safe = absl::StrCat(it->second.repeated ? "yes: " : "no: ", it->second.why);
  return absl::StrCat("| `", method.service()->name(), ".", method.name(), "` | ",
                      entry.value("timeout", "none"), " | ",
                      entry.contains("retryPolicy") ? "yes" : "no", " | ", safe, " |\n");
}

constexpr char kMetadata[] = R"(
## What a call may say beside its request

As metadata; each may be left out.

| metadata | says |
| --- | --- |
| `authorization` | who calls: `Bearer TOKEN` (`deploy/security.md`) |
| `traceparent`, `x-request-id` | which trace it belongs to, and by which id the server's log is to tell of it (`deploy/logs-and-traces.md`) |
| `x-muster-reason` | why something is changed, for its history |
| `x-muster-service` | of what every process serves (HistoryService, AccessService) whose process is to answer: `capacity`, `configuration`, `lifecycle`, `quota`. Behind one address of services that run apart (`deploy/nginx`); without it lifecycle's |

Every answer bears `x-request-id`, in its initial metadata. That of a read or a mutation also bears `x-muster-revision`, in its trailing
metadata: the revision that it shows, as the field `revision` of those messages that have one; `DeleteQuota` and the like have
none. A watch of the same service after it (`after_revision`) tells of all that came later, and of nothing from before.
)";

TEST_F(ServiceConfigTest, IsToldInThePage) {
  std::string page =
      "# Which calls are safe to repeat\n\n"
      "Made by `tests/proto/service_config_test.cc` of the API and "
      "`proto/muster/service_config.json`. The second column is the "
      "longest that a\ncall takes with that file; the third says whether gRPC repeats it by itself "
      "when it was answered UNAVAILABLE, "
      "up to four times\nin all, within a budget; the last what you may do.\n\n"
      "| call | deadline | repeated by gRPC | safe to repeat |\n| --- | --- | --- | --- |\n";
  for (const MethodDescriptor* method : methods_)
    absl::StrAppend(&page, Row(*method, entries_[method->full_name()]));
  page += kMetadata;
  if (getenv("MUSTER_WRITE_GOLDEN") != nullptr) std::ofstream(MUSTER_CALLS_PAGE) << page;
  EXPECT_TRUE(ReadFile(MUSTER_CALLS_PAGE) == page)
      << MUSTER_CALLS_PAGE " is out of date: " << kRegenerate;
}

}  // namespace
}  // namespace muster::proto_lint
