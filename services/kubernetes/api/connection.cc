#include "services/kubernetes/api/connection.h"

#include <curl/curl.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/common/trace_context.h"

namespace muster::kubernetes {
namespace {

using SteadyClock = std::chrono::steady_clock;

using StringList = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

void Append(StringList& list, const std::string& text) {
  list.reset(curl_slist_append(list.release(), text.c_str()));
}

long Milliseconds(absl::Duration duration) {
  return static_cast<long>(std::clamp<int64_t>(absl::ToInt64Milliseconds(duration), 1, INT32_MAX));
}

// Refers to `text`, which must outlive the exchange.
void SetBlob(CURL* easy, CURLoption option, const std::string& text) {
  curl_blob blob = {};
  blob.data = const_cast<char*>(text.data());
  blob.len = text.size();
  blob.flags = CURL_BLOB_NOCOPY;
  curl_easy_setopt(easy, option, &blob);
}

// Sets a PEM by its file, which may have changed by the next connection, or else by its text.
void SetPem(CURL* easy, CURLoption by_file, const std::string& file, CURLoption by_text,
            const std::string& text) {
  if (file.empty()) return SetBlob(easy, by_text, text);
  curl_easy_setopt(easy, by_file, file.c_str());
}

struct Received {
  std::string bytes = {};
  size_t most = 0;
};

size_t OnBytes(char* data, size_t size, size_t count, void* user) {
  Received& received = *static_cast<Received*>(user);
  if (received.bytes.size() + size * count > received.most) return 0;
  received.bytes.append(data, size * count);
  return size * count;
}

bool IsPathCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("/-._~:", c);
}

// A dot segment would name another object than the one that was meant.
bool IsPath(absl::string_view path) {
  const std::string closed = absl::StrCat(path, "/");
  return absl::StartsWith(path, "/") && std::all_of(path.begin(), path.end(), IsPathCharacter) &&
         !absl::StrContains(closed, "/../") && !absl::StrContains(closed, "/./");
}

}  // namespace

struct Connection::Handles {
  Handles() : multi(curl_multi_init()), easy(curl_easy_init()) {}
  ~Handles() {
    curl_easy_cleanup(easy);
    curl_multi_cleanup(multi);
  }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;

  CURLM* const multi;
  CURL* const easy;
  StringList headers{nullptr, &curl_slist_free_all};
  StringList connect_to{nullptr, &curl_slist_free_all};
};

namespace {

// Asks HttpRequest::may_send, once the connection is made: that takes time, and longer where the
// process is stopped meanwhile.
int AskWhetherToSend(void* may_send, char*, char*, int, int) {
  return (*static_cast<const std::function<bool()>*>(may_send))() ? CURL_PREREQFUNC_OK
                                                                  : CURL_PREREQFUNC_ABORT;
}

// One request on its way and its answer. Taken off the handles when it goes out of scope.
class Transfer {
 public:
  Transfer(CURLM* multi, CURL* easy, size_t max_answer)
      : multi_(multi), easy_(easy), received_({.most = max_answer}) {
    curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, &OnBytes);
    curl_easy_setopt(easy_, CURLOPT_WRITEDATA, &received_);
    curl_easy_setopt(easy_, CURLOPT_ERRORBUFFER, said_);
    curl_multi_add_handle(multi_, easy_);
  }
  ~Transfer() {
    curl_multi_remove_handle(multi_, easy_);
    curl_easy_reset(easy_);
  }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  enum class End { kDone, kTaken, kStopped, kLate, kSilent };
  End Run(const ConnectionSettings& settings, const Connection::Take* take,
          const std::atomic<bool>& stopped, absl::FunctionRef<void(int code)> began);

  // Of one that is done. `what` names the request.
  absl::Status Result(absl::string_view what);
  HttpResponse Answer();

 private:
  int Code() const;

  CURLM* const multi_;
  CURL* const easy_;
  Received received_;
  char said_[CURL_ERROR_SIZE] = {};
};

Transfer::End Transfer::Run(const ConnectionSettings& settings, const Connection::Take* take,
                            const std::atomic<bool>& stopped,
                            absl::FunctionRef<void(int code)> began) {
  auto since = SteadyClock::now();  // its begin, or the last news of a stream
  bool streams = false;
  while (true) {
    int running = 0;
    curl_multi_perform(multi_, &running);
    const int code = Code();
    if (take != nullptr && !streams && code >= 200 && code <= 299) {
      streams = true;
      since = SteadyClock::now();
      began(code);
    }
    if (streams && !received_.bytes.empty()) {
      if (!(*take)(std::exchange(received_.bytes, {}))) return End::kTaken;
      since = SteadyClock::now();
    }
    if (running == 0) return End::kDone;
    if (stopped) return End::kStopped;
    const absl::Duration left = (streams ? settings.silence : settings.timeout) -
                                absl::FromChrono(SteadyClock::now() - since);
    if (left <= absl::ZeroDuration()) return streams ? End::kSilent : End::kLate;
    curl_multi_poll(multi_, nullptr, 0, static_cast<int>(Milliseconds(left)), nullptr);
  }
}

int Transfer::Code() const {
  long code = 0;
  curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &code);
  return static_cast<int>(code);
}

absl::Status Transfer::Result(absl::string_view what) {
  CURLcode result = CURLE_RECV_ERROR;
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg == CURLMSG_DONE) result = message->data.result;
  }
  if (result == CURLE_OK) return absl::OkStatus();
  if (result == CURLE_ABORTED_BY_CALLBACK)
    return absl::AbortedError(absl::StrCat(what, ": not sent, may not write now"));
  const std::string message =
      absl::StrCat(what, ": ", said_[0] == '\0' ? curl_easy_strerror(result) : said_);
  if (result == CURLE_WRITE_ERROR) {
    return absl::ResourceExhaustedError(
        absl::StrCat(what, ": the answer is larger than ", received_.most, " bytes"));
  }
  return absl::UnavailableError(message);
}

HttpResponse Transfer::Answer() {
  curl_off_t retry_after = 0;
  curl_easy_getinfo(easy_, CURLINFO_RETRY_AFTER, &retry_after);
  return {Code(), absl::Seconds(static_cast<int64_t>(retry_after)), std::move(received_.bytes)};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Connection>> Connection::Create(const ConnectionSettings* settings) {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  auto handles = std::make_unique<Handles>();
  if (initialised != CURLE_OK || handles->multi == nullptr || handles->easy == nullptr) {
    return absl::UnavailableError("libcurl could not be initialised");
  }
  curl_multi_setopt(handles->multi, CURLMOPT_MAXCONNECTS, 1L);
  if (!settings->address.connect_to.empty()) {
    Append(handles->connect_to, settings->address.connect_to);
  }
  return std::unique_ptr<Connection>(new Connection(settings, std::move(handles)));
}

Connection::Connection(const ConnectionSettings* settings, std::unique_ptr<Handles> handles)
    : settings_(*settings), handles_(std::move(handles)) {}

Connection::~Connection() = default;

void Connection::Wake() { curl_multi_wakeup(handles_->multi); }

void Connection::SetTls() const {
  CURL* const easy = handles_->easy;
  curl_easy_setopt(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (!settings_.certificate_authority.empty()) {
    SetPem(easy, CURLOPT_CAINFO, settings_.certificate_authority_file, CURLOPT_CAINFO_BLOB,
           settings_.certificate_authority);
    // Or libcurl would go on with what a file said for a day.
    curl_easy_setopt(easy, CURLOPT_CA_CACHE_TIMEOUT, 0L);
    // Or the system's certificates would count beside it.
    curl_easy_setopt(easy, CURLOPT_CAPATH, nullptr);
  }
  if (settings_.skip_server_verification) {
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
  }
  if (!settings_.client_certificate.empty()) {
    SetPem(easy, CURLOPT_SSLCERT, settings_.client_certificate_file, CURLOPT_SSLCERT_BLOB,
           settings_.client_certificate);
    SetPem(easy, CURLOPT_SSLKEY, settings_.client_key_file, CURLOPT_SSLKEY_BLOB,
           settings_.client_key);
  }
}

void Connection::SetHeaders(const HttpRequest& request) const {
  StringList& headers = handles_->headers;
  headers.reset();
  Append(headers, absl::StrCat("Host: ", settings_.address.host));
  Append(headers, "Accept: application/json");
  Append(headers, "Expect:");  // libcurl would ask before it sends a large body
  if (!request.token.empty())
    Append(headers, absl::StrCat("Authorization: Bearer ", request.token));
  if (!settings_.as.empty()) Append(headers, absl::StrCat("Impersonate-User: ", settings_.as));
  for (const std::string& group : settings_.as_groups)
    Append(headers, absl::StrCat("Impersonate-Group: ", group));
  if (const TraceContext trace = CurrentTrace::Get(); trace.valid())
    Append(headers, absl::StrCat("traceparent: ", trace.ToHeader()));
  if (!request.body.empty()) Append(headers, absl::StrCat("Content-Type: ", request.content_type));
  curl_easy_setopt(handles_->easy, CURLOPT_HTTPHEADER, headers.get());
}

void Connection::SetUp(const HttpRequest& request, bool stream) const {
  CURL* const easy = handles_->easy;
  SetHeaders(request);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, settings_.user_agent.c_str());
  curl_easy_setopt(easy, CURLOPT_URL,
                   absl::StrCat(settings_.address.url, request.path,
                                request.query.empty() ? "" : "?", request.query)
                       .c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  // A name that does not resolve holds up neither Stop nor a deadline.
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 30L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, 15L);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, Milliseconds(settings_.connect_timeout));
  curl_easy_setopt(easy, CURLOPT_CONNECT_TO, handles_->connect_to.get());
  // A stream would wait in the decoder.
  if (!stream) curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "gzip");
  if (!request.body.empty()) {
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.data());
  }
  if (request.method != "GET") {
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, std::string(request.method).c_str());
  }
  if (request.may_send != nullptr) {
    curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, &AskWhetherToSend);
    curl_easy_setopt(easy, CURLOPT_PREREQDATA,
                     const_cast<std::function<bool()>*>(request.may_send));
  }
  if (settings_.address.tls) SetTls();
}

absl::StatusOr<HttpResponse> Connection::Exchange(const HttpRequest& request, const Take* take,
                                                  const std::atomic<bool>& stopped,
                                                  absl::FunctionRef<void(int code)> began) {
  const std::string what = absl::StrCat(request.method, " ", settings_.address.host, request.path);
  if (!IsPath(request.path)) {
    return absl::InvalidArgumentError(absl::StrCat(
        what,
        ": is no path; expected `/`, then letters, digits and `/-._~:`, no segment `.` or `..`"));
  }
  SetUp(request, take != nullptr);
  Transfer transfer(handles_->multi, handles_->easy, settings_.max_answer);
  switch (transfer.Run(settings_, take, stopped, began)) {
    case Transfer::End::kTaken:
      return transfer.Answer();
    case Transfer::End::kStopped:
      return absl::CancelledError(absl::StrCat(what, ": the client was stopped"));
    case Transfer::End::kLate:
      return absl::DeadlineExceededError(
          absl::StrCat(what, ": no answer in ", absl::FormatDuration(settings_.timeout)));
    case Transfer::End::kSilent:
      return absl::DeadlineExceededError(
          absl::StrCat(what, ": nothing came for ", absl::FormatDuration(settings_.silence)));
    case Transfer::End::kDone:
      break;
  }
  const absl::Status result = transfer.Result(what);
  if (!result.ok()) return result;
  return transfer.Answer();
}

}  // namespace muster::kubernetes
