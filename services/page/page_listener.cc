#include "services/page/page_listener.h"

#include <civetweb.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/common/error.h"
#include "services/common/http_host.h"
#include "services/common/log.h"
#include "services/common/steady_clock.h"
#include "services/common/stop_listener.h"
#include "services/page/core/request.h"
#include "services/page/limits.h"
#include "services/page/static_files.h"

namespace muster::page {
namespace {

// Headers of every answer: scripts, styles and data from this server only, no embedding in frames,
// no guessing of content types, no referrer to other sites.
constexpr char kHeaders[] =
    "Content-Security-Policy: default-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "X-Frame-Options: DENY\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Cache-Control: no-store\r\n"
    "Connection: close\r\n";

absl::string_view Text(const char* text) { return text == nullptr ? "" : text; }

absl::string_view Header(const mg_connection* connection, const char* name) {
  return Text(mg_get_header(connection, name));
}

absl::string_view Phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 410:
      return "Gone";
    case 421:
      return "Misdirected Request";
    default:
      return "Service Unavailable";
  }
}

bool Write(mg_connection* connection, absl::string_view bytes) {
  return mg_write(connection, bytes.data(), bytes.size()) == static_cast<int>(bytes.size());
}

std::string Head(int status, absl::string_view type, absl::string_view more) {
  return absl::StrCat("HTTP/1.1 ", status, " ", Phrase(status), "\r\n", kHeaders,
                      "Content-Type: ", type, "\r\n", more, "\r\n");
}

int Send(mg_connection* connection, int status, absl::string_view type, absl::string_view body,
         bool head = false, absl::string_view more = "") {
  const std::string start =
      Head(status, type, absl::StrCat("Content-Length: ", body.size(), "\r\n", more));
  if (Write(connection, start) && !head) Write(connection, body);
  return status;
}

int Refuse(mg_connection* connection, int status, absl::string_view why,
           absl::string_view more = "") {
  return Send(connection, status, "text/plain; charset=utf-8", absl::StrCat(why, "\n"), false,
              more);
}

// Whether a page of another site makes the request. It could not read the answer, but would occupy
// a reader's thread. Browsers send this header only to loopback addresses and over HTTPS.
bool IsFromElsewhere(const mg_connection* connection) {
  const absl::string_view site = Header(connection, "Sec-Fetch-Site");
  return !site.empty() && site != "same-origin" && site != "none";
}

int LogMessage(const mg_connection*, const char* message) {
  log::Debug("the page's listener says", {{"message", absl::string_view(message)}});
  return 1;
}

}  // namespace

PageListener::PageListener(Options options) : options_(std::move(options)) {}

absl::StatusOr<std::unique_ptr<PageListener>> PageListener::Create(Options options) {
  auto listener = std::unique_ptr<PageListener>(new PageListener(std::move(options)));
  mg_init_library(0);
  const std::string threads = absl::StrCat(kThreads);
  const std::string timeout = absl::StrCat(absl::ToInt64Milliseconds(listener->options_.timeout));
  const char* settings[] = {"listening_ports",
                            listener->options_.address.c_str(),
                            "num_threads",
                            threads.c_str(),
                            "request_timeout_ms",
                            timeout.c_str(),
                            "enable_keep_alive",
                            "no",
                            nullptr};
  mg_callbacks callbacks;
  std::memset(&callbacks, 0, sizeof(callbacks));
  callbacks.begin_request = &PageListener::OnRequest;
  callbacks.log_message = &LogMessage;
  char text[256] = "";
  mg_error_data failure{nullptr, text, sizeof(text)};
  mg_init_data init{&callbacks, listener.get(), settings};
  listener->context_ = mg_start2(&init, &failure);
  if (listener->context_ == nullptr) {
    return error::Unavailable(
        absl::StrCat("Cannot serve the page on ", listener->options_.address, ": ", text));
  }
  return listener;
}

PageListener::~PageListener() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    wakes_.SignalAll();
  }
  // civetweb looks every two seconds whether it is to stop, and when a connection comes.
  if (context_ != nullptr) StopListener(options_.address, port(), [this] { mg_stop(context_); });
  mg_exit_library();
}

int PageListener::port() const {
  mg_server_port ports[1];
  return mg_get_server_ports(context_, 1, ports) > 0 ? ports[0].port : 0;
}

int PageListener::OnRequest(mg_connection* connection) {
  return static_cast<PageListener*>(mg_get_user_data(mg_get_context(connection)))
      ->Answer(connection);
}

int PageListener::Answer(mg_connection* connection) {
  const mg_request_info& request = *mg_get_request_info(connection);
  const absl::string_view method = Text(request.request_method);
  const absl::string_view path = Text(request.local_uri);
  if (!IsOurHost(Header(connection, "Host"), options_.hosts)) {
    return Refuse(connection, 421,
                  "This host name is not one of this page's: see --page_hosts of musterd.");
  }
  if (method != "GET" && method != "HEAD")
    return Refuse(connection, 405, "This page is read only.", "Allow: GET, HEAD\r\n");
  const bool head = method == "HEAD";
  // Links from elsewhere lead to the page itself.
  if (path != "/" && IsFromElsewhere(connection))
    return Refuse(connection, 403, "Not for other sites.");
  if (path == "/events") {
    return head ? Send(connection, 200, "text/event-stream", "", true) : Stream(connection);
  }
  if (path == "/api/pool" || path == "/api/claim")
    return Ask(connection, path, Text(request.query_string), head);
  if (path == "/api/past") return AskPast(connection, Text(request.query_string), head);
  const StaticFile* const file = FindStaticFile(path);
  if (file == nullptr) return Refuse(connection, 404, "There is no such page.");
  return Send(connection, 200, file->type,
              absl::string_view(reinterpret_cast<const char*>(file->bytes), file->size), head);
}

int PageListener::Ask(mg_connection* connection, absl::string_view path, absl::string_view query,
                      bool head) {
  const bool pool = path == "/api/pool";
  const std::string subject = QueryField(query, pool ? "name" : "uid");
  if (subject.empty())
    return Refuse(connection, 400, pool ? "name= is missing." : "uid= is missing.");
  absl::Cleanup done = [this] { --questions_; };
  if (++questions_ > kMaxQuestions)
    return Refuse(connection, 503, "Too many questions at a time.", "Retry-After: 1\r\n");
  const Questions::Answer answer = pool ? options_.pool(subject) : options_.claim(subject);
  std::move(done).Invoke();  // a client that has its answer may ask again at once
  return Send(connection, answer.status, "application/json", answer.json, head);
}

int PageListener::AskPast(mg_connection* connection, absl::string_view query, bool head) {
  const std::optional<absl::Time> then = ReadMoment(QueryField(query, "at"));
  if (!then)
    return Refuse(connection, 400, "at= is missing, or is no time in milliseconds since 1970.");
  absl::Cleanup done = [this] {
    --questions_;
    --pasts_;
  };
  const bool many = ++pasts_ > kMaxPasts;
  if (++questions_ > kMaxQuestions || many)
    return Refuse(connection, 503, "Others look back just now.", "Retry-After: 1\r\n");
  const Questions::Answer answer = options_.past(*then);
  std::move(done).Invoke();
  return Send(connection, answer.status, "application/json", answer.json, head);
}

int PageListener::Stream(mg_connection* connection) {
  const absl::Cleanup gone = [this] { --readers_; };
  if (++readers_ > kMaxReaders)
    return Refuse(connection, 503, "Too many open pages.", "Retry-After: 5\r\n");
  const std::string epoch = options_.board->epoch();
  const Place place = ResumePlace(Header(connection, "Last-Event-ID"), epoch);
  if (Write(connection, Head(200, "text/event-stream", "X-Accel-Buffering: no\r\n")))
    StreamTo(connection, epoch, options_.board->CanResumeAt(epoch, place) ? place : Place());
  return 200;
}

void PageListener::StreamTo(mg_connection* connection, const std::string& epoch, Place place) {
  const LiveBoard& board = *options_.board;
  const std::string retry = absl::StrCat("retry: ", absl::ToInt64Milliseconds(kRetry), "\n");
  // A reader that resumes has the event `begin` already.
  if (place == Place() &&
      !Write(connection, absl::StrCat(retry, "event: begin\ndata: ", options_.begin, "\n\n")))
    return;
  absl::Duration beat = -absl::InfiniteDuration();  // the last, by the steady clock
  bool begun = place != Place();
  do {
    // No frame: the reader is so slow that deletions he missed are forgotten, or the board was
    // renewed. He reconnects and begins anew.
    const auto frame = board.TellAfter(epoch, place, kMaxRowsAFrame);
    if (!frame) return;
    std::string out;
    if (const absl::Duration now = TheSteadyClock()->Now(); now - beat >= kBeatInterval) {
      beat = now;
      absl::StrAppend(&out, "event: beat\ndata: {\"now\":", absl::ToUnixMillis(absl::Now()),
                      ",\"health\":", options_.health(), "}\n\n");
    }
    if (!begun || frame->place.at != place.at) {
      begun = true;
      place = frame->place;
      absl::StrAppend(&out, "event: frame\nid: ", EventId(epoch, place), "\ndata: ", frame->json,
                      "\n\n");
    }
    if (!out.empty() && !Write(connection, out)) return;
  } while (Rest());
}

bool PageListener::Rest() const {
  MutexLock lock(mutex_);
  if (!stopping_) wakes_.WaitFor(mutex_, kFrameInterval);
  return !stopping_;
}

}  // namespace muster::page
