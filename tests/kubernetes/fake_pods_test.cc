// What both back ends do with Pods that end, and with Events.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/kubernetes/raw_request.h"
#include "tests/kubernetes/server_test_base.h"

namespace muster::testing {
namespace {

using ::absl::StatusCode;
using kubernetes::ErrorOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Pair;

class PodsTest : public ServerTest {
 protected:
  static Json Options(int grace) {
    return {{"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"gracePeriodSeconds", grace}};
  }
  static Json LabelledPod(const std::string& name, const std::string& app) {
    Json pod = Pod(name, "some-node");
    pod["metadata"]["labels"]["app"] = app;
    return pod;
  }
  static Json Budget(const std::string& app, const char* rule, int number) {
    return {{"apiVersion", "policy/v1"},
            {"kind", "PodDisruptionBudget"},
            {"metadata", {{"name", app}}},
            {"spec", {{rule, number}, {"selector", {{"matchLabels", {{"app", app}}}}}}}};
  }
  absl::Status Evict(const std::string& name, const std::string& uid = "") {
    Json eviction = {{"apiVersion", "policy/v1"},
                     {"kind", "Eviction"},
                     {"metadata", {{"name", name}, {"namespace", "default"}}}};
    if (!uid.empty()) eviction["deleteOptions"]["preconditions"]["uid"] = uid;
    return client_->Create(At(kPods, name, "eviction"), eviction).status();
  }
  bool IsEnding(const std::string& name) {
    return Get(At(kPods, name))["metadata"].contains("deletionTimestamp");
  }
  PodCounts Counts(const Json& pod) { return server().fake_or_null()->CountsOf(UidOf(pod)); }
};

TEST_F(PodsTest, StartPending) {
  Json pod = Pod(Name("pod"), "some-node");
  pod["status"]["phase"] = "Running";
  pod = Create(kPods, pod);
  EXPECT_EQ(pod["status"]["phase"], "Pending");
  EXPECT_EQ(pod["spec"]["terminationGracePeriodSeconds"], 30);
}

TEST_F(PodsTest, WaitForTheirNodeToEnd) {
  const std::string name = Name("pod");
  const Json pod = RunPod(Pod(name, "some-node"));
  EXPECT_THAT(client_->Delete(At(kPods, name)), IsOk());
  EXPECT_TRUE(IsEnding(name));
  EXPECT_EQ(Get(At(kPods, name))["metadata"]["deletionGracePeriodSeconds"], 30);
  const Json ending = Get(At(kPods, name));
  EXPECT_THAT(client_->Delete(At(kPods, name)), IsOk());
  EXPECT_EQ(Get(At(kPods, name)), ending);
  EXPECT_THAT(client_->Delete(At(kPods, name), Options(5)), IsOk());
  EXPECT_EQ(Get(At(kPods, name))["metadata"]["deletionGracePeriodSeconds"], 5);
  EXPECT_THAT(client_->Delete(At(kPods, name), Options(0)), IsOk());
  EXPECT_THAT(client_->Get(At(kPods, name)), StatusIs(StatusCode::kNotFound));
  if (server().is_real()) return;
  EXPECT_EQ(Counts(pod).deletes, 1);
  EXPECT_EQ(Counts(pod).deletes_again, 3);
}

TEST_F(PodsTest, WaitForTheirFinalizersToo) {
  const std::string name = Name("pod");
  Json pod = Pod(name, "some-node");
  pod["metadata"]["finalizers"] = Json::array({"test.example/hold"});
  Create(kPods, pod);
  EXPECT_THAT(client_->Delete(At(kPods, name)), IsOk());
  EXPECT_THAT(client_->Delete(At(kPods, name), Options(0)), IsOk());
  EXPECT_EQ(Get(At(kPods, name))["metadata"]["deletionGracePeriodSeconds"], 0);
  Need(Merge(At(kPods, name), {{"metadata", {{"finalizers", nullptr}}}}));
  EXPECT_THAT(client_->Get(At(kPods, name)), StatusIs(StatusCode::kNotFound));
}

TEST_F(PodsTest, EndAtOnceWhereNobodyRunsThem) {
  const std::string unbound = Name("pod");
  Create(kPods, Pod(unbound, ""));
  EXPECT_THAT(client_->Delete(At(kPods, unbound)), IsOk());
  EXPECT_THAT(client_->Get(At(kPods, unbound)), StatusIs(StatusCode::kNotFound));
  const std::string finished = Name("pod");
  Create(kPods, Pod(finished, "some-node"));
  Need(Merge(At(kPods, finished, "status"), {{"status", {{"phase", "Succeeded"}}}}));
  EXPECT_THAT(client_->Delete(At(kPods, finished)), IsOk());
  EXPECT_THAT(client_->Get(At(kPods, finished)), StatusIs(StatusCode::kNotFound));
}

TEST_F(PodsTest, AreEvictedGracefully) {
  const std::string name = Name("pod");
  const Json pod = RunPod(Pod(name, "some-node"));
  EXPECT_THAT(Evict(name, "6fb8ed1e-6c4d-4c26-9a0f-1a3b8e3a0a11"), StatusIs(StatusCode::kAborted));
  EXPECT_FALSE(IsEnding(name));
  EXPECT_THAT(Evict(name, UidOf(pod)), IsOk());
  EXPECT_TRUE(IsEnding(name));
  EXPECT_THAT(Evict(name, UidOf(pod)), IsOk());
  EXPECT_THAT(Evict("nobody"), StatusIs(StatusCode::kNotFound));
  if (server().is_real()) return;
  EXPECT_EQ(Counts(pod).evictions, 1);
  EXPECT_EQ(Counts(pod).evictions_again, 1);
  EXPECT_EQ(Counts(pod).deletes, 0);
}

TEST_F(PodsTest, StayWhereABudgetForbidsIt) {
  for (const auto& [rule, number] :
       {std::pair("minAvailable", 2), std::pair("maxUnavailable", 1)}) {
    SCOPED_TRACE(rule);
    const std::string app = Name("app");
    std::vector<std::string> names;
    std::vector<Json> pods;
    for (int i = 0; i < 3; ++i) {
      names.push_back(Name("pod"));
      pods.push_back(RunPod(LabelledPod(names.back(), app)));
    }
    Create(kBudgets, Budget(app, rule, number));
    server().SettleBudgets();
    EXPECT_THAT(Evict(names[0]), IsOk());
    const absl::Status refused = Evict(names[1]);
    EXPECT_THAT(refused, StatusIs(StatusCode::kResourceExhausted,
                                  HasSubstr("would violate the pod's disruption budget")));
    EXPECT_THAT(ErrorOf(refused).causes, Contains(Key("DisruptionBudget")));
    EXPECT_EQ(ErrorOf(refused).retry_after, absl::ZeroDuration());
    EXPECT_FALSE(IsEnding(names[1]));
    // On its way out already: no budget is asked.
    EXPECT_THAT(Evict(names[0]), IsOk());
    EXPECT_THAT(client_->Delete(At(kBudgets, app)), IsOk());
    EXPECT_THAT(Evict(names[1]), IsOk());
    if (server().is_real()) continue;
    EXPECT_EQ(Counts(pods[1]).evictions_refused, 1);
    EXPECT_EQ(Counts(pods[1]).evictions, 1);
  }
}

TEST_F(PodsTest, AreFreeWhileTheyDoNotRun) {
  const std::string app = Name("app");
  const std::string name = Name("pod");
  Create(kPods, LabelledPod(name, app));
  Create(kBudgets, Budget(app, "maxUnavailable", 0));
  server().SettleBudgets();
  EXPECT_THAT(Evict(name), IsOk());
}

TEST_F(PodsTest, ArePatchedStrategicallyByKubelets) {
  const std::string name = Name("node");
  Json node = Node(name);
  Create(kNodes, node);
  const auto patch = [&](const char* type, const char* status) {
    const Json body = {
        {"status", {{"conditions", Json::array({Json({{"type", type}, {"status", status}})})}}}};
    return SendRaw(server(), "PATCH", At(kNodes, name, "status"), body.dump(),
                   "application/strategic-merge-patch+json")
        .code;
  };
  EXPECT_EQ(patch("Ready", "False"), 200);
  EXPECT_EQ(patch("DiskPressure", "False"), 200);
  EXPECT_EQ(patch("Ready", "True"), 200);
  std::vector<std::string> conditions;
  node = Get(At(kNodes, name));
  for (const Json& each : node["status"]["conditions"])
    conditions.push_back(
        absl::StrCat(each["type"].get<std::string>(), "=", each["status"].get<std::string>()));
  EXPECT_THAT(conditions, ::testing::UnorderedElementsAre("Ready=True", "DiskPressure=False"));
  const std::string pool = Name("pool");
  Create(kPools, Pool(pool));
  EXPECT_EQ(
      SendRaw(server(), "PATCH", At(kPools, pool), "{}", "application/strategic-merge-patch+json")
          .code,
      415);
}

class EventsTest : public ServerTest {
 protected:
  static Json Event(const std::string& name) {
    return {{"apiVersion", "events.k8s.io/v1"},
            {"kind", "Event"},
            {"metadata", {{"name", name}, {"namespace", "default"}}},
            {"eventTime", "2026-01-02T03:04:05.000006Z"},
            {"reportingController", "compute.coreweave.com/muster"},
            {"reportingInstance", "muster-0"},
            {"action", "Scale"},
            {"reason", "CWNodePoolScaledUp"},
            {"type", "Normal"},
            {"note", "up"},
            {"regarding",
             {{"apiVersion", "compute.coreweave.com/v1alpha1"},
              {"kind", "NodePool"},
              {"name", name},
              {"uid", absl::StrCat("uid-of-", name)}}}};
  }
  static Json Series(int count) {
    return {{"count", count}, {"lastObservedTime", "2026-01-02T03:05:05.000000Z"}};
  }
};

TEST_F(EventsTest, NeedTheirFields) {
  Create(kEvents, Event(Name("event")));
  for (const char* field :
       {"reportingController", "reportingInstance", "action", "reason", "type", "eventTime"}) {
    SCOPED_TRACE(field);
    Json event = Event(Name("event"));
    event.erase(field);
    EXPECT_THAT(client_->Create(kEvents, event),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(field)));
  }
  Json event = Event(Name("event"));
  event["type"] = "Terrible";
  EXPECT_THAT(client_->Create(kEvents, event), StatusIs(StatusCode::kInvalidArgument));
  event = Event(Name("event"));
  event["note"] = std::string(1024, 'x');
  Create(kEvents, event);
  event = Event(Name("event"));
  event["note"] = std::string(1025, 'x');
  EXPECT_THAT(client_->Create(kEvents, event),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("1024")));
}

TEST_F(EventsTest, OfClusterScopedObjectsLiveInDefault) {
  Json event = Event(Name("event"));
  event["metadata"]["namespace"] = "kube-public";
  EXPECT_THAT(client_->Create("/apis/events.k8s.io/v1/namespaces/kube-public/events", event),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("does not match event.namespace")));
}

TEST_F(EventsTest, ChangeTheirSeriesOnly) {
  const std::string name = Name("event");
  Create(kEvents, Event(name));
  EXPECT_THAT(Merge(At(kEvents, name), {{"series", Series(1)}}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("should be at least 2")));
  EXPECT_THAT(Merge(At(kEvents, name), {{"series", {{"count", 2}}}}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("lastObservedTime")));
  EXPECT_EQ(Need(Merge(At(kEvents, name), {{"series", Series(2)}}))["series"]["count"], 2);
  EXPECT_EQ(Need(Merge(At(kEvents, name), {{"series", Series(3)}}))["series"]["count"], 3);
  EXPECT_THAT(Merge(At(kEvents, name), {{"note", "down"}}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("immutable")));
  EXPECT_THAT(Merge(At(kEvents, name), {{"reason", "Other"}}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("immutable")));
}

TEST_F(EventsTest, AreFoundByWhatTheyRegard) {
  const std::string name = Name("event");
  Create(kEvents, Event(name));
  Create(kEvents, Event(Name("event")));
  const auto by = [&](const std::string& field, const std::string& value) {
    return Names(kEvents, {{"fieldSelector",
                            absl::StrCat("regarding.name=", name, ",", field, "=", value)}});
  };
  EXPECT_THAT(by("regarding.kind", "NodePool"), ElementsAre(name));
  EXPECT_THAT(by("regarding.uid", absl::StrCat("uid-of-", name)), ElementsAre(name));
  EXPECT_THAT(by("regarding.kind", "Node"), ElementsAre());
  EXPECT_THAT(by("reportingController", "compute.coreweave.com/muster"), ElementsAre(name));
  EXPECT_THAT(by("reportingController", "somebody.else"), ElementsAre());
}

}  // namespace
}  // namespace muster::testing
