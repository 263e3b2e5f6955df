#include "services/kubernetes/api/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>

#include "absl/strings/match.h"
#include "services/common/trace_context.h"
#include "services/kubernetes/api/errors.h"
#include "services/kubernetes/api/testing/client.h"
#include "tests/testing/status_matchers.h"

namespace muster::kubernetes {
namespace {

using ::muster::testing::IsOk;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

TEST(ClientTest, SendsEachMethodAndReadsItsAnswer) {
  TestServer server([](auto&, const auto& request, auto& response) {
    Json answer = Json::object();
    answer["method"] = request.method;
    SendJson(response, answer.dump());
  });
  const auto client = ClientAt(absl::StrCat(server.url(), "/prefix/"), {.user_agent = "test/1"});
  Json object = Json::object();
  object["a"] = 1;
  EXPECT_EQ((*client->Get("/x", {{"fieldManager", "a b&c=ü"}}))["method"], "GET");
  EXPECT_EQ((*client->Create("/x", object))["method"], "POST");
  EXPECT_EQ((*client->Replace("/x", object))["method"], "PUT");
  EXPECT_EQ((*client->Patch(PatchType::kApply, "/x", object))["method"], "PATCH");
  EXPECT_THAT(client->Patch(PatchType::kMerge, "/x", object).status(), IsOk());
  EXPECT_THAT(client->Patch(PatchType::kJson, "/x", Json::array()).status(), IsOk());
  EXPECT_THAT(client->Delete("/x"), IsOk());
  EXPECT_THAT(client->Delete("/x", object), IsOk());

  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 8u);
  EXPECT_EQ(requests[0].path, "/prefix/x");
  EXPECT_EQ(requests[0].get_param_value("fieldManager"), "a b&c=ü");
  EXPECT_EQ(requests[0].get_header_value("User-Agent"), "test/1");
  EXPECT_EQ(requests[0].get_header_value("Accept"), "application/json");
  EXPECT_EQ(requests[0].get_header_value("Host"), server.host());
  EXPECT_FALSE(requests[0].has_header("Authorization"));
  EXPECT_EQ(requests[1].get_header_value("Content-Type"), "application/json");
  EXPECT_EQ(requests[3].get_header_value("Content-Type"), "application/apply-patch+yaml");
  EXPECT_EQ(requests[4].get_header_value("Content-Type"), "application/merge-patch+json");
  EXPECT_EQ(requests[5].get_header_value("Content-Type"), "application/json-patch+json");
  for (const size_t i : {1, 2, 3, 4, 7}) EXPECT_EQ(requests[i].body, R"({"a":1})") << i;
  EXPECT_EQ(requests[6].body, "");
  EXPECT_FALSE(requests[0].has_header("traceparent"));
  const TraceContext trace = TraceContext::New();
  const CurrentTrace scope(trace);
  EXPECT_THAT(client->Delete("/x"), IsOk());
  EXPECT_EQ(server.requests().back().get_header_value("traceparent"), trace.ToHeader());
  EXPECT_EQ(client->host(), server.host());
}

TEST(ClientTest, KeepsItsConnection) {
  TestServer server([](auto&, const auto&, auto& response) { SendJson(response, "{}"); });
  const auto client = ClientAt(server.url());
  for (int i = 0; i < 3; ++i) EXPECT_THAT(client->Get("/x").status(), IsOk());
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[0].remote_port, requests[2].remote_port);
}

TEST(ClientTest, MapsStatuses) {
  struct Case {
    int code = 0;
    const char* reason = "";
    absl::StatusCode expected = absl::StatusCode::kOk;
  };
  const Case cases[] = {
      {302, "", absl::StatusCode::kUnknown},
      {400, "BadRequest", absl::StatusCode::kInvalidArgument},
      {401, "Unauthorized", absl::StatusCode::kUnauthenticated},
      {403, "Forbidden", absl::StatusCode::kPermissionDenied},
      {404, "NotFound", absl::StatusCode::kNotFound},
      {405, "MethodNotAllowed", absl::StatusCode::kUnknown},
      {409, "AlreadyExists", absl::StatusCode::kAlreadyExists},
      {409, "Conflict", absl::StatusCode::kAborted},
      {410, "Expired", absl::StatusCode::kOutOfRange},
      {413, "RequestEntityTooLarge", absl::StatusCode::kInvalidArgument},
      {415, "UnsupportedMediaType", absl::StatusCode::kInvalidArgument},
      {422, "Invalid", absl::StatusCode::kInvalidArgument},
      {429, "TooManyRequests", absl::StatusCode::kResourceExhausted},
      {500, "InternalError", absl::StatusCode::kUnavailable},
      {503, "ServiceUnavailable", absl::StatusCode::kUnavailable},
      {504, "Timeout", absl::StatusCode::kUnavailable},
  };
  TestServer server([&](auto&, const auto& request, auto& response) {
    const Case& current = cases[std::stoul(request.path.substr(1))];
    Json status = Json::object();
    status["kind"] = "Status";
    status["message"] = "as the server says";
    status["reason"] = current.reason;
    status["code"] = current.code;
    SendJson(response, status.dump(), current.code);
  });
  const auto client = ClientAt(server.url());
  for (const Case& each : cases) {
    SCOPED_TRACE(each.code);
    const absl::Status status = client->Get(absl::StrCat("/", &each - cases)).status();
    EXPECT_THAT(status, StatusIs(each.expected, "as the server says"));
    EXPECT_EQ(ErrorOf(status).code, each.code);
    EXPECT_EQ(ErrorOf(status).reason, each.reason);
    EXPECT_EQ(ErrorOf(status).retry_after, absl::ZeroDuration());
  }
}

TEST(ClientTest, TellsCausesAndWhenToComeAgain) {
  TestServer server([](auto&, const auto& request, auto& response) {
    if (request.path == "/header") response.set_header("Retry-After", "10");
    SendJson(response,
             R"({"kind":"Status","code":429,"message":"budget","details":{
        "retryAfterSeconds":)" +
                 std::string(request.path == "/details" ? "7" : "0") + R"(,
        "causes":[{"reason":"DisruptionBudget","message":"needs 2"},{"reason":7}]}})",
             429);
  });
  const auto client = ClientAt(server.url());
  const ApiError header = ErrorOf(client->Get("/header").status());
  EXPECT_EQ(header.retry_after, absl::Seconds(10));
  EXPECT_THAT(header.causes, ElementsAre(Pair("DisruptionBudget", "needs 2"), Pair("", "")));
  EXPECT_EQ(ErrorOf(client->Get("/details").status()).retry_after, absl::Seconds(7));
  EXPECT_EQ(ErrorOf(absl::NotFoundError("of somebody else")).code, 0);
}

TEST(ClientTest, ComesAgainWithinFiveMinutesWhateverItIsTold) {
  TestServer server([](auto&, const auto& request, auto& response) {
    if (request.path == "/header") response.set_header("Retry-After", "1000000");
    SendJson(response,
             R"({"kind":"Status","code":429,"details":{"retryAfterSeconds":9223372036854775807}})",
             429);
  });
  const auto client = ClientAt(server.url());
  for (const char* path : {"/header", "/details"})
    EXPECT_EQ(ErrorOf(client->Get(path).status()).retry_after, kMaxRetryAfter) << path;
}

TEST(ClientTest, AListThatNeverEndsIsLeft) {
  std::atomic<int> pages = 0;
  TestServer server([&](auto&, const auto&, auto& response) {
    SendJson(response, absl::StrCat(R"({"kind":"NodeList","items":[],"metadata":{"continue":")",
                                    ++pages, R"("}})"));
  });
  const auto client = ClientAt(server.url());
  EXPECT_THAT(client->List("/nodes", {}, [](Json) {}).status(),
              StatusIs(absl::StatusCode::kUnknown, HasSubstr("the list has no end: 2000 pages")));
  EXPECT_EQ(pages, 2'000);
}

TEST(ClientTest, BodiesThatAreNoJsonAreErrors) {
  TestServer server([](auto&, const auto& request, auto& response) {
    response.set_content("<html>\n\x01oops</html>", "text/html");
    response.status = request.path == "/bad" ? 502 : 200;
  });
  const auto client = ClientAt(server.url());
  EXPECT_THAT(client->Get("/bad").status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("HTTP 502: <html>  oops</html>")));
  EXPECT_THAT(client->Get("/good").status(),
              StatusIs(absl::StatusCode::kUnknown, HasSubstr("GET /good: the answer is no JSON")));
}

TEST(ClientTest, RefusesPathsThatNameSomethingElse) {
  TestServer server([](auto&, const auto&, auto& response) { SendJson(response, "{}"); });
  const auto client = ClientAt(server.url());
  for (const char* path : {"", "x", "/a?b", "/a b", "/a/../b", "/a/..", "/./a", "/a%2fb", "/a#b"}) {
    EXPECT_THAT(client->Get(path).status(), StatusIs(absl::StatusCode::kInvalidArgument)) << path;
  }
  EXPECT_TRUE(server.requests().empty());
  EXPECT_THAT(client->Get("/apis/a.b/v1/x/a..b/system:node-1").status(), IsOk());
}

TEST(ClientTest, ListsPageByPage) {
  TestServer server([](auto&, const auto& request, auto& response) {
    const std::string next = request.get_param_value("continue");
    const std::string items = next.empty()
                                  ? R"([{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}])"
                              : next == "2 &" ? R"([{"kind":"Other","metadata":{"name":"c"}}])"
                                              : "null";
    const std::string following = next.empty() ? "2 &" : next == "2 &" ? "3" : "";
    SendJson(response, absl::StrCat(R"({"kind":"NodeList","apiVersion":"v1","metadata":{)",
                                    R"("resourceVersion":"41","continue":")", following,
                                    R"("},"items":)", items, "}"));
  });
  const auto client = ClientAt(server.url(), {.list_chunk = 2});
  std::vector<std::string> seen;
  const auto version = client->List("/nodes", {{"labelSelector", "a=b"}}, [&](const Json& object) {
    seen.push_back(absl::StrCat(object["apiVersion"].get<std::string>(), "/",
                                object["kind"].get<std::string>(), "/",
                                object["metadata"]["name"].get<std::string>()));
  });
  ASSERT_THAT(version.status(), IsOk());
  EXPECT_EQ(*version, "41");
  EXPECT_THAT(seen, ElementsAre("v1/Node/a", "v1/Node/b", "v1/Other/c"));
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 3u);
  for (const auto& request : requests) {
    EXPECT_EQ(request.get_param_value("limit"), "2");
    EXPECT_EQ(request.get_param_value("labelSelector"), "a=b");
  }
}

// Whatever they bear, they are listed: fewer at a time.
TEST(ClientTest, APageThatIsTooLargeIsAskedForInSmallerOnes) {
  const std::string text(1000, 'x');
  TestServer server([&](auto&, const auto& request, auto& response) {
    const size_t from =
        request.has_param("continue") ? std::stoul(request.get_param_value("continue")) : 0;
    const size_t end = std::min(size_t{10}, from + std::stoul(request.get_param_value("limit")));
    Json page = {
        {"kind", "NodeList"}, {"apiVersion", "v1"}, {"metadata", {{"resourceVersion", "7"}}}};
    for (size_t i = from; i < end; ++i)
      page["items"].push_back(
          {{"metadata", {{"name", absl::StrCat("n", i)}, {"annotations", {{"a", text}}}}}});
    if (end < 10) page["metadata"]["continue"] = absl::StrCat(end);
    SendJson(response, page.dump());
  });
  const auto list = [&](size_t max_answer, std::vector<std::string>& seen) {
    const auto client = ClientAt(server.url(), {.list_chunk = 8, .max_answer = max_answer});
    return client->List("/nodes", {}, [&](const Json& object) {
      seen.push_back(object["metadata"]["name"].get<std::string>());
    });
  };
  std::vector<std::string> seen;
  EXPECT_THAT(list(3'000, seen).status(), IsOk());
  EXPECT_THAT(seen, ElementsAre("n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9"));
  seen.clear();
  EXPECT_THAT(list(500, seen).status(), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(seen, ElementsAre());
}

TEST(ClientTest, AListThatExpiresMidwayIsOutOfRange) {
  TestServer server([](auto&, const auto& request, auto& response) {
    if (request.has_param("continue")) {
      return SendJson(response, R"({"kind":"Status","code":410,"reason":"Expired"})", 410);
    }
    SendJson(response, R"({"kind":"NodeList","metadata":{"continue":"2"},"items":[{}]})");
  });
  const auto client = ClientAt(server.url());
  int taken = 0;
  EXPECT_THAT(client->List("/nodes", {}, [&](const Json&) { ++taken; }).status(),
              StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_EQ(taken, 1);
}

TEST(ClientTest, WhatIsNoListIsNotTakenForAnEmptyOne) {
  const std::vector<std::string> bodies = {
      R"({"kind":"Node","metadata":{"resourceVersion":"1"}})",
      R"({"kind":"NodeList","metadata":{},"items":[]})",
      R"({"kind":"NodeList","metadata":{"resourceVersion":"1"},"items":[7]})",
      R"({"kind":"NodeList","metadata":{"resourceVersion":"1"},"items":"x"})",
      R"({"kind":"NodeList","metadata":{"continue":"same"},"items":[]})",
      "[]",
  };
  TestServer server([&](auto&, const auto& request, auto& response) {
    SendJson(response, bodies[std::stoul(request.path.substr(1))]);
  });
  const auto client = ClientAt(server.url());
  for (size_t i = 0; i < bodies.size(); ++i) {
    EXPECT_THAT(client->List(absl::StrCat("/", i), {}, [](const Json&) {}).status(),
                StatusIs(absl::StatusCode::kUnknown))
        << bodies[i];
  }
}

TEST(ClientTest, WritesOnlyWhileItMay) {
  TestServer server([](auto&, const auto&, auto& response) { SendJson(response, "{}"); });
  bool may = false;
  const auto client = ClientAt(server.url(), {.may_write = [&] { return may; }});
  const Json object = Json::object();
  EXPECT_THAT(client->Create("/x", object).status(), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(client->Replace("/x", object).status(), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(client->Patch(PatchType::kApply, "/x", object).status(),
              StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(client->Delete("/x"), StatusIs(absl::StatusCode::kAborted));
  EXPECT_TRUE(server.requests().empty());
  EXPECT_THAT(client->Get("/x").status(), IsOk());
  may = true;
  EXPECT_THAT(client->Create("/x", object).status(), IsOk());
}

// Whoever is stopped while a connection is made, and goes on when it may write no more, sends
// nothing.
TEST(ClientTest, AsksWhetherItMayWriteWhenTheConnectionStands) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  bool connected = false;
  const auto may_write = [&] {
    pollfd waits = {listener, POLLIN, 0};
    connected = poll(&waits, 1, 1000) == 1;
    return !connected;
  };
  const auto client = ClientAt(absl::StrCat("http://127.0.0.1:", ntohs(address.sin_port)),
                               {.timeout = absl::Seconds(5), .may_write = may_write});
  EXPECT_THAT(client->Delete("/x"), StatusIs(absl::StatusCode::kAborted));
  EXPECT_TRUE(connected);
  close(listener);
}

TEST(ClientTest, TellsOfEveryRequest) {
  TestServer server([](auto&, const auto& request, auto& response) {
    SendJson(response, "{}", request.method == "DELETE" ? 404 : 200);
  });
  std::vector<std::pair<std::string, int>> told;
  const auto client = ClientAt(server.url(), {.on_request = [&](const RequestEnd& end) {
                                 told.emplace_back(std::string(end.method), end.code);
                                 EXPECT_GT(end.duration, absl::ZeroDuration());
                               }});
  EXPECT_THAT(client->Get("/x").status(), IsOk());
  EXPECT_THAT(client->Delete("/x"), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(told, ElementsAre(Pair("GET", 200), Pair("DELETE", 404)));
}

TEST(ClientTest, RefusesEndpointsThatCannotBeOne) {
  struct Case {
    Endpoint endpoint = {};
    const char* message = "";
  };
  const Case cases[] = {
      {{.server = ""}, "server: is no URL"},
      {{.server = "127.0.0.1:6443"}, "server: "},
      {{.server = "ftp://a"}, "server: its scheme is not https"},
      {{.server = "https://u:secret@a"}, "server: it names a user"},
      {{.server = "https://a?b"}, "server: it has a query"},
      {{.server = "https://a", .certificate_authority = "x"}, "certificate_authority: "},
      {{.server = "https://a", .server_name = "a/b"}, "server_name: "},
      {{.server = "https://a", .client_certificate = "-----BEGIN CERTIFICATE-----"},
       "client_certificate, client_key: only one"},
      {{.server = "https://a", .token = "a\r\nb: secret"}, "token: "},
  };
  for (const Case& each : cases) {
    const absl::Status status = Client::Create(each.endpoint, {}).status();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(each.message)));
    EXPECT_THAT(status.ToString(), Not(HasSubstr("secret")));
  }
  EXPECT_EQ((*Client::Create({.server = "https://[::1]:6443/x/"}, {}))->host(), "[::1]:6443");
  EXPECT_EQ((*Client::Create({.server = "https://a"}, {}))->host(), "a:443");
}

}  // namespace
}  // namespace muster::kubernetes
