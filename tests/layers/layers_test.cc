#include "tests/layers/layers.h"

#include <gmock/gmock.h>

#include <ostream>

#include "absl/strings/str_cat.h"

namespace muster::layers {

void PrintTo(const Violation& violation, std::ostream* os) { *os << Render(violation); }

namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(Tree, KeepsTheRules) {
  for (const Violation& violation : CheckTree(MUSTER_SOURCE_DIR))
    ADD_FAILURE() << Render(violation);
}

// One include that a folder may not have, and words of the rule that is named.
struct Broken {
  const char* path;
  const char* include;
  const char* rule;
};

class BrokenRule : public ::testing::TestWithParam<Broken> {};

TEST_P(BrokenRule, IsReportedWithFileAndLine) {
  const Broken& param = GetParam();
  const std::string content =
      absl::StrCat("#pragma once\n\n#include <string>\n#include ", param.include, "\n");
  EXPECT_THAT(CheckSource(param.path, content),
              ElementsAre(AllOf(Field(&Violation::path, param.path), Field(&Violation::line, 4),
                                Field(&Violation::rule, HasSubstr(param.rule)))));
}

constexpr Broken kBroken[] = {
    {"services/common/x.h", "\"services/quota/core/state.h\"", "layer 0"},
    {"services/common/x.h", "<spdlog/spdlog.h>", "layer 0"},
    {"services/quota/core/x.cc", "\"services/capacity/core/state.h\"", "layer 1"},
    {"services/quota/core/x.cc", "\"services/quota/wire/quota_wire.h\"", "layer 1"},
    {"services/quota/core/x.cc", "\"storage/postgres/lane.h\"", "layer 1"},
    {"services/quota/core/x.cc", "<grpcpp/grpcpp.h>", "neither gRPC nor proto"},
    {"services/quota/core/x.cc", "\"muster/quota/v1/quota.pb.h\"", "neither gRPC nor proto"},
    {"services/quota/core/x_test.cc", "<muster/quota/v1/quota.pb.h>", "neither gRPC nor proto"},
    {"services/quota/core/x.cc", "<thread>", "pure"},
    {"services/quota/core/x.cc", "\"absl/time/clock.h\"", "pure"},
    {"services/quota/core/x.cc", "\"absl/synchronization/mutex.h\"", "pure"},
    {"services/quota/core/x.cc", "\"services/common/log.h\"", "pure"},
    {"services/quota/core/x.cc", "<nlohmann/json.hpp>", "layer 1"},
    {"services/quota/wire/x.cc", "\"muster/capacity/v1/capacity.pb.h\"", "layer 2"},
    {"services/quota/wire/x.cc", "\"services/quota/handlers.h\"", "layer 2"},
    {"services/quota/wire/x.cc", "<grpcpp/grpcpp.h>", "layer 2"},
    {"services/quota/wire/x.cc", "\"storage/postgres/lane.h\"", "layer 2"},
    {"services/lifecycle/peers/wire/x.cc", "\"services/quota/core/state.h\"", "layer 2"},
    {"services/lifecycle/peers/wire/x.cc", "<grpcpp/grpcpp.h>", "layer 2"},
    {"services/lifecycle/peers/x.cc", "\"services/lifecycle/reconcile/x.h\"", "layer 4"},
    {"services/lifecycle/reconcile/x.cc", "\"services/lifecycle/api/handlers.h\"", "layer 4"},
    {"services/lifecycle/api/x.cc", "\"services/lifecycle/reconcile/x.h\"", "layer 4"},
    {"storage/postgres/x.cc", "\"services/quota/core/state.h\"", "layer 2"},
    {"storage/postgres/x.cc", "\"services/quota/store/quota_store.h\"", "layer 2"},
    {"storage/postgres/x.cc", "<grpcpp/grpcpp.h>", "layer 2"},
    {"services/quota/store/x.cc", "\"services/lifecycle/core/state.h\"", "layer 2"},
    {"services/quota/store/x.cc", "\"services/lifecycle/store/store.h\"", "layer 2"},
    {"services/quota/store/x.cc", "\"services/rpc/status.h\"", "layer 2"},
    {"services/history/x.cc", "\"services/common/state.h\"", "layer 2"},
    {"services/tokens/x.cc", "<grpcpp/grpcpp.h>", "layer 2"},
    {"services/rpc/x.cc", "\"services/tokens/key_set.h\"", "layer 3"},
    {"services/rpc/x.cc", "\"storage/postgres/lane.h\"", "layer 3"},
    {"services/rpc/x.cc", "\"services/quota/core/state.h\"", "layer 3"},
    {"services/rpc/client/x.h", "\"services/rpc/server.h\"", "layer 2"},
    {"services/client/x.h", "\"services/rpc/server.h\"", "outside of this tree"},
    {"services/quota/x.cc", "\"services/lifecycle/core/state.h\"", "layer 4"},
    {"services/quota/x.cc", "\"services/lifecycle/store/store.h\"", "layer 4"},
    {"services/quota/x.cc", "<pqxx/pqxx>", "storage/ and the stores only"},
    {"services/musterd/x.cc", "\"services/fleetsim/x.h\"", "layer 5"},
    {"services/musterd/x.cc", "<pqxx/pqxx>", "storage/ and the stores only"},
    {"services/musterctl/x.cc", "\"services/rpc/status.h\"", "client"},
    {"services/musterctl/commands/x.cc", "<grpcpp/grpcpp.h>", "client"},
    {"services/musterctl/client/x.cc", "\"services/rpc/server.h\"", "calls"},
    {"services/musterctl/manifest/x.cc", "\"services/musterctl/client/api.h\"", "manifests"},
    {"services/musterctl/client/x.cc", "\"services/musterctl/print/table.h\"", "calls"},
    {"services/musterctl/print/x.cc", "\"services/musterctl/client/api.h\"", "printers"},
    {"services/musterctl/commands/x.cc", "\"services/page/page_watches.h\"", "client"},
    {"services/musterctl/top/x.cc", "\"services/musterctl/client/api.h\"", "top"},
    {"services/musterctl/top/x.cc", "<iostream>", "pure"},
    {"services/fleetsim/x.cc", "\"services/capacity/core/state.h\"", "client"},
    {"services/fleetsim/x.cc", "<yaml-cpp/yaml.h>", "client"},
    {"deploy/clients/cpp/x.cc", "\"services/rpc/client/channel.h\"", "by itself"},
    {"services/kubernetes/x.cc", "\"storage/postgres/lane.h\"", "client"},
    {"services/quota/x.cc", "\"tests/testing/test_database.h\"", "layer 4"},
    {"services/quota/x.cc", "<gtest/gtest.h>", "layer 4"},
    {"services/quota/x.cc", "\"handlers.h\"", "from the top"},
    {"services/quota/x.cc", "\"services/quota/testing/world.h\"", "for tests only"},
    {"tests/integration/x_test.cc", "<pqxx/pqxx>", "storage/ and the stores only"},
    {"tests/integration/x_test.cc", "<curl/curl.h>", "tests may"},
};
INSTANTIATE_TEST_SUITE_P(Includes, BrokenRule, ::testing::ValuesIn(kBroken));

TEST(CheckSource, LetsEveryLayerHaveWhatIsItsOwn) {
  const Broken allowed[] = {
      {"services/common/log.cc", "<spdlog/spdlog.h>", ""},
      {"services/quota/core/x.cc", "\"services/common/state.h\"", ""},
      {"services/quota/core/x.cc", "\"absl/time/time.h\"", ""},
      {"services/quota/core/x_test.cc", "<random>", ""},
      {"services/quota/core/x_test.cc", "\"tests/testing/status_matchers.h\"", ""},
      {"services/quota/core/testing/world.h", "<random>", ""},
      {"services/quota/testing/x_test_base.h", "<gtest/gtest.h>", ""},
      {"services/quota/core/decide_bench.cc", "<chrono>", ""},
      {"services/quota/x_test.cc", "\"services/quota/testing/fake_lane.h\"", ""},
      {"services/quota/wire/x.cc", "\"muster/quota/v1/quota.pb.h\"", ""},
      {"services/quota/store/x.cc", "<pqxx/pqxx>", ""},
      {"services/quota/store/x.cc", "\"services/quota/wire/quota_wire.h\"", ""},
      {"services/lifecycle/x.cc", "<muster/quota/v1/quota_service.grpc.pb.h>", ""},
      {"services/lifecycle/x.cc", "\"storage/postgres/lane.h\"", ""},
      {"services/musterd/x.cc", "\"services/quota/store/quota_store.h\"", ""},
      {"services/musterctl/manifest/x.cc", "<yaml-cpp/yaml.h>", ""},
      {"services/musterctl/commands/x.cc", "\"services/musterctl/print/table.h\"", ""},
      {"tests/testing/x.cc", "<libpq-fe.h>", ""},
  };
  for (const Broken& good : allowed) {
    EXPECT_THAT(CheckSource(good.path, absl::StrCat("#include ", good.include)), IsEmpty())
        << good.path << good.include;
  }
}

TEST(CheckSource, FindsTheOtherStringView) {
  const std::string bad = absl::StrCat("void F(std::", "string_view s);\n");
  EXPECT_THAT(CheckSource("services/quota/x.h", bad), ElementsAre(Field(&Violation::line, 1)));
  EXPECT_THAT(CheckSource("services/quota/x.h", absl::StrCat("// ", bad)), IsEmpty());
}

TEST(CheckSource, WantsCommentsAsNarrowAsTheCode) {
  const std::string wide(98, 'x');
  EXPECT_THAT(CheckSource("services/quota/x.h", absl::StrCat("\n// ", wide)),
              ElementsAre(Field(&Violation::line, 2)));
  EXPECT_THAT(CheckSource("services/quota/x.h", absl::StrCat("// ", wide.substr(1))), IsEmpty());
  const std::string arrow = absl::StrCat("// ", wide.substr(2), "\u25ba");
  EXPECT_THAT(CheckSource("services/quota/x.h", arrow), IsEmpty()) << "a character of three bytes";
  for (const char* allowed : {"// a table's   ", "// https://x/"})
    EXPECT_THAT(CheckSource("services/quota/x.h", absl::StrCat(allowed, wide)), IsEmpty());
}

TEST(CheckSource, FindsWhatGoesByTheTimeOfDay) {
  const std::string bad = "  const absl::Time end = absl::Now() + absl::Seconds(1);\n";
  for (const char* path : {"storage/postgres/x.cc", "services/rpc/x.h"})
    EXPECT_THAT(CheckSource(path, bad), ElementsAre(Field(&Violation::line, 1))) << path;
  EXPECT_THAT(CheckSource("storage/postgres/x.cc", "  if (end < absl::Now()) return;"), SizeIs(1));
  EXPECT_THAT(CheckSource("services/rpc/x.cc", "  Took(absl::Now() - began);"), SizeIs(1));
  EXPECT_THAT(CheckSource("storage/postgres/x.cc", "  absl::Time began = absl::Now();"), IsEmpty());
  for (const char* path : {"storage/postgres/x_test.cc", "services/rpc/client/x.cc"})
    EXPECT_THAT(CheckSource(path, bad), IsEmpty()) << path;
}

TEST(CheckSource, KnowsEveryFolder) {
  EXPECT_THAT(CheckSource("services/billing/x.h", ""),
              ElementsAre(Field(&Violation::rule, HasSubstr("layer table"))));
}

TEST(CheckSource, WantsNoFileToBearItsDomainInVain) {
  for (const char* good : {"services/quota/reads.cc", "services/quota/quota_service.h",
                           "services/quota/store/quota_store_test.cc", "services/rpc/quota_x.h"}) {
    EXPECT_THAT(CheckSource(good, ""), IsEmpty()) << good;
  }
  for (const char* bad :
       {"services/quota/quota_reads.cc", "services/quota/store/quota_faults_test.cc"}) {
    EXPECT_THAT(CheckSource(bad, ""), ElementsAre(Field(&Violation::what, "file name"))) << bad;
  }
}

TEST(CheckSource, WantsWhatTestsShareInAFolderOfItsOwn) {
  for (const char* good : {"services/quota/testing/fake_x.h", "services/quota/testing/x.h",
                           "services/quota/x_test.cc", "services/quota/decide_bench.cc"}) {
    EXPECT_THAT(CheckSource(good, ""), IsEmpty()) << good;
  }
  for (const char* bad : {"services/quota/fake_x.h", "storage/postgres/x_test_base.h"})
    EXPECT_THAT(CheckSource(bad, ""), ElementsAre(Field(&Violation::what, "file name"))) << bad;
}

TEST(CheckFolder, WantsAShortReadme) {
  EXPECT_THAT(CheckFolder("services/quota", 20), IsEmpty());
  EXPECT_THAT(CheckFolder("services/quota", -1),
              ElementsAre(Field(&Violation::what, "no README.md")));
  EXPECT_THAT(CheckFolder("services/quota", 21),
              ElementsAre(Field(&Violation::path, "services/quota/README.md")));
}

TEST(CheckFolderPairs, LetsFoldersDependOneWayOnly) {
  const Includes both_ways = {
      {"services/rpc/server.h", {}},
      {"services/rpc/server.cc", {"services/rpc/client/channel.h"}},
      {"services/rpc/status.h", {}},
      {"services/rpc/client/channel.h", {"services/rpc/status.h", "string"}}};
  EXPECT_THAT(
      CheckFolderPairs(both_ways),
      ElementsAre(AllOf(
          Field(&Violation::path, "services/rpc/server.cc"),
          Field(&Violation::what, "services/rpc/client/channel.h"),
          Field(&Violation::rule,
                HasSubstr("services/rpc and services/rpc/client depend on each other "
                          "(services/rpc/client/channel.h includes services/rpc/status.h)")))));
  Includes one_way = both_ways;
  one_way["services/rpc/server.cc"].clear();
  EXPECT_THAT(CheckFolderPairs(one_way), IsEmpty());
}

TEST(CheckFolderPairs, LeavesTestCodeAside) {
  EXPECT_THAT(CheckFolderPairs({{"services/a/x.h", {"services/b/y.h"}},
                                {"services/b/y.h", {}},
                                {"services/b/x_test.cc", {"services/a/x.h"}},
                                {"services/b/testing/fake_x.h", {"services/a/x.h"}},
                                {"services/b/z.h", {"services/a/testing/x.h", "services/a/gone.h"}},
                                {"services/a/testing/x.h", {}},
                                {"tests/c/x.h", {"tests/d/x.h"}},
                                {"tests/d/x.h", {"tests/c/x.h"}}}),
              IsEmpty());
}

TEST(CheckTestsByName, WantsOneBesideEachSourceOfLifecyclesCore) {
  const Includes tree = {{"services/lifecycle/core/a.cc", {}},
                         {"services/lifecycle/core/a_test.cc", {}},
                         {"services/lifecycle/core/b.cc", {}},
                         {"services/lifecycle/core/only_a_header.h", {}},
                         {"services/lifecycle/core/decide_bench.cc", {}},
                         {"services/lifecycle/api/c.cc", {}}};
  EXPECT_THAT(CheckTestsByName(tree),
              ElementsAre(AllOf(Field(&Violation::path, "services/lifecycle/core/b.cc"),
                                Field(&Violation::what, HasSubstr("core/b_test.cc")))));
}

TEST(CheckTopLevel, KnowsTheLayout) {
  EXPECT_THAT(CheckTopLevel("services"), IsEmpty());
  EXPECT_THAT(CheckTopLevel("notes.txt"), ElementsAre(Field(&Violation::path, "notes.txt")));
}

TEST(Render, NamesFileLineAndRule) {
  EXPECT_EQ(Render({"services/quota/x.h", 3, "pqxx/pqxx", "no"}),
            "services/quota/x.h:3: pqxx/pqxx: no");
  EXPECT_EQ(Render({"services/quota", 0, "no README.md", "no"}),
            "services/quota: no README.md: no");
}

}  // namespace
}  // namespace muster::layers
