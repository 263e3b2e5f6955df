// What the fake server does at command, and what it tells of its clients.
#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "tests/kubernetes/raw_request.h"
#include "tests/kubernetes/server_test_base.h"
#include "tests/testing/patience.h"

namespace muster::testing {
namespace {

using ::absl::StatusCode;
using kubernetes::Client;
using kubernetes::ErrorOf;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A server of its own for each test: a misbehaving one is no good to others.
class MisbehaviourTest : public ServerTest {
 protected:
  void SetUp() override {
    MUSTER_SKIP_IF_REAL("it does not misbehave on command");
    own_ = ApiServer::Start();
    fake_ = own_->fake_or_null();
    mine_ = own_->Connect("muster-kubernetes/1.0");
  }
  void TearDown() override { mine_.reset(); }

  Json CreateNode(const std::string& name) { return *mine_->Create(kNodes, Node(name)); }
  Json Label(const std::string& name, const std::string& value) {
    return *mine_->Patch(kubernetes::PatchType::kMerge, At(kNodes, name),
                         {{"metadata", {{"labels", {{"a", value}}}}}});
  }
  std::string ListNow(std::vector<std::string>* names = nullptr) {
    return *mine_->List(kNodes, {}, [&](const Json& node) {
      if (names != nullptr) names->push_back(node["metadata"]["name"]);
    });
  }
  // For watches that end by themselves.
  static bool GoOn(absl::string_view, const Json&) { return true; }

  std::unique_ptr<ApiServer> own_;
  FakeApiServer* fake_ = nullptr;
  std::unique_ptr<Client> mine_;
};

TEST_F(MisbehaviourTest, FailsTheNextRequestsThatMatch) {
  CreateNode("a");
  fake_->FailNext({.verb = "PATCH", .path_prefix = kNodes, .code = 500, .count = 2});
  fake_->FailNext({.path_prefix = kPools, .code = 429, .retry_after = 7});
  fake_->FailNext({.verb = "LIST", .path_prefix = kNodes, .code = 410});
  const auto patch = [&] {
    return mine_->Patch(kubernetes::PatchType::kMerge, At(kNodes, "a"), Json::object());
  };
  EXPECT_THAT(mine_->Get(At(kNodes, "a")), IsOk());
  EXPECT_THAT(patch(), StatusIs(StatusCode::kUnavailable));
  EXPECT_THAT(patch(), StatusIs(StatusCode::kUnavailable));
  EXPECT_THAT(patch(), IsOk());
  const absl::Status throttled = mine_->Get(At(kPools, "a")).status();
  EXPECT_THAT(throttled, StatusIs(StatusCode::kResourceExhausted));
  EXPECT_EQ(ErrorOf(throttled).retry_after, absl::Seconds(7));
  EXPECT_THAT(mine_->List(kNodes, {}, [](Json) {}), StatusIs(StatusCode::kOutOfRange));
  EXPECT_THAT(mine_->List(kNodes, {}, [](Json) {}), IsOk());
}

TEST_F(MisbehaviourTest, FailsBodiesWithAWord) {
  fake_->FailNext({.verb = "POST", .code = 403, .body_contains = "bad"});
  EXPECT_THAT(mine_->Create(kNodes, Node("good")), IsOk());
  EXPECT_THAT(mine_->Create(kNodes, Node("bad")), StatusIs(StatusCode::kPermissionDenied));
  EXPECT_THAT(mine_->Create(kNodes, Node("bad")), IsOk());
}

TEST_F(MisbehaviourTest, FailsWhatItCarriedOut) {
  fake_->FailNext({.verb = "POST", .code = 500, .is_carried_out = true});
  EXPECT_THAT(mine_->Create(kNodes, Node("a")), StatusIs(StatusCode::kUnavailable));
  EXPECT_THAT(mine_->Create(kNodes, Node("a")), StatusIs(StatusCode::kAlreadyExists));
}

TEST_F(MisbehaviourTest, ListsWhatWas) {
  CreateNode("a");
  const std::string then = VersionOf(CreateNode("b"));
  CreateNode("c");
  ASSERT_THAT(mine_->Delete(At(kNodes, "a")), IsOk());
  fake_->Set({.stale_lists = 2});
  std::vector<std::string> names;
  EXPECT_EQ(ListNow(&names), then);
  EXPECT_THAT(names, ElementsAre("a", "b"));
  fake_->Set({});
  names.clear();
  ListNow(&names);
  EXPECT_THAT(names, ElementsAre("b", "c"));
}

TEST_F(MisbehaviourTest, RepeatsAndReordersEventsButEndsWithTheTruth) {
  const std::string begin = ListNow();
  CreateNode("stays");
  for (const char* name : {"b", "c", "d"}) {
    CreateNode(name);
    for (int i = 0; i < 5; ++i) Label(name, absl::StrCat(i));
    ASSERT_THAT(mine_->Delete(At(kNodes, name)), IsOk());
    for (int i = 0; i < 5; ++i) Label("stays", absl::StrCat(name, i));
  }
  constexpr size_t kChanges = 1 + 3 * 12;
  fake_->Set({.repeat_events = 1, .reorder_events = 0.5});
  std::map<std::string, int64_t> newest;
  int steps_back = 0;
  int repeats = 0;
  std::set<int64_t> seen;
  std::set<std::string> gone;
  const absl::Status status =
      mine_->Watch(kNodes, {}, begin, [&](absl::string_view type, const Json& object) {
        const int64_t version = std::stoll(VersionOf(object));
        if (type == "BOOKMARK") return false;
        const std::string name = object["metadata"]["name"];
        EXPECT_FALSE(gone.contains(name)) << name;
        if (type == "DELETED") gone.insert(name);
        repeats += seen.insert(version).second ? 0 : 1;
        steps_back += version < newest[name] ? 1 : 0;
        newest[name] = std::max(newest[name], version);
        return true;
      });
  EXPECT_THAT(status, StatusIs(StatusCode::kCancelled));
  EXPECT_THAT(gone, ElementsAre("b", "c", "d"));
  EXPECT_GT(repeats, 0);
  EXPECT_GT(steps_back, 0);
  EXPECT_EQ(seen.size(), kChanges);
  EXPECT_EQ(newest["stays"], std::stoll(VersionOf(*mine_->Get(At(kNodes, "stays")))));
}

TEST_F(MisbehaviourTest, CutsStreams) {
  fake_->Set({.cut_streams = absl::Milliseconds(1)});
  const RawAnswer answer = SendRaw(*own_, "GET", absl::StrCat(kNodes, "?watch=true"));
  EXPECT_EQ(answer.code, 200);
  EXPECT_FALSE(answer.is_whole);
  EXPECT_THAT(mine_->Watch(kNodes, {}, ListNow(), GoOn), StatusIs(StatusCode::kUnavailable));
}

TEST_F(MisbehaviourTest, DeletesDuringAPatch) {
  CreateNode("a");
  fake_->DeleteDuringNextPatch(At(kNodes, "a"));
  const auto patch = [&] {
    return mine_->Patch(kubernetes::PatchType::kMerge, At(kNodes, "a"), Json::object());
  };
  EXPECT_THAT(mine_->Get(At(kNodes, "a")), IsOk());
  EXPECT_THAT(patch(), StatusIs(StatusCode::kNotFound));
  CreateNode("a");
  EXPECT_THAT(patch(), IsOk());
}

TEST_F(MisbehaviourTest, ForgetsItsHistory) {
  const std::string begin = ListNow();
  CreateNode("a");
  CreateNode("b");
  const Json page = Json::parse(SendRaw(*own_, "GET", absl::StrCat(kNodes, "?limit=1")).body);
  bool is_compacted = false;
  const absl::Status running = mine_->Watch(kNodes, {}, begin, [&](absl::string_view, const Json&) {
    if (!is_compacted) fake_->CompactHistory();
    is_compacted = true;
    return true;
  });
  EXPECT_THAT(running, StatusIs(StatusCode::kOutOfRange));
  EXPECT_THAT(mine_->Watch(kNodes, {}, begin, GoOn),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("too old resource version")));
  const std::string token = page["metadata"]["continue"];
  EXPECT_EQ(SendRaw(*own_, "GET", absl::StrCat(kNodes, "?limit=1&continue=", token)).code, 410);
  const std::string now = ListNow();
  const Json c = CreateNode("c");
  EXPECT_THAT(mine_->Watch(kNodes, {}, now,
                           [&](absl::string_view, const Json& object) {
                             EXPECT_EQ(object, c);
                             return false;
                           }),
              StatusIs(StatusCode::kCancelled));
}

TEST_F(MisbehaviourTest, HangsAndGoesOn) {
  CreateNode("a");
  fake_->SetHanging(true);
  std::atomic<bool> is_answered = false;
  absl::Status status;
  std::thread caller([&] {
    status = mine_->Get(At(kNodes, "a")).status();
    is_answered = true;
  });
  kubernetes::ClientOptions hasty;
  hasty.timeout = absl::Milliseconds(50);
  const auto other = Client::Create(own_->endpoint(), hasty);
  ASSERT_THAT(other, IsOk());
  EXPECT_THAT((*other)->Get(At(kNodes, "a")), StatusIs(StatusCode::kDeadlineExceeded));
  EXPECT_FALSE(is_answered);
  fake_->SetHanging(false);
  caller.join();
  EXPECT_THAT(status, IsOk());
}

TEST_F(MisbehaviourTest, IsSlowWithSomeWritesAndNothingElse) {
  CreateNode("a");
  CreateNode("b");
  fake_->Set({.slow_writes = absl::Hours(1), .slow_part = "/nodes/a"});
  kubernetes::ClientOptions hasty;
  hasty.timeout = absl::Seconds(2);  // by then it is there
  const auto other = Client::Create(own_->endpoint(), hasty);
  ASSERT_THAT(other, IsOk());
  EXPECT_THAT(
      (*other)->Patch(kubernetes::PatchType::kMerge, At(kNodes, "a"), {{"spec", {{"late", true}}}}),
      StatusIs(StatusCode::kDeadlineExceeded));
  EXPECT_FALSE((*mine_->Get(At(kNodes, "a")))["spec"].contains("late"));
  EXPECT_THAT(mine_->Patch(kubernetes::PatchType::kMerge, At(kNodes, "b"), Json::object()), IsOk());
  fake_->Set({});
  Until([&] { return (*mine_->Get(At(kNodes, "a")))["spec"].contains("late"); }, "what was late");
}

TEST_F(MisbehaviourTest, LetsWatchesFallSilent) {
  fake_->Set({.bookmark_interval = absl::Milliseconds(50)});
  kubernetes::ClientOptions options;
  options.watch_silence = absl::Seconds(5);
  const auto watcher = Client::Create(own_->endpoint(), options);
  ASSERT_THAT(watcher, IsOk());
  int bookmarks = 0;
  EXPECT_THAT((*watcher)->Watch(kNodes, {}, ListNow(),
                                [&](absl::string_view, const Json&) {
                                  if (++bookmarks == 3) fake_->SetHanging(true);
                                  return true;
                                }),
              StatusIs(StatusCode::kDeadlineExceeded));
  EXPECT_GE(bookmarks, 3) << "one may have been under way";
}

TEST_F(MisbehaviourTest, RefusesConnectionsAndComesBackAtItsPort) {
  const Json node = CreateNode("a");
  const std::string url = fake_->url();
  const auto idle = own_->Connect();  // keeps a connection on which nothing happens
  EXPECT_THAT(idle->Get("/version"), IsOk());
  absl::Status watched;
  std::thread watcher([&] {
    watched = mine_->Watch(kNodes, {}, "0", [&](absl::string_view, const Json&) {
      fake_->SetHanging(true);  // no more events; the stream stays
      return true;
    });
  });
  while (fake_->requests().back().verb != "WATCH") std::this_thread::yield();
  fake_->SetRefusing(true);
  watcher.join();
  EXPECT_THAT(watched, StatusIs(StatusCode::kUnavailable));
  EXPECT_THAT(mine_->Get(At(kNodes, "a")), StatusIs(StatusCode::kUnavailable));
  fake_->SetHanging(false);
  fake_->SetRefusing(false);
  EXPECT_EQ(fake_->url(), url);
  EXPECT_EQ(*mine_->Get(At(kNodes, "a")), node);
}

TEST_F(MisbehaviourTest, TellsWhoAskedForWhat) {
  CreateNode("a");
  ListNow();
  Label("a", "1");
  const auto kubelet = own_->Connect("kubelet/v1.36");
  EXPECT_THAT(kubelet->Delete(At(kNodes, "b")), StatusIs(StatusCode::kNotFound));
  const auto is = [](const char* verb, const std::string& path, int code, const char* agent) {
    return AllOf(Field(&RecordedRequest::verb, verb), Field(&RecordedRequest::path, path),
                 Field(&RecordedRequest::code, code),
                 Field(&RecordedRequest::user_agent, HasSubstr(agent)));
  };
  EXPECT_THAT(fake_->requests(),
              ElementsAre(is("POST", kNodes, 201, "muster"), is("LIST", kNodes, 200, "muster"),
                          is("PATCH", At(kNodes, "a"), 200, "muster"),
                          is("DELETE", At(kNodes, "b"), 404, "kubelet")));
  EXPECT_EQ(fake_->WritesBy("muster-kubernetes"), 2);
  EXPECT_EQ(fake_->WritesBy("muster-kubernetes", "/nodes/a"), 1);
  EXPECT_EQ(fake_->WritesBy("kubelet"), 1);
  fake_->ClearRequests();
  EXPECT_THAT(fake_->requests(), IsEmpty());
}

TEST_F(MisbehaviourTest, ServesManyWatchesAtOnce) {
  constexpr int kWatches = 40;
  constexpr int kChanges = 50;
  CreateNode("a");
  const std::string begin = ListNow();
  std::vector<std::thread> watchers;
  std::atomic<int> events = 0;
  for (int i = 0; i < kWatches; ++i) {
    watchers.emplace_back([&] {
      int seen = 0;
      const auto own_client = own_->Connect();
      EXPECT_THAT(own_client->Watch(kNodes, {}, begin,
                                    [&](absl::string_view type, const Json&) {
                                      if (type != "BOOKMARK") ++seen;
                                      return seen < kChanges;
                                    }),
                  StatusIs(StatusCode::kCancelled));
      events += seen;
    });
  }
  for (int i = 0; i < kChanges; ++i) Label("a", absl::StrCat(i));
  for (std::thread& watcher : watchers) watcher.join();
  EXPECT_EQ(events, kWatches * kChanges);
}

}  // namespace
}  // namespace muster::testing
