#include "services/kubernetes/api/reflector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/log.h"
#include "services/kubernetes/api/testing/server.h"
#include "tests/testing/status_matchers.h"

namespace muster::kubernetes {
namespace {

using ::muster::testing::IsOk;
using ::testing::ElementsAre;

// Writes down what it is told.
class RecordingSink : public Sink {
 public:
  void BeginList() override { Add("begin"); }
  void BeginAnew() override { Add("anew"); }
  void PutListed(const Json& object) override { Put(object); }
  void EndList(const std::string& version) override { Add(absl::StrCat("end ", version)); }
  void Put(const Json& object) override { Add(absl::StrCat("put ", NameOf(object))); }
  void Remove(const Json& object) override { Add(absl::StrCat("remove ", NameOf(object))); }

  std::vector<std::string> Wait(size_t count) {
    MutexLock lock(mutex_);
    while (seen_.size() < count) changed_.Wait(mutex_);
    return seen_;
  }

 private:
  static std::string NameOf(const Json& object) {
    return object["metadata"]["name"].get<std::string>();
  }
  void Add(std::string what) {
    MutexLock lock(mutex_);
    seen_.push_back(std::move(what));
    changed_.SignalAll();
  }

  Mutex mutex_;
  CondVar changed_;
  std::vector<std::string> seen_ MUSTER_GUARDED_BY(mutex_);
};

using Answer = std::function<void(TestServer& server, httplib::Response& response)>;

std::string ObjectOf(absl::string_view name, absl::string_view version) {
  return absl::StrCat(R"({"metadata":{"name":")", name, R"(","resourceVersion":")", version,
                      R"("}})");
}

Answer List(absl::string_view version, absl::string_view name, absl::string_view next = "") {
  return [body = absl::StrCat(R"({"kind":"NodeList","metadata":{"resourceVersion":")", version,
                              R"(","continue":")", next, R"("},"items":[)", ObjectOf(name, "1"),
                              "]}")](TestServer&, httplib::Response& response) {
    SendJson(response, body);
  };
}

Answer Refuse(int code, int retry_after = 0) {
  return [=](TestServer&, httplib::Response& response) {
    if (retry_after > 0) response.set_header("Retry-After", std::to_string(retry_after));
    SendJson(response, R"({"kind":"Status","message":"refused"})", code);
  };
}

struct Event {
  const char* type = "";
  const char* name = "";
  const char* version = "";
};
enum class Then { kEnd, kCut, kHold };
Answer Stream(std::vector<Event> events, Then then) {
  return [=](TestServer& server, httplib::Response& response) {
    const auto feed = server.SendFeed(response);
    for (const Event& event : events) {
      feed->Push(absl::StrCat(R"({"type":")", event.type, R"(","object":)",
                              ObjectOf(event.name, event.version), "}\n"));
    }
    if (then == Then::kEnd) feed->End();
    if (then == Then::kCut) feed->Cut();
  };
}

Answer StreamOf(std::string text) {
  return [=](TestServer& server, httplib::Response& response) {
    server.SendFeed(response)->Push(text);
  };
}

// A reflector and a server that answers it as the test says; then it holds a silent watch.
class ReflectorTest : public ::testing::Test {
 protected:
  ReflectorTest() {
    log::SetSink([](absl::string_view) {});
  }
  ~ReflectorTest() override {
    if (client_ != nullptr) client_->Stop();
    if (reflector_ != nullptr) reflector_->Stop();
    log::SetSink(nullptr);
  }

  void Reflect(std::vector<Answer> answers, absl::Duration pause = absl::Milliseconds(1),
               ReflectorOptions options = {}, ClientOptions client_options = {}) {
    server_ = std::make_unique<TestServer>(
        [this, script = std::make_shared<std::deque<Answer>>(answers.begin(), answers.end())](
            auto& server, const auto&, auto& response) {
          Answer answer = Stream({}, Then::kHold);
          MutexLock lock(mutex_);
          if (!script->empty()) {
            answer = script->front();
            script->pop_front();
          }
          answer(server, response);
          ++answered_;
          changed_.SignalAll();
        });
    auto client = Client::Create({.server = server_->url()}, std::move(client_options));
    ASSERT_THAT(client.status(), IsOk());
    client_ = *std::move(client);
    options.path = "/nodes";
    options.first_retry = pause;
    options.last_retry = pause * 2;
    reflector_ = std::make_unique<Reflector>(client_.get(), std::move(options), &sink_);
    reflector_->Start();
  }
  // Each request as its resume point, or `list`, once there are so many.
  std::vector<std::string> WaitForRequests(size_t count) {
    {
      MutexLock lock(mutex_);
      while (answered_ < count) changed_.Wait(mutex_);
    }
    std::vector<std::string> all;
    for (const httplib::Request& request : server_->requests()) {
      all.push_back(request.has_param("watch") ? request.get_param_value("resourceVersion")
                                               : absl::StrCat("list"));
    }
    return all;
  }

  Mutex mutex_;
  CondVar changed_;
  size_t answered_ MUSTER_GUARDED_BY(mutex_) = 0;
  RecordingSink sink_;
  std::unique_ptr<TestServer> server_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<Reflector> reflector_;
};

TEST_F(ReflectorTest, ListsThenWatchesAndResumesWhereAStreamEnded) {
  Reflect({List("10", "a"), Stream({{"ADDED", "b", "11"}, {"BOOKMARK", "", "15"}}, Then::kCut),
           Stream({{"MODIFIED", "a", "16"}}, Then::kEnd),
           Stream({{"DELETED", "b", "17"}}, Then::kEnd)});
  EXPECT_THAT(WaitForRequests(5), ElementsAre("list", "10", "15", "16", "17"));
  EXPECT_THAT(sink_.Wait(6), ElementsAre("begin", "put a", "end 10", "put b", "put a", "remove b"));
  EXPECT_TRUE(reflector_->synced());
  EXPECT_EQ(reflector_->lists(), 1);
}

TEST_F(ReflectorTest, AStreamThatBrokeOrWasRefusedForNowIsResumed) {
  Reflect(
      {List("10", "a"), Refuse(503), Refuse(429), Stream({}, Then::kCut), Stream({}, Then::kEnd)});
  EXPECT_THAT(WaitForRequests(6), ElementsAre("list", "10", "10", "10", "10", "10"));
  EXPECT_EQ(reflector_->lists(), 1);
}

TEST_F(ReflectorTest, ListsAgainWhenItsResumePointIsGone) {
  Reflect({List("10", "a"), Refuse(410), List("20", "b"),
           StreamOf(R"({"type":"ERROR","object":{"kind":"Status","code":410}})"
                    "\n"),
           List("30", "c")});
  EXPECT_THAT(WaitForRequests(6), ElementsAre("list", "10", "list", "20", "list", "30"));
  EXPECT_THAT(sink_.Wait(9), ElementsAre("begin", "put a", "end 10", "begin", "put b", "end 20",
                                         "begin", "put c", "end 30"));
  EXPECT_EQ(reflector_->lists(), 3);
}

TEST_F(ReflectorTest, ListsAgainAfterWhatCannotBeTrusted) {
  Reflect({List("10", "a"), StreamOf("<html>\n"), List("20", "b"), Refuse(400), List("30", "c")});
  EXPECT_THAT(WaitForRequests(6), ElementsAre("list", "10", "list", "20", "list", "30"));
}

TEST_F(ReflectorTest, AListThatFailedIsTriedUntilItIsWhole) {
  Reflect({Refuse(500), Refuse(403), List("10", "a", "next"), Refuse(410), List("20", "a", "next"),
           List("20", "b")});
  EXPECT_THAT(WaitForRequests(7),
              ElementsAre("list", "list", "list", "list", "list", "list", "20"));
  EXPECT_THAT(sink_.Wait(8),
              ElementsAre("begin", "begin", "begin", "put a", "begin", "put a", "put b", "end 20"));
  EXPECT_EQ(reflector_->lists(), 1);
}

TEST_F(ReflectorTest, PagesOfTwoSnapshotsAreNone) {
  Reflect({List("10", "a", "next"), List("11", "b"), List("20", "c")});
  EXPECT_THAT(WaitForRequests(4), ElementsAre("list", "list", "list", "20"));
  EXPECT_THAT(sink_.Wait(6), ElementsAre("begin", "put a", "put b", "begin", "put c", "end 20"));
}

// By the time that the list is there, somebody else answers at that address.
TEST_F(ReflectorTest, AListIsWholeOnlyFromTheServerThatIsMeant) {
  std::atomic<int> asked = 0;
  ReflectorOptions options;
  options.confirm = [&] {
    const int call = ++asked;
    return call == 2 || call == 3 ? absl::AbortedError("another's") : absl::OkStatus();
  };
  Reflect({List("10", "a"), List("20", "b")}, absl::Milliseconds(1), options);
  EXPECT_THAT(sink_.Wait(5), ElementsAre("begin", "put a", "begin", "put b", "end 20"));
  EXPECT_THAT(WaitForRequests(3), ElementsAre("list", "list", "20"));
  EXPECT_EQ(reflector_->lists(), 1);
}

TEST_F(ReflectorTest, NothingIsWatchedAtAServerThatIsNotMeant) {
  std::atomic<int> asked = 0;
  ReflectorOptions options;
  options.confirm = [&] {
    return ++asked == 3 ? absl::AbortedError("another's") : absl::OkStatus();
  };
  Reflect({List("10", "a"), List("20", "b")}, absl::Milliseconds(1), options);
  EXPECT_THAT(WaitForRequests(3), ElementsAre("list", "list", "20"));
}

TEST_F(ReflectorTest, AListThatIsOlderThanWhatWasSeenIsListedAgain) {
  Reflect({List("10", "a"), Stream({{"ADDED", "b", "20"}}, Then::kCut), Refuse(410),
           List("19", "a"), List("20", "c")});
  EXPECT_THAT(WaitForRequests(6), ElementsAre("list", "10", "20", "list", "list", "20"));
  EXPECT_THAT(sink_.Wait(9), ElementsAre("begin", "put a", "end 10", "put b", "begin", "put a",
                                         "begin", "put c", "end 20"));
}

// The server's database was restored.
TEST_F(ReflectorTest, AListThatStaysOlderIsWhatTheServerHas) {
  ReflectorOptions options;
  options.believe_older_after = absl::ZeroDuration();
  Reflect({List("20", "a"), Refuse(410), List("10", "b"), List("10", "b"),
           Stream({{"ADDED", "c", "11"}}, Then::kCut), Refuse(410), List("12", "d")},
          absl::Milliseconds(1), options);
  EXPECT_THAT(WaitForRequests(8),
              ElementsAre("list", "20", "list", "list", "10", "11", "list", "12"));
  EXPECT_THAT(sink_.Wait(13),
              ElementsAre("begin", "put a", "end 20", "begin", "put b", "begin", "anew", "put b",
                          "end 10", "put c", "begin", "put d", "end 12"));
}

// The server's database was restored under a watch that goes on: it is silent until it is at that
// version.
TEST_F(ReflectorTest, AfterASilenceItListsAnew) {
  ReflectorOptions options;
  options.believe_older_after = absl::ZeroDuration();
  Reflect({List("20", "a"), Stream({}, Then::kHold), List("10", "b"), List("10", "b")},
          absl::Milliseconds(1), options, {.watch_silence = absl::Seconds(2)});
  // The last watch is as silent, and another list follows it.
  const auto first = [](auto all, size_t count) {
    all.resize(count);
    return all;
  };
  EXPECT_THAT(first(WaitForRequests(5), 5), ElementsAre("list", "20", "list", "list", "10"));
  EXPECT_THAT(first(sink_.Wait(9), 9), ElementsAre("begin", "put a", "end 20", "begin", "put b",
                                                   "begin", "anew", "put b", "end 10"));
}

TEST_F(ReflectorTest, IsNotSyncedBeforeItsFirstList) {
  Reflect({Refuse(500)}, absl::Hours(1));
  WaitForRequests(1);
  EXPECT_FALSE(reflector_->synced());
  EXPECT_EQ(reflector_->lists(), 0);
}

// Whoever does not wait for an hour tries again long before another one, that need not wait, has
// failed fifty times.
TEST_F(ReflectorTest, WaitsAsLongAsTheServerAsks) {
  TestServer busy(
      [](auto& server, const auto&, auto& response) { Refuse(429, 3600)(server, response); });
  const auto client = *Client::Create({.server = busy.url()}, {});
  RecordingSink sink;
  Reflector waiting(
      client.get(),
      {.path = "/nodes", .first_retry = absl::Milliseconds(1), .last_retry = absl::Milliseconds(1)},
      &sink);
  waiting.Start();
  sink.Wait(1);
  Reflect(std::vector<Answer>(50, Refuse(429)));
  WaitForRequests(50);
  EXPECT_LE(busy.requests().size(), 1u);
  waiting.Stop();
}

// The pause is an hour: a Stop that did not wake it would not end.
TEST_F(ReflectorTest, StopEndsAPause) {
  Reflect({Refuse(500)}, absl::Hours(1));
  WaitForRequests(1);
  reflector_->Stop();
  reflector_->Stop();
  EXPECT_THAT(WaitForRequests(1), ElementsAre("list"));
}

TEST_F(ReflectorTest, StopEndsAWatchOfAStoppedClient) {
  Reflect({List("10", "a")});
  WaitForRequests(2);
  client_->Stop();
  reflector_->Stop();
  EXPECT_THAT(sink_.Wait(3), ElementsAre("begin", "put a", "end 10"));
}

}  // namespace
}  // namespace muster::kubernetes
