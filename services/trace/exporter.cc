#include "services/trace/exporter.h"

#include <curl/curl.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "services/common/deadline.h"
#include "services/common/error.h"
#include "services/common/log.h"
#include "services/common/status_macros.h"

namespace muster::trace {
namespace {

constexpr size_t kBatch = 512;  // spans in a request
constexpr int kAttempts = 3;
// How much longer than the farewell its thread is waited for: whatever it asks for by then has
// ended unless it hangs.
constexpr absl::Duration kEndGrace = absl::Seconds(1);

// Whether the collector is only busy or away, so that it may take the same request later.
bool IsPassing(long code) { return code == 429 || code == 502 || code == 503 || code == 504; }

size_t Ignore(char*, size_t size, size_t count, void*) { return size * count; }

struct Outcome {
  bool taken = false;
  bool again = false;
  std::string error = {};
};

Outcome PostOnce(const std::string& endpoint, const std::string& request, absl::Duration timeout) {
  CURL* const curl = curl_easy_init();
  if (curl == nullptr) return {.error = "no memory"};
  curl_slist* const headers = curl_slist_append(nullptr, "Content-Type: application/json");
  curl_easy_setopt(curl, CURLOPT_URL, endpoint.c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.data());
  curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, static_cast<long>(request.size()));
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, Ignore);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS,
                   std::max<long>(1, static_cast<long>(absl::ToInt64Milliseconds(timeout))));
  const CURLcode result = curl_easy_perform(curl);
  long code = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &code);
  curl_slist_free_all(headers);
  curl_easy_cleanup(curl);
  if (result != CURLE_OK) return {.again = true, .error = curl_easy_strerror(result)};
  if (code >= 200 && code < 300) return {.taken = true};
  return {.again = IsPassing(code), .error = absl::StrCat("HTTP ", code)};
}

// `endpoint` without what may be a secret: user, password, query. Empty: it is no URL.
std::string WithoutSecrets(const std::string& endpoint) {
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> url(curl_url(), &curl_url_cleanup);
  if (curl_url_set(url.get(), CURLUPART_URL, endpoint.c_str(), 0) != CURLUE_OK) return "";
  for (const CURLUPart part :
       {CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_OPTIONS, CURLUPART_QUERY, CURLUPART_FRAGMENT})
    curl_url_set(url.get(), part, nullptr, 0);
  char* text = nullptr;
  if (curl_url_get(url.get(), CURLUPART_URL, &text, 0) != CURLUE_OK || text == nullptr) return "";
  std::string copy(text);
  curl_free(text);
  return copy;
}

}  // namespace

Exporter::Exporter(Options options) : options_(std::move(options)), file_(options_.file) {}

absl::StatusOr<std::unique_ptr<Exporter>> Exporter::Create(Options options) {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (initialised != CURLE_OK) return absl::InternalError("libcurl cannot be used.");
  auto exporter = std::unique_ptr<Exporter>(new Exporter(std::move(options)));
  const absl::Status opened = exporter->file_.Open();
  if (!opened.ok()) return error::InvalidField("--trace_file", opened.message());
  exporter->thread_ = std::thread([raw = exporter.get()] {
    raw->Run();
    MutexLock lock(raw->mutex_);
    raw->ended_ = true;
    raw->ends_.SignalAll();
  });
  return exporter;
}

Exporter::~Exporter() {
  Stop();
  if (thread_.joinable()) thread_.join();
}

void Exporter::Stop() {
  {
    MutexLock lock(mutex_);
    if (!thread_.joinable() || std::exchange(stopping_, true)) return;
    end_ = options_.clock->Now() + options_.farewell;
    wakes_.SignalAll();
    const Deadline patience(options_.farewell + kEndGrace);
    while (!ended_ && patience.WaitFor(ends_, mutex_)) {
    }
    if (!ended_) return;
  }
  thread_.join();
}

void Exporter::Record(Span span) {
  MutexLock lock(mutex_);
  if (stopping_ || waiting_.size() >= options_.max_waiting) {
    TheCounts().left_out.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  waiting_.push_back(std::move(span));
  if (waiting_.size() == kBatch) wakes_.SignalAll();
}

void Exporter::Run() {
  while (true) {
    bool last = false;
    {
      MutexLock lock(mutex_);
      if (waiting_.size() < kBatch && !stopping_) wakes_.WaitFor(mutex_, options_.interval);
      last = stopping_;
    }
    TakeWaiting();
    if (last && posts_.empty()) return;
    while (!posts_.empty()) {
      const Batch batch = std::move(posts_.front());
      posts_.pop_front();
      Count(batch, Post(batch.request));
      posting_ -= batch.spans;
    }
  }
}

void Exporter::TakeWaiting() {
  std::vector<Span> spans;
  {
    MutexLock lock(mutex_);
    spans.swap(waiting_);
  }
  for (size_t i = 0; i < spans.size(); i += kBatch) {
    const auto begin = spans.begin() + static_cast<long>(i);
    const auto end = spans.begin() + static_cast<long>(std::min(i + kBatch, spans.size()));
    const std::vector<Span> some(std::make_move_iterator(begin), std::make_move_iterator(end));
    Batch batch{.request = ToOtlp(options_.service, some), .spans = some.size()};
    if (!options_.file.empty())
      batch.in_file = file_.Write(absl::StrCat(batch.request, "\n")).empty();
    if (options_.endpoint.empty() || posting_ + batch.spans > options_.max_waiting) {
      Count(batch, false);
      continue;
    }
    posting_ += batch.spans;
    posts_.push_back(std::move(batch));
  }
}

void Exporter::Count(const Batch& batch, bool posted) {
  auto& count = batch.in_file || posted ? TheCounts().sent : TheCounts().left_out;
  count.fetch_add(static_cast<int64_t>(batch.spans), std::memory_order_relaxed);
}

absl::Duration Exporter::TimeLeft() {
  MutexLock lock(mutex_);
  return end_ - options_.clock->Now();
}

bool Exporter::Pause(absl::Duration pause) {
  const SteadyClock& clock = *options_.clock;
  const absl::Duration until = clock.Now() + pause;
  MutexLock lock(mutex_);
  // Record wakes it, too.
  for (absl::Duration now = clock.Now(); !stopping_ && now < until; now = clock.Now())
    wakes_.WaitFor(mutex_, until - now);
  return end_ > clock.Now();
}

bool Exporter::Post(const std::string& request) {
  Outcome outcome{.error = "the program ends"};
  absl::Duration pause = options_.pause;
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    // A collector that hangs does not keep spans from the file.
    if (!options_.file.empty()) TakeWaiting();
    const absl::Duration left = TimeLeft();
    if (left <= absl::ZeroDuration()) break;
    outcome = PostOnce(options_.endpoint, request, std::min(left, options_.timeout));
    if (!outcome.again || attempt == kAttempts || !Pause(pause)) break;
    pause *= 2;
  }
  if (!outcome.taken && !std::exchange(failing_, true))
    log::Warn("spans are not taken",
              {{"endpoint", WithoutSecrets(options_.endpoint)}, {"error", outcome.error}});
  if (outcome.taken && std::exchange(failing_, false))
    log::Info("spans are taken again", {{"endpoint", WithoutSecrets(options_.endpoint)}});
  return outcome.taken;
}

}  // namespace muster::trace
