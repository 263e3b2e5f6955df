#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "services/common/error.h"
#include "services/common/timestamp.h"
#include "services/musterctl/commands/testing/commands_test_base.h"
#include "services/musterctl/manifest/manifest.h"
#include "tests/testing/broken_disk.h"
#include "tests/testing/temp_folder.h"

// edit, patch and diff -f.
namespace muster::musterctl {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class EditingTest : public CommandsTest {
 protected:
  void SetUp() override {
    api_.items[Kind::kNodePool] = {ReferencePool()};
    environment_["TMPDIR"] = ::testing::TempDir();
    environment_["EDITOR"] = "myedit -x";
    api_.applied.outcome = Outcome::kConfigured;
  }
  lifecycle::v1::NodePool& pool() {
    return std::get<lifecycle::v1::NodePool>(api_.items[Kind::kNodePool][0]);
  }
  // An editor that replaces a text in the file.
  void EditorReplaces(const std::string& what, const std::string& by) {
    execute_ = [this, what, by](const std::string& command) {
      commands_.push_back(command);
      const size_t quote = command.find('\'');
      file_ = command.substr(quote + 1, command.size() - quote - 2);
      std::ifstream in(file_);
      std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
      in.close();
      std::ofstream(file_) << absl::StrReplaceAll(text, {{what, by}});
      return 0;
    };
  }
  const lifecycle::v1::NodePool& sent() {
    return std::get<lifecycle::v1::NodePool>(api_.resources.back());
  }

  std::vector<std::string> commands_;
  std::string file_;
};

TEST_F(EditingTest, EditSendsWhatWasChangedUnderTheEtag) {
  EditorReplaces("targetNodes: 1", "targetNodes: 7");
  EXPECT_EQ(RunLine({"edit", "nodepool/example-nodepool"}), kDone) << err();
  EXPECT_EQ(out(), "nodepool/example-nodepool edited\n");
  EXPECT_THAT(commands_.back(), StartsWith("myedit -x '"));
  EXPECT_EQ(sent().spec().target_nodes(), 7);
  EXPECT_EQ(sent().etag(), "857370");
  EXPECT_EQ(sent().name(), ReferencePool().name());
  EXPECT_THAT(api_.calls, ElementsAre("update spec.target_nodes"));
  EXPECT_FALSE(std::filesystem::exists(file_));
  environment_["MUSTER_EDITOR"] = "other";
  EditorReplaces("nothing", "nothing");
  EXPECT_EQ(RunLine({"edit", "np", "example-nodepool"}), kDone);
  EXPECT_EQ(out(), "Edit cancelled, no changes made.\n");
  EXPECT_THAT(commands_.back(), StartsWith("other '"));
  EXPECT_EQ(api_.resources.size(), 1u);
  environment_["TMPDIR"] = "";
  EXPECT_EQ(RunLine({"edit", "np", "example-nodepool"}), kDone) << err();
  EXPECT_THAT(file_, StartsWith("/tmp/musterctl-edit-")) << "as where it is not set";
}

// As on a disk that is full. Until the end of its life, no file can be written to.
class FullDisk {
 public:
  FullDisk() {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit none{.rlim_cur = 0, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &none);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  void (*const handler_)(int) = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before_ = {};
};

TEST_F(EditingTest, AFileThatCannotBeWrittenIsNotOpened) {
  const muster::testing::TempFolder folder;
  environment_["TMPDIR"] = folder.path();
  EditorReplaces("targetNodes: 1", "targetNodes: 7");
  int code = kDone;
  {
    const FullDisk disk;
    code = RunLine({"edit", "nodepool/example-nodepool"});
  }
  EXPECT_EQ(code, kFailed);
  EXPECT_THAT(err(), HasSubstr("cannot be written"));
  EXPECT_THAT(commands_, IsEmpty());
  EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "it does not stay behind";
}

// The status alone moves the etag on.
TEST_F(EditingTest, WhatOnlyTheServerChangedIsNoConflict) {
  EditorReplaces("targetNodes: 1", "targetNodes: 7");
  api_.apply_answers = {[this] {
    pool().set_etag("2");
    pool().mutable_status()->set_current_nodes(3);
    return absl::AbortedError("ETAG_MISMATCH");
  }};
  EXPECT_EQ(RunLine({"edit", "nodepool/example-nodepool"}), kDone) << err();
  EXPECT_EQ(api_.resources.size(), 2u);
  EXPECT_EQ(sent().etag(), "2");
}

TEST_F(EditingTest, AnEditOfOneFieldIsInNobodysWay) {
  EditorReplaces("maxNodes: 0", "maxNodes: 9");
  api_.apply_answers = {[this] {
    pool().set_etag("2");
    pool().set_generation(2);
    pool().mutable_spec()->set_target_nodes(9);
    return absl::AbortedError("ETAG_MISMATCH");
  }};
  EXPECT_EQ(RunLine({"edit", "nodepool/example-nodepool"}), kDone) << err();
  EXPECT_THAT(api_.calls, ElementsAre("update spec.max_nodes", "update spec.max_nodes"));
  EXPECT_EQ(sent().etag(), "2");
  EXPECT_EQ(sent().generation(), 2);
}

// Under their paths in the API, as the server takes them (services/lifecycle/core/spec_fields.h).
TEST_F(EditingTest, OnlyTheFieldsThatAreChangedAreNamed) {
  auto& spec = *pool().mutable_spec();
  spec.mutable_node_affinity()->add_terms()->add_expressions()->set_key("rack");
  spec.mutable_node_affinity()->mutable_terms(0)->mutable_expressions(0)->set_operator_("Exists");
  spec.mutable_image()->set_kernel("6.1");
  const std::pair<const char*, const char*> cases[] = {
      {R"({"spec":{"targetNodes":2,"priority":3}})", "update spec.priority,spec.target_nodes"},
      {R"({"spec":{"lifecycle":{"maxUnavailable":"2"}}})", "update spec.lifecycle.max_unavailable"},
      {R"({"spec":{"lifecycle":null}})", "update spec.lifecycle"},
      {R"({"spec":{"image":{"kernel":null,"name":"i"}}})",
       "update spec.image.kernel,spec.image.name"},
      {R"({"spec":{"prefill":{"enabled":true}}})", "update spec.prefill"},
      {R"({"spec":{"nodeConfigurationUpdateStrategy":{"type":"Always"}}})",
       "update spec.node_configuration_update_strategy"},
      {R"({"spec":{"nodeLabels":{"a.b/c":"d"}}})", "update spec.node_labels"},
      {R"({"spec":{"nodeTaints":[{"key":"a","effect":"NoSchedule"}]}})", "update spec.node_taints"},
      {R"({"spec":{"nodeAffinity":{"terms":[{"expressions":[{"key":"b","operator":"Exists"}]}]}}})",
       "update spec.node_affinity"},
      {R"({"spec":{"nodeAffinity":null}})", "update spec.node_affinity"}};
  for (const auto& [patch, call] : cases) {
    EXPECT_EQ(RunLine({"patch", "np/example-nodepool", "-p", patch}), kDone) << err();
    EXPECT_EQ(api_.calls.back(), call);
  }
  api_.calls.clear();
  EXPECT_EQ(RunLine({"patch", "np/example-nodepool", "-p", R"({"spec":{"targetNodes":1}})"}),
            kDone);
  EXPECT_EQ(out(), "nodepool/example-nodepool patched (no change)\n");
  EXPECT_THAT(api_.calls, IsEmpty());
}

TEST_F(EditingTest, WhatIsNotKnownHereIsLeftAsItIsOrRefused) {
  const auto add_unknown = [](google::protobuf::Message& message) {
    message.GetReflection()->MutableUnknownFields(&message)->AddVarint(5000, 1);
  };
  auto& spec = *pool().mutable_spec();
  spec.add_node_taints()->set_key("a");
  spec.mutable_node_taints(0)->set_effect("NoSchedule");
  add_unknown(spec);
  add_unknown(*spec.mutable_node_taints(0));
  EXPECT_EQ(RunLine({"patch", "np/example-nodepool", "-p", R"({"spec":{"targetNodes":2}})"}), kDone)
      << err();
  EXPECT_THAT(api_.calls, ElementsAre("update spec.target_nodes"));
  EXPECT_EQ(RunLine({"patch", "np/example-nodepool", "-p", R"({"spec":{"nodeTaints":null}})"}),
            kFailed);
  EXPECT_THAT(err(), HasSubstr("has fields that this musterctl does not know"));
  EXPECT_EQ(api_.calls.size(), 1u);
}

TEST_F(EditingTest, AServerWithoutUpdateNodePoolTakesTheWholeSpec) {
  api_.apply_answers = {[] { return absl::UnimplementedError("unknown method"); }};
  EXPECT_EQ(RunLine({"patch", "np/example-nodepool", "-p", R"({"spec":{"targetNodes":2}})"}),
            kDone);
  EXPECT_THAT(api_.calls, ElementsAre("update spec.target_nodes", "apply 7"));
  EXPECT_EQ(sent().etag(), "857370");
}

TEST_F(EditingTest, WhatMustFitSaysSo) {
  EditorReplaces("targetNodes: 1", "targetNodes: 7");
  EXPECT_EQ(RunLine({"edit", "nodepool/example-nodepool", "--must-fit"}), kDone);
  EXPECT_EQ(RunLine({"patch", "np/example-nodepool", "-p", R"({"spec":{"targetNodes":2}})",
                     "--must-fit", "--dry-run"}),
            kDone);
  EXPECT_THAT(api_.calls, ElementsAre("update spec.target_nodes must fit",
                                      "try update spec.target_nodes must fit"));
}

TEST_F(EditingTest, AConflictKeepsTheFileAndSaysSo) {
  EditorReplaces("targetNodes: 1", "targetNodes: 7");
  api_.apply_answers = {[this] {
    pool().set_etag("2");
    pool().mutable_spec()->set_target_nodes(9);
    return absl::AbortedError("the etag is not the pool's");
  }};
  EXPECT_EQ(RunLine({"edit", "nodepool/example-nodepool"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("was changed by somebody else meanwhile"));
  EXPECT_THAT(err(), HasSubstr(absl::StrCat("your edit is kept in ", file_)));
  EXPECT_TRUE(std::filesystem::exists(file_));
  unlink(file_.c_str());
  // So does a text that is none, or of another.
  EditorReplaces("targetNodes: 1", "targetNodes: many");
  api_.items[Kind::kNodePool] = {ReferencePool()};
  EXPECT_EQ(RunLine({"edit", "nodepool/example-nodepool"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("spec.targetNodes: must be an integer"));
  EXPECT_TRUE(std::filesystem::exists(file_));
  unlink(file_.c_str());
  EditorReplaces("name: example-nodepool", "name: other");
  EXPECT_EQ(RunLine({"edit", "nodepool/example-nodepool"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("what its name is made of cannot be changed"));
  unlink(file_.c_str());
  execute_ = [](const std::string&) { return 3; };
  EXPECT_EQ(RunLine({"edit", "nodepool/example-nodepool"}), kFailed);
  EXPECT_EQ(err(), "error: the editor (myedit -x) ended with 3\n");
  EditorReplaces("targetNodes: 1", "targetNodes: 7");
  execute_ = [edit = execute_](const std::string& command) { return edit(command) + 4; };
  EXPECT_EQ(RunLine({"edit", "nodepool/example-nodepool"}), kFailed);
  EXPECT_THAT(err(), HasSubstr(absl::StrCat("ended with 4; the file is kept in ", file_)));
  EXPECT_TRUE(std::filesystem::exists(file_));
  unlink(file_.c_str());
  EditorReplaces("targetNodes: 1", "targetNodes: 7");
  execute_ = [edit = execute_, this](const std::string& command) {
    const int code = edit(command);
    unlink(file_.c_str());
    return code;
  };
  EXPECT_EQ(RunLine({"edit", "nodepool/example-nodepool"}), kFailed);
  EXPECT_THAT(err(), HasSubstr(absl::StrCat(file_, ": cannot be read")));
  EXPECT_EQ(api_.resources.size(), 1u);
}

// Whoever looks at what would come of it may want it then.
TEST_F(EditingTest, WhatWasOnlyTriedIsKept) {
  EditorReplaces("targetNodes: 1", "targetNodes: 7");
  EXPECT_EQ(RunLine({"edit", "nodepool/example-nodepool", "--dry-run"}), kDone);
  EXPECT_THAT(out(), StartsWith("nodepool/example-nodepool would be edited"));
  EXPECT_EQ(err(), absl::StrCat("note: your edit is kept in ", file_,
                                "; see musterctl diff -f and apply -f\n"));
  const auto kept = ParseManifests(file_, testing::ReadFile(file_), {"acme", "example"});
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_EQ(std::get<lifecycle::v1::NodePool>(kept->front().resource).spec().target_nodes(), 7);
  unlink(file_.c_str());
  // A comment is no change.
  EditorReplaces("# Change", "#  Change");
  EXPECT_EQ(RunLine({"edit", "nodepool/example-nodepool", "--dry-run"}), kDone);
  EXPECT_FALSE(std::filesystem::exists(file_));
  EXPECT_EQ(err(), "");
}

TEST_F(EditingTest, AFileThatIsKeptIsOfWhereItWas) {
  pool().set_name("organizations/beta/clusters/c2/nodePools/train");
  EditorReplaces("targetNodes: 1", "targetNodes: 7");
  api_.apply_answers = {[] {
    error::Detail detail{.reason = "INVALID_FIELD"};
    detail.fields = {{"node_pool.spec.targetNodes", "must not be 7."},
                     {"node_pool.spec.maxNodes", "must be more."}};
    return error::Make(absl::StatusCode::kInvalidArgument, "two faults", detail);
  }};
  EXPECT_EQ(RunLine({"edit", "nodepool/organizations/beta/clusters/c2/nodePools/train"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("spec.targetNodes: must not be 7.")) << "each by its field";
  EXPECT_THAT(err(), HasSubstr("spec.maxNodes: must be more."));
  EXPECT_THAT(err(), HasSubstr(file_));
  const auto kept = ParseManifests(file_, testing::ReadFile(file_), {"acme", "example"});
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_EQ(std::get<lifecycle::v1::NodePool>(kept->front().resource).name(), pool().name());
  unlink(file_.c_str());
}

// A zone has no etag: it is looked at once more before it is written.
TEST_F(EditingTest, WhatHasNoEtagIsNotWrittenOverAnothersChange) {
  capacity::v1::Zone zone;
  zone.set_name("zones/US-EAST-04A");
  zone.add_instance_types("a");
  api_.items[Kind::kZone] = {zone};
  int gets = 0;
  api_.before_get = [&] {
    if (++gets == 2)
      std::get<capacity::v1::Zone>(api_.items[Kind::kZone][0]).add_instance_types("t");
  };
  EditorReplaces("- a", "- b");
  EXPECT_EQ(RunLine({"edit", "zone/US-EAST-04A"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("was changed by somebody else meanwhile"));
  EXPECT_THAT(api_.resources, IsEmpty());
  unlink(file_.c_str());
  // A patch is made anew of what it is by then.
  gets = 0;
  EXPECT_EQ(RunLine({"patch", "zone/US-EAST-04A", "-p", R"({"spec":{"instanceTypes":["u"]}})"}),
            kDone);
  EXPECT_EQ(gets, 4);
}

TEST_F(EditingTest, PatchChangesFieldsAndNothingElse) {
  EXPECT_EQ(RunLine({"patch", "np/example-nodepool", "--type", "merge", "-p",
                     R"({"spec":{"targetNodes":4,"nodeLabels":{"team":"ml"}}})"}),
            kDone)
      << err();
  EXPECT_EQ(out(), "nodepool/example-nodepool patched\n");
  EXPECT_EQ(sent().spec().target_nodes(), 4);
  EXPECT_EQ(sent().spec().instance_type(), "gd-8xa100-i128");
  EXPECT_EQ(sent().spec().node_labels().at("team"), "ml");
  EXPECT_EQ(sent().etag(), "857370");
  EXPECT_EQ(RunLine({"patch", "np/example-nodepool", "--type=json", "-p",
                     R"([{"op":"replace","path":"/spec/targetNodes","value":2}])", "--dry-run"}),
            kDone);
  EXPECT_EQ(out(), "nodepool/example-nodepool would be patched\n");
  EXPECT_EQ(api_.calls.back(), "try update spec.target_nodes");
  // Somebody else's change is kept, and the patch made on it.
  api_.apply_answers = {[this] {
    pool().set_etag("2");
    pool().mutable_spec()->set_description("by another");
    return absl::AbortedError("etag");
  }};
  EXPECT_EQ(RunLine({"patch", "np/example-nodepool", "-p", R"({"spec":{"targetNodes":5}})"}),
            kDone);
  EXPECT_EQ(sent().spec().description(), "by another");
  EXPECT_EQ(sent().spec().target_nodes(), 5);
  EXPECT_EQ(RunLine({"patch", "np/example-nodepool", "--type=json", "-p",
                     R"([{"op":"test","path":"/spec/targetNodes","value":77}])"}),
            kFailed);
  EXPECT_THAT(err(), HasSubstr("unsuccessful"));
  const std::pair<std::vector<std::string>, const char*> wrong[] = {
      {{"-p", "{"}, "patch: at character 2: must be JSON"},
      {{"-p", "[]"}, "a merge patch must be a JSON object"},
      {{"-p", "{}", "--type=strategic"}, "--type: must be merge or json, is \"strategic\""},
      {{}, "-p PATCH or --patch-file FILE is missing"}};
  for (const auto& [flags, text] : wrong) {
    std::vector<std::string> line = {"patch", "np/example-nodepool"};
    line.insert(line.end(), flags.begin(), flags.end());
    EXPECT_EQ(RunLine(line), kWrongUse) << text;
    EXPECT_THAT(err(), HasSubstr(text));
  }
  const std::string folder = ::testing::TempDir();
  EXPECT_EQ(RunLine({"patch", "np/example-nodepool", "--patch-file", folder}), kFailed);
  EXPECT_THAT(err(), HasSubstr(absl::StrCat(folder, ": cannot be read")));
  // An object that has no such path has failed, and the others' turn comes.
  EXPECT_EQ(RunLine({"patch", "np/example-nodepool", "np/b", "--type=json", "-p",
                     R"([{"op":"remove","path":"/spec/nosuch"}])"}),
            kFailed);
  EXPECT_THAT(err(), ContainsRegex("nosuch(.|\n)*b does not exist"));
  EXPECT_EQ(RunLine({"patch", "np/example-nodepool", "-p", R"({"spec":{"nosuch":1}})"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("spec.nosuch"));
  EXPECT_EQ(RunLine({"patch", "np/example-nodepool", "-p", R"({"metadata":{"name":"b"}})"}),
            kFailed);
  EXPECT_THAT(err(), HasSubstr("must still be nodepool example-nodepool"));
}

TEST_F(EditingTest, APatchThatFailsMidwayIsNotSent) {
  muster::testing::BrokenDisk disk(R"({"spec":{"targetNodes":9}})");
  std::istream in(&disk);
  input_ = &in;
  EXPECT_EQ(RunLine({"patch", "np/example-nodepool", "--patch-file=-"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("standard input: cannot be read"));
  EXPECT_THAT(api_.calls, IsEmpty());
}

TEST_F(EditingTest, DiffOfFilesShowsWhatApplyWouldChange) {
  const std::string same =
      "apiVersion: compute.coreweave.com/v1alpha1\nkind: NodePool\nmetadata: {name: "
      "example-nodepool}\n"
      "spec: {instanceType: gd-8xa100-i128, targetNodes: 1}\n";
  EXPECT_EQ(RunLine({"diff", "-f", "-"}, same), kDone) << out() << err();
  EXPECT_EQ(RunLine({"diff", "-f", "-", "--since=1h"}, same), kWrongUse) << "of now alone";
  EXPECT_EQ(out(), "");
  EXPECT_EQ(RunLine({"diff", "-f", "-"},
                    absl::StrReplaceAll(same, {{"targetNodes: 1", "targetNodes: 6"}})),
            kFailed);
  EXPECT_THAT(out(), StartsWith("--- nodepool/example-nodepool\n+++ nodepool/example-nodepool "
                                "(standard input: document 1, line 1)\n@@ "));
  EXPECT_THAT(out(), HasSubstr("\n-  targetNodes: 1\n+  targetNodes: 6\n"));
  EXPECT_EQ(err(), "");
  EXPECT_EQ(RunLine({"diff", "-f", "-"}, absl::StrReplaceAll(same, {{"example-nodepool", "new"}})),
            kFailed);
  EXPECT_THAT(out(), StartsWith("--- /dev/null\n+++ nodepool/new"));
  EXPECT_THAT(api_.calls, IsEmpty());
}

// Whether the scope's is there or not.
TEST_F(EditingTest, DiffOfFilesGoesByTheClusterThatAManifestNames) {
  lifecycle::v1::Cluster there;
  there.set_name("organizations/acme/clusters/c1");
  api_.items[Kind::kCluster] = {there};
  const std::string here =
      "{apiVersion: compute.coreweave.com/v1alpha1, kind: NodePool, metadata: {name: new, "
      "organization: acme, cluster: c1}, spec: {instanceType: t, targetNodes: 1}}\n";
  EXPECT_EQ(RunLine({"diff", "-f", "-"}, here), kFailed);
  EXPECT_THAT(out(), StartsWith("--- /dev/null\n+++ nodepool/"));
  EXPECT_EQ(err(), "");
  const std::string nowhere = absl::StrReplaceAll(here, {{"c1", "c9"}});
  environment_["MUSTER_CLUSTER"] = "c1";
  EXPECT_EQ(RunLine({"diff", "-f", "-"}, nowhere), 2) << "not known is not different";
  EXPECT_EQ(out(), "");
  EXPECT_THAT(err(), HasSubstr("(standard input: document 1, line 1): "
                               "organizations/acme/clusters/c9 does not exist."));
  const std::string makes =
      "---\n{apiVersion: muster/v1, kind: Cluster, metadata: {name: c9}, spec: {zone: A-1A}}\n";
  EXPECT_EQ(RunLine({"diff", "-f", "-"}, nowhere + makes), kFailed);
  EXPECT_EQ(err(), "");
}

// Nothing is shown that apply would not do, and nothing left out that it would.
TEST_F(EditingTest, DiffOfFilesKnowsWhatApplyLeavesAsItIs) {
  quota::v1::Quota quota;
  quota.set_name("organizations/acme/quotas/RNO2A~gd-8xa100-i128~default");
  quota.set_limit(4);
  quota.add_overrides()->set_limit(8);
  api_.items[Kind::kQuota] = {quota};
  capacity::v1::Zone zone;
  zone.set_name("zones/RNO2A");
  zone.set_access(capacity::v1::Zone::ACCESS_GENERAL);
  for (const char* type : {"a-type", "b-type"}) zone.add_instance_types(type);
  api_.items[Kind::kZone] = {zone};
  EXPECT_EQ(
      RunLine(
          {"diff", "-f", "-"},
          "{apiVersion: muster/v1, kind: Quota, metadata: {organization: acme}, spec: {zone: "
          "RNO2A, "
          "instanceType: gd-8xa100-i128, limit: 4}}\n---\n"
          "{apiVersion: muster/v1, kind: Zone, metadata: {name: RNO2A}, spec: {access: general, "
          "instanceTypes: [b-type, a-type, a-type]}}\n"),
      kDone)
      << out() << err();

  configuration::v1::Release release;
  release.set_name("channels/stable/components/gpu-driver/releases/570");
  release.mutable_withdraw_time()->set_seconds(1);
  api_.items[Kind::kRelease] = {release};
  const std::string published =
      "{apiVersion: muster/v1, kind: Release, metadata: {}, spec: {channel: stable, component: "
      "gpu-driver, "
      "version: '570'}}\n";
  EXPECT_EQ(RunLine({"diff", "-f", "-"}, published), kFailed) << "it would be in force again";
  EXPECT_THAT(out(), HasSubstr("-status: withdrawn"));
  EXPECT_EQ(RunLine({"diff", "-f", "-"},
                    absl::StrReplaceAll(published, {{"spec:",
                                                     "status: {withdrawTime: "
                                                     "'2026-01-01T00:00:00Z'}, spec:"}})),
            kDone)
      << out();
}

// A list that is empty says that there are none.
TEST_F(EditingTest, OverridesThatAFileEmptiesGo) {
  quota::v1::Quota quota;
  quota.set_name("organizations/acme/quotas/RNO2A~gd-8xa100-i128~default");
  quota.set_limit(4);
  quota.add_overrides()->set_limit(8);
  api_.items[Kind::kQuota] = {quota};
  const std::string emptied =
      "{apiVersion: muster/v1, kind: Quota, metadata: {organization: acme}, spec: {zone: RNO2A, "
      "instanceType: gd-8xa100-i128, limit: 4, overrides: []}}\n";
  EXPECT_EQ(RunLine({"diff", "-f", "-"}, emptied), kFailed);
  EXPECT_THAT(out(), HasSubstr("\n-  overrides:\n"));
  EXPECT_EQ(RunLine({"apply", "-f", "-"}, emptied), kDone) << err();
  const std::string silent = absl::StrReplaceAll(emptied, {{", overrides: []", ""}});
  EXPECT_EQ(RunLine({"diff", "-f", "-"}, silent), kDone) << out();
  EXPECT_EQ(RunLine({"apply", "-f", "-"}, silent), kDone) << err();
  EXPECT_THAT(api_.calls, ElementsAre("apply 4 overrides", "apply 4"));
}

// The server takes away what has lapsed, and cuts times to microseconds.
TEST_F(EditingTest, DiffOfFilesKnowsOverridesAsTheServerKeepsThem) {
  const absl::Time now = clock_.Now();
  quota::v1::Quota quota;
  quota.set_name("organizations/acme/quotas/RNO2A~gd-8xa100-i128~default");
  quota.set_limit(4);
  api_.items[Kind::kQuota] = {quota};
  const auto manifest = [](absl::Time begin, absl::Time end) {
    const auto text = [](absl::Time time) {
      return absl::FormatTime(absl::RFC3339_full, time, absl::UTCTimeZone());
    };
    return absl::StrCat(
        "{apiVersion: muster/v1, kind: Quota, metadata: {organization: acme}, spec: {zone: RNO2A, "
        "instanceType: gd-8xa100-i128, limit: 4, overrides: [{limit: 8, effectiveTime: '",
        text(begin), "', expireTime: '", text(end), "'}]}}\n");
  };
  const absl::Time begin = now - absl::Hours(1);
  EXPECT_EQ(RunLine({"diff", "-f", "-"}, manifest(begin, now)), kDone) << "lapsed" << out();
  const absl::Time end = now + absl::Microseconds(1);
  EXPECT_EQ(RunLine({"diff", "-f", "-"}, manifest(begin, end)), kFailed) << "in force yet";
  quota::v1::LimitOverride& kept = *quota.add_overrides();
  kept.set_limit(8);
  SetTimestamp(begin, kept.mutable_effective_time());
  SetTimestamp(end, kept.mutable_expire_time());
  api_.items[Kind::kQuota] = {quota};
  const absl::Duration cut = absl::Nanoseconds(999);
  EXPECT_EQ(RunLine({"diff", "-f", "-"}, manifest(begin + cut, end + cut)), kDone) << out();
  api_.items[Kind::kQuota] = {};
  EXPECT_EQ(RunLine({"diff", "-f", "-"}, manifest(begin, now)), kFailed) << "a new Quota";
  EXPECT_THAT(out(), Not(HasSubstr("expireTime"))) << "without what has lapsed";
  EXPECT_EQ(RunLine({"diff", "-f", "-"}, manifest(begin, end)), kFailed);
  EXPECT_THAT(out(), HasSubstr("expireTime"));
}

TEST_F(EditingTest, APatchOfWhatIsNoPlaceIsRefusedAsAWhole) {
  for (
      const char* patch :
      {R"([{"op":"add","path":"/spec/targetNodes/x","value":1},{"op":"replace","path":"/spec/targetNodes","value":3}])",
       R"([{"op":"remove","path":"/spec/instanceType/0"}])",
       R"([{"op":"copy","from":"/spec/instanceType/0","path":"/spec/targetNodes"}])"}) {
    EXPECT_EQ(RunLine({"patch", "np", "example-nodepool", "--type=json", "-p", patch}), kFailed);
    EXPECT_THAT(err(), HasSubstr("is neither an object nor a list"));
  }
  EXPECT_THAT(api_.calls, IsEmpty());
}

}  // namespace
}  // namespace muster::musterctl
