#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "services/common/error.h"
#include "services/musterctl/commands/commands_test_base.h"
#include "services/musterctl/manifest/manifest.h"
#include "tests/testing/temp_folder.h"

// edit, patch, diff -f and rollout.
namespace muster::musterctl {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::EndsWith;
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
  EXPECT_THAT(err(), HasSubstr("the editor (myedit -x) ended with 3"));
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
      {{"-p", "{"}, "patch: must be JSON"},
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

TEST_F(EditingTest, DiffOfFilesShowsWhatApplyWouldChange) {
  const std::string same =
      "apiVersion: compute.coreweave.com/v1alpha1\nkind: NodePool\nmetadata: {name: "
      "example-nodepool}\n"
      "spec: {instanceType: gd-8xa100-i128, targetNodes: 1}\n";
  EXPECT_EQ(RunLine({"diff", "-f", "-"}, same), kDone) << out() << err();
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

class RolloutTest : public EditingTest {
 protected:
  lifecycle::v1::NodePool In(lifecycle::v1::Reconfiguration::State state, int64_t rebooted,
                             int64_t behind) {
    lifecycle::v1::NodePool made = ReferencePool();
    made.mutable_status()->clear_node_configuration_revisions();
    for (const auto& [profile, nodes] :
         {std::pair("np-old", behind), std::pair("np-0123456789ab", rebooted)}) {
      auto& revision = *made.mutable_status()->add_node_configuration_revisions();
      revision.set_node_profile(profile);
      revision.set_active_nodes(nodes);
      revision.add_summary("GPU driver 570");
      revision.add_summary("Kubernetes 1.33");
      *revision.mutable_created_at() = TimestampOf("2025-06-09T14:48:54Z");
    }
    if (behind > 0) {
      Say(made, "StagedNodeConfig",
          absl::StrCat(behind, " of ", behind + rebooted,
                       " Nodes must be reconfigure-rebooted to reach np-0123456789ab."));
    }
    made.mutable_reconfiguration()->set_number(2);
    made.mutable_reconfiguration()->set_state(state);
    made.mutable_reconfiguration()->set_rebooted_nodes(rebooted);
    return made;
  }
  // NodeReconfigurationRequired, which is the last condition of the reference's pool.
  static void Say(lifecycle::v1::NodePool& pool, const std::string& reason,
                  const std::string& message) {
    auto& condition = *pool.mutable_status()->mutable_conditions()->rbegin();
    ASSERT_EQ(condition.type(), "NodeReconfigurationRequired");
    condition.set_reason(reason);
    condition.set_message(message);
  }
};

TEST_F(RolloutTest, StatusWaitsUntilItIsOver) {
  using Reconfiguration = lifecycle::v1::Reconfiguration;
  api_.pools = {In(Reconfiguration::STATE_RUNNING, 0, 3), In(Reconfiguration::STATE_RUNNING, 1, 2),
                absl::UnavailableError("away"), absl::DeadlineExceededError("slow"),
                In(Reconfiguration::STATE_DONE, 3, 0)};
  EXPECT_EQ(RunLine({"rollout", "status", "nodepool/train"}), kDone);
  EXPECT_EQ(out(),
            "Waiting for reconfiguration 2 of nodepool/train: 0 Nodes rebooted, 3 not at "
            "np-0123456789ab yet...\n"
            "Waiting for reconfiguration 2 of nodepool/train: 1 Nodes rebooted, 2 not at "
            "np-0123456789ab yet...\n"
            "the server is away, trying again\n"
            "nodepool/train: reconfiguration 2 is DONE, 3 Nodes rebooted\n");
  api_.pools = {In(Reconfiguration::STATE_RUNNING, 0, 3)};
  EXPECT_EQ(RunLine({"rollout", "status", "np/train", "--watch=false"}), kDone);
  clock_step_ = -absl::Hours(1);
  EXPECT_EQ(RunLine({"rollout", "status", "np/train", "--timeout=3s"}), kFailed);
  EXPECT_THAT(err(), StartsWith("error: timed out; Waiting for reconfiguration 2"));
  // What was undone is on its way, and no Node is at it yet.
  lifecycle::v1::NodePool undone = In(Reconfiguration::STATE_DONE, 3, 0);
  undone.mutable_status()->mutable_waiting_node_configuration()->set_node_profile("np-a");
  api_.pools = {undone};
  EXPECT_EQ(RunLine({"rollout", "status", "np/train", "--timeout=3s"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("timed out; Waiting for nodepool/train to be at np-a, once no Node "
                               "is in delivery"));
  lifecycle::v1::NodePool halted = In(Reconfiguration::STATE_HALTED, 1, 2);
  halted.mutable_reconfiguration()->set_halt_reason("2 boots failed");
  api_.pools = {halted};
  EXPECT_EQ(RunLine({"rollout", "status", "np/train"}), kFailed);
  EXPECT_THAT(err(),
              HasSubstr("is halted: 2 boots failed; musterctl rollout resume nodepool/train"));
  api_.pools = {In(Reconfiguration::STATE_CANCELLED, 1, 2)};
  EXPECT_EQ(RunLine({"rollout", "status", "np/train"}), kFailed);
  EXPECT_EQ(
      err(),
      "error: nodepool/train: 2 of 3 Nodes must be reconfigure-rebooted to reach np-0123456789ab. "
      "No reconfiguration runs; musterctl reconfigure nodepool/train begins one\n");
  api_.pools = {ReferencePool()};
  EXPECT_EQ(RunLine({"rollout", "status", "np/train"}), kDone);
  EXPECT_EQ(out(), "nodepool/train is up to date: 1 Nodes at np-0123456789ab\n");
}

// Revisions count Nodes that leave, and not those at a profile that is none of them.
TEST_F(RolloutTest, StatusGoesByTheConditionAndNotByTheRevisions) {
  using Reconfiguration = lifecycle::v1::Reconfiguration;
  const std::vector<std::string> status = {"rollout", "status", "np/train", "--timeout=3s"};
  for (const auto state : {Reconfiguration::STATE_DONE, Reconfiguration::STATE_CANCELLED}) {
    SCOPED_TRACE(state);
    lifecycle::v1::NodePool leaving = In(state, 2, 1);
    Say(leaving, "AllNodesUpToDate",
        "All nodes that stay are on the current configuration; 1 that leaves is not.");
    api_.pools = {leaving};
    EXPECT_EQ(RunLine(status), kDone) << err();
    lifecycle::v1::NodePool restored = In(state, 0, 0);
    Say(restored, "StagedNodeConfig",
        "8 of 8 Nodes must be reconfigure-rebooted to reach np-0123456789ab.");
    api_.pools = {restored};
    EXPECT_EQ(RunLine(status), kFailed);
    EXPECT_THAT(err(), StartsWith("error: nodepool/train: 8 of 8 Nodes must be "));
    // What is not known is waited for.
    lifecycle::v1::NodePool unknown = In(state, 3, 0);
    Say(unknown, "InternalError", "The configuration could not be read.");
    lifecycle::v1::NodePool unseen = In(state, 3, 0);
    unseen.set_generation(2);
    api_.pools = {unknown, unseen, leaving};
    EXPECT_EQ(RunLine(status), kDone) << err();
    EXPECT_THAT(out(), StartsWith("Waiting for nodepool/train: The configuration could not be "
                                  "read.\nWaiting for nodepool/train: the server has not looked "
                                  "at its last generation yet\nnodepool/train"));
  }
  // One of certain machines is over without the others.
  lifecycle::v1::NodePool some = In(Reconfiguration::STATE_DONE, 1, 2);
  some.mutable_reconfiguration()->add_machines("g1");
  api_.pools = {some};
  EXPECT_EQ(RunLine(status), kDone) << err();
}

// Nothing gets there any more: it is not waited for.
TEST_F(RolloutTest, StatusFailsWhereTheActiveConfigurationIsDisabled) {
  using Reconfiguration = lifecycle::v1::Reconfiguration;
  const auto disable = [](lifecycle::v1::NodePool& pool, int revision) {
    pool.mutable_status()->mutable_node_configuration_revisions(revision)->set_disabled(true);
  };
  for (const auto state : {Reconfiguration::STATE_DONE, Reconfiguration::STATE_CANCELLED}) {
    SCOPED_TRACE(state);
    lifecycle::v1::NodePool disabled = In(state, 1, 2);
    Say(disabled, "InternalError",
        "Configuration np-0123456789ab is disabled: too many boots failed.");
    lifecycle::v1::NodePool former = disabled;
    disable(former, 0);
    disable(disabled, 1);
    api_.pools = {former, disabled};
    EXPECT_EQ(RunLine({"rollout", "status", "np/train"}), kFailed);
    EXPECT_THAT(out(), StartsWith("Waiting for nodepool/train: ")) << "a former one is no obstacle";
    EXPECT_EQ(err(),
              "error: nodepool/train: Configuration np-0123456789ab is disabled: too many boots "
              "failed.\n");
    // All that stay may be at it.
    Say(disabled, "AllNodesUpToDate", "All nodes are on the current configuration.");
    api_.pools = {disabled};
    EXPECT_EQ(RunLine({"rollout", "status", "np/train"}), kDone) << err();
  }
}

TEST_F(RolloutTest, OfSeveralNodePools) {
  using Reconfiguration = lifecycle::v1::Reconfiguration;
  api_.pools = {In(Reconfiguration::STATE_DONE, 3, 0)};
  EXPECT_EQ(RunLine({"rollout", "status", "np/train", "np/eval"}), kDone);
  EXPECT_EQ(out(),
            "nodepool/train: reconfiguration 2 is DONE, 3 Nodes rebooted\n"
            "nodepool/eval: reconfiguration 2 is DONE, 3 Nodes rebooted\n");
  EXPECT_EQ(RunLine({"rollout", "history", "np", "train", "eval"}), kDone);
  EXPECT_THAT(out(), StartsWith("nodepool/train\nREVISION "));
  EXPECT_THAT(out(), HasSubstr("\n\nnodepool/eval\nREVISION "));
  EXPECT_EQ(RunLine({"rollout", "resume", "np/train", "np/eval"}), kDone);
  EXPECT_THAT(api_.calls, ElementsAre("control 1 train", "control 1 eval"));
  // One that fails does not keep the next from being asked for, and is told once.
  api_.pools = {absl::NotFoundError("train is gone"), In(Reconfiguration::STATE_DONE, 3, 0)};
  EXPECT_EQ(RunLine({"rollout", "undo", "np/train", "np/eval"}), kFailed);
  EXPECT_EQ(api_.calls.size(), 3u);
  EXPECT_THAT(err(), EndsWith("error: train is gone\n"));
}

TEST_F(RolloutTest, HistoryUndoPauseResume) {
  using Reconfiguration = lifecycle::v1::Reconfiguration;
  api_.pools = {In(Reconfiguration::STATE_DONE, 3, 1)};
  api_.configuration.set_active("np-old");
  EXPECT_EQ(RunLine({"rollout", "history", "np", "train"}), kDone);
  EXPECT_EQ(
      out(),
      "nodepool/train\n"
      "REVISION   PROFILE           STATE    NODES   AGE   SUMMARY\n"
      "1          np-old            former   1       10m   GPU driver 570; Kubernetes 1.33\n"
      "2          np-0123456789ab   active   3       10m   GPU driver 570; Kubernetes 1.33\n");
  EXPECT_EQ(RunLine({"rollout", "undo", "np/train"}), kDone);
  EXPECT_EQ(out(), "nodepool/train rolled back: it is at np-old\n");
  EXPECT_EQ(RunLine({"rollout", "undo", "np/train", "--to-revision=1"}), kDone);
  EXPECT_EQ(RunLine({"rollout", "pause", "np/train"}), kDone);
  EXPECT_EQ(RunLine({"rollout", "resume", "np/train"}), kDone);
  const std::string uid = ReferencePool().uid();
  EXPECT_THAT(api_.calls, ElementsAre("rollback " + uid + " ", "rollback " + uid + " np-old",
                                      "control 0 train", "control 1 train"));
  api_.calls.clear();
  EXPECT_EQ(RunLine({"rollout", "undo", "np/train", "--dry-run"}), kDone);
  EXPECT_EQ(out(), "nodepool/train would be rolled back: it would be at np-old\n");
  api_.changed.mutable_reconfiguration()->set_number(2);
  api_.changed.mutable_reconfiguration()->set_state(Reconfiguration::STATE_PAUSED);
  api_.changed.mutable_preview()->set_nodes_to_reboot(3);
  EXPECT_EQ(RunLine({"rollout", "pause", "np/train", "--dry-run"}), kDone);
  EXPECT_EQ(out(),
            "nodepool/train would be paused: reconfiguration 2 would be PAUSED\n"
            "  reboots:       3 Nodes to be rebooted\n");
  EXPECT_THAT(api_.calls, ElementsAre("try rollback " + uid + " ", "try control 0 train"));
  EXPECT_EQ(RunLine({"rollout", "undo", "np/train", "--to-revision=3"}), kWrongUse);
  EXPECT_THAT(err(), HasSubstr("--to-revision: must be 1 to 2"));
  EXPECT_EQ(RunLine({"rollout", "restart", "np/train"}), kWrongUse);
  EXPECT_THAT(err(), HasSubstr("musterctl reconfigure"));
  EXPECT_EQ(RunLine({"rollout", "stats", "np/train"}), kWrongUse);
  EXPECT_THAT(err(), HasSubstr("did you mean status?"));
}

}  // namespace
}  // namespace muster::musterctl
