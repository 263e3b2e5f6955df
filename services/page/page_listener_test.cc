// The listener, asked by a client of its own.
#include "services/page/page_listener.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/page/limits.h"
#include "tests/testing/patience.h"
#include "tests/testing/sockets.h"
#include "tests/testing/status_matchers.h"

namespace muster::page {
namespace {

using muster::testing::StatusIs;
using muster::testing::Until;
using ::testing::HasSubstr;
using ::testing::Not;

capacity::v1::WatchCapacityResponse MachineMessage(const std::string& id) {
  capacity::v1::WatchCapacityResponse message;
  message.set_type(type::v1::WATCH_EVENT_TYPE_CHANGED);
  message.set_key("machines/" + id);
  message.mutable_machine()->set_name(message.key());
  message.mutable_machine()->set_state(capacity::v1::Machine::STATE_FREE);
  return message;
}

// A listener with its board, and a client.
struct Served {
  explicit Served(PageListener::Options options = {}) {
    absl::StatusOr<std::unique_ptr<PageListener>> made =
        PageListener::Create(MakeOptions(std::move(options)));
    if (!made.ok()) throw std::runtime_error(std::string(made.status().message()));
    listener = *std::move(made);
  }

  PageListener::Options MakeOptions(PageListener::Options options = {}) {
    options.address = "127.0.0.1:0";
    options.hosts = {"fleet.example"};
    options.board = &board;
    options.begin = "{}";
    options.health = [] { return std::string("{}"); };
    options.pool = [this](const std::string& name) {
      return pool ? pool(name) : Questions::Answer{200, "\"" + name + "\""};
    };
    options.claim = [](const std::string&) { return Questions::Answer{404, "{}"}; };
    options.past = [this](absl::Time then) {
      return past ? past(then) : Questions::Answer{410, absl::StrCat(absl::ToUnixMillis(then))};
    };
    return options;
  }

  httplib::Result Get(const std::string& path, const httplib::Headers& headers = {}) const {
    httplib::Client client("127.0.0.1", listener->port());
    client.set_read_timeout(60);
    return client.Get(path, headers);
  }

  // Reads events until `enough` says so of all that came; then the connection is closed.
  std::string ReadEvents(const std::function<bool(const std::string&)>& enough,
                         const httplib::Headers& headers = {}) const {
    httplib::Client client("127.0.0.1", listener->port());
    client.set_read_timeout(60);
    std::string all;
    client.Get("/events", headers, [&](const char* bytes, size_t size) {
      all.append(bytes, size);
      return !enough(all);
    });
    return all;
  }

  LiveBoard board{"epoch"};
  std::function<Questions::Answer(const std::string&)> pool;
  std::function<Questions::Answer(absl::Time)> past;
  std::unique_ptr<PageListener> listener;
};

std::function<bool(const std::string&)> Has(const std::string& text) {
  return [text](const std::string& all) { return all.find(text) != std::string::npos; };
}

// One for all tests that leave its board as it is.
class PageListenerTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { owner_ = std::make_unique<Served>(); }
  static void TearDownTestSuite() { owner_.reset(); }

  Served& served_ = *owner_;

 private:
  static inline std::unique_ptr<Served> owner_;
};

TEST_F(PageListenerTest, ServesItsFilesWithStrictHeaders) {
  for (const char* path : {"/", "/app.js", "/style.css", "/mark.svg"}) {
    const auto answer = served_.Get(path);
    ASSERT_TRUE(answer) << path;
    EXPECT_EQ(answer->status, 200) << path;
    EXPECT_FALSE(answer->body.empty());
    EXPECT_THAT(answer->get_header_value("Content-Security-Policy"),
                HasSubstr("default-src 'self'"));
    EXPECT_EQ(answer->get_header_value("X-Content-Type-Options"), "nosniff");
    EXPECT_FALSE(answer->has_header("Access-Control-Allow-Origin"));
  }
  EXPECT_THAT(served_.Get("/")->get_header_value("Content-Type"), HasSubstr("text/html"));
  EXPECT_THAT(served_.Get("/app.js")->get_header_value("Content-Type"),
              HasSubstr("text/javascript"));
}

TEST_F(PageListenerTest, ServesNothingElse) {
  for (const char* path :
       {"/README.md", "/static/app.js", "/../options.h", "/%2e%2e/etc/passwd", "/api/", "/app.js/"})
    EXPECT_EQ(served_.Get(path)->status, 404) << path;
}

TEST_F(PageListenerTest, IsReadOnly) {
  httplib::Client client("127.0.0.1", served_.listener->port());
  EXPECT_EQ(client.Post("/", "x", "text/plain")->status, 405);
  EXPECT_EQ(client.Delete("/events")->status, 405);
  EXPECT_EQ(client.Put("/api/pool?name=a", "x", "text/plain")->status, 405);
  const auto head = client.Head("/app.js");
  EXPECT_EQ(head->status, 200);
  EXPECT_EQ(head->body, "");
  EXPECT_NE(head->get_header_value("Content-Length"), "0");
}

TEST_F(PageListenerTest, AnswersUnderItsOwnNamesOnly) {
  EXPECT_EQ(served_.Get("/", {{"Host", "evil.example"}})->status, 421);
  EXPECT_EQ(served_.Get("/events", {{"Host", "evil.example:80"}})->status, 421);
  EXPECT_EQ(served_.Get("/", {{"Host", "fleet.example"}})->status, 200);
}

TEST_F(PageListenerTest, OtherSitesGetTheDoorButNoData) {
  for (const char* site : {"cross-site", "same-site"}) {
    EXPECT_EQ(served_.Get("/events", {{"Sec-Fetch-Site", site}})->status, 403);
    EXPECT_EQ(served_.Get("/api/pool?name=a", {{"Sec-Fetch-Site", site}})->status, 403);
    EXPECT_EQ(served_.Get("/", {{"Sec-Fetch-Site", site}})->status, 200);
  }
  EXPECT_EQ(served_.Get("/api/pool?name=a", {{"Sec-Fetch-Site", "same-origin"}})->status, 200);
}

TEST_F(PageListenerTest, AsksTheServices) {
  EXPECT_EQ(served_.Get("/api/pool?name=organizations%2Facme")->body, "\"organizations/acme\"");
  EXPECT_EQ(served_.Get("/api/pool")->status, 400);
  EXPECT_EQ(served_.Get("/api/claim?uid=u1")->status, 404);
}

TEST_F(PageListenerTest, FewQuestionsAtATime) {
  std::promise<void> go;
  const std::shared_future<void> gone = go.get_future().share();
  std::atomic<int> asked = 0;
  served_.pool = [&](const std::string&) {
    ++asked;
    gone.wait();
    return Questions::Answer{200, "{}"};
  };
  std::vector<std::thread> clients;
  for (int i = 0; i < kMaxQuestions; ++i)
    clients.emplace_back([this] { EXPECT_EQ(served_.Get("/api/pool?name=a")->status, 200); });
  Until([&] { return asked == kMaxQuestions; }, "all questions");
  EXPECT_EQ(served_.Get("/api/pool?name=a")->status, 503);
  go.set_value();
  for (std::thread& client : clients) client.join();
  served_.pool = nullptr;
}

// Who has not yet taken its answer keeps nobody from asking, and who has it may ask again at once.
TEST(PageListenerRoomTest, IsThereAgainOnceAQuestionIsAnswered) {
  std::atomic<int> asked = 0;
  const auto large = [&asked, text = std::string(64 << 20, ' ')] {
    ++asked;
    return Questions::Answer{200, text};
  };
  Served served({.timeout = absl::Minutes(10)});
  served.pool = [&](const std::string& name) {
    return name == "large" ? large() : Questions::Answer{200, "{}"};
  };
  served.past = [&](absl::Time then) {
    return then == absl::UnixEpoch() ? large() : Questions::Answer{200, "{}"};
  };
  const auto get = [](const std::string& path) {
    return absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  };
  const std::string address = absl::StrCat("127.0.0.1:", served.listener->port());
  const testing::Idle pasts(address, kMaxPasts, get("/api/past?at=0"));
  const testing::Idle pools(address, kMaxQuestions - kMaxPasts, get("/api/pool?name=large"));
  Until([&] { return asked == kMaxQuestions; }, "all questions");
  Until([&] { return served.Get("/api/pool?name=a")->status == 200; }, "room for a question");
  Until([&] { return served.Get("/api/past?at=1")->status == 200; }, "room to look back");
}

TEST_F(PageListenerTest, AsksHowThingsWere) {
  const auto answer = served_.Get("/api/past?at=1750000000123");
  EXPECT_EQ(answer->status, 410);
  EXPECT_EQ(answer->reason, "Gone");
  EXPECT_EQ(answer->body, "1750000000123");
  for (const char* wrong : {"", "?at=", "?at=-1", "?at=yesterday", "?at=99999999999999999"})
    EXPECT_EQ(served_.Get(std::string("/api/past") + wrong)->status, 400) << wrong;
}

// They hold up the services' own threads for the past, and leave room for other questions.
TEST_F(PageListenerTest, FewLookBackAtATime) {
  std::promise<void> go;
  const std::shared_future<void> gone = go.get_future().share();
  std::atomic<int> asked = 0;
  served_.past = [&](absl::Time) {
    ++asked;
    gone.wait();
    return Questions::Answer{200, "{}"};
  };
  std::vector<std::thread> clients;
  for (int i = 0; i < kMaxPasts; ++i)
    clients.emplace_back([this] { EXPECT_EQ(served_.Get("/api/past?at=1")->status, 200); });
  Until([&] { return asked == kMaxPasts; }, "all who look back");
  EXPECT_EQ(served_.Get("/api/past?at=1")->status, 503);
  EXPECT_EQ(served_.Get("/api/pool?name=a")->status, 200);
  go.set_value();
  for (std::thread& client : clients) client.join();
  served_.past = nullptr;
  EXPECT_EQ(served_.Get("/api/past?at=1")->status, 410);
}

TEST_F(PageListenerTest, HasRoomForSoManyReaders) {
  std::vector<std::thread> readers;
  std::atomic<bool> over = false;
  for (int i = 0; i < kMaxReaders; ++i)
    readers.emplace_back(
        [&] { served_.ReadEvents([&](const std::string&) { return over.load(); }); });
  Until([&] { return served_.listener->readers() == kMaxReaders; }, "all readers");
  EXPECT_EQ(served_.Get("/events")->status, 503);
  EXPECT_EQ(served_.Get("/")->status, 200);
  over = true;
  for (std::thread& reader : readers) reader.join();
  Until([&] { return served_.listener->readers() == 0; }, "the readers' end");
}

TEST(PageEventsTest, TellsAllThenWhatChanges) {
  Served served;
  served.board.Take(MachineMessage("g1"));
  bool told = false;
  const std::string events = served.ReadEvents([&](const std::string& all) {
    if (!told && Has("\"g1\"")(all)) {
      told = true;
      served.board.Take(MachineMessage("g2"));
    }
    return Has("\"g2\"")(all);
  });
  EXPECT_THAT(events, HasSubstr("event: begin\ndata: {}\n\n"));
  EXPECT_THAT(events, HasSubstr("event: beat\n"));
  EXPECT_THAT(events, HasSubstr("id: epoch.1.1.1\n"));
}

TEST(PageEventsTest, AnEmptyFleetIsToldOnce) {
  Served served;
  int beats = 0;
  const std::string events = served.ReadEvents([&](const std::string& all) {
    beats = 0;
    for (size_t at = 0; (at = all.find("event: beat", at)) != std::string::npos; ++at) ++beats;
    return beats == 2;
  });
  ASSERT_THAT(events, HasSubstr("event: frame"));
  EXPECT_EQ(events.find("event: frame"), events.rfind("event: frame"));
}

TEST(PageEventsTest, GoesOnWhereAReaderWas) {
  Served served;
  served.board.Take(MachineMessage("g1"));
  served.board.Take(MachineMessage("g2"));
  const std::string events = served.ReadEvents(Has("\"g2\""), {{"Last-Event-ID", "epoch.1.1.1"}});
  EXPECT_THAT(events, Not(HasSubstr("\"g1\"")));
  EXPECT_THAT(events, Not(HasSubstr("event: begin")));
}

TEST(PageEventsTest, BeginsAnewForReadersOfAnotherRun) {
  Served served;
  served.board.Take(MachineMessage("g1"));
  for (const char* id : {"other.1.1.1", "epoch.99.99.99", "epoch.1.1", ""}) {
    const std::string events = served.ReadEvents(Has("\"g1\""), {{"Last-Event-ID", id}});
    EXPECT_THAT(events, HasSubstr("event: begin")) << id;
  }
}

TEST(PageEventsTest, LeavesAReaderThatTakesNothing) {
  Served served;
  // More than the buffers of a connection hold.
  for (int i = 0; i < 200'000; ++i) served.board.Take(MachineMessage(absl::StrCat("machine-", i)));
  const int reader = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int small = 4096;
  setsockopt(reader, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(served.listener->port()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(connect(reader, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  const absl::string_view request = "GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
  ASSERT_EQ(write(reader, request.data(), request.size()), static_cast<ssize_t>(request.size()));
  Until([&] { return served.listener->readers() == 1; }, "the reader");
  Until([&] { return served.listener->readers() == 0; }, "the reader's end");
  close(reader);
}

TEST(PageEventsTest, EndsItsReadersWithItself) {
  Served served;
  std::thread reader([&] { served.ReadEvents([](const std::string&) { return false; }); });
  Until([&] { return served.listener->readers() == 1; }, "the reader");
  served.listener.reset();
  reader.join();
}

TEST(PageEventsTest, SaysWhenItsAddressIsTaken) {
  Served served;
  PageListener::Options options = served.MakeOptions();
  options.address = "127.0.0.1:" + std::to_string(served.listener->port());
  EXPECT_THAT(PageListener::Create(std::move(options)),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("Cannot serve the page")));
}

}  // namespace
}  // namespace muster::page
