#include "services/kubernetes/api/client.h"

#include <optional>
#include <utility>

#include "absl/random/random.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "services/common/status_macros.h"
#include "services/kubernetes/api/errors.h"
#include "services/kubernetes/api/token.h"
#include "services/kubernetes/api/transport.h"
#include "services/kubernetes/api/watch_stream.h"

namespace muster::kubernetes {
namespace {

// Of one list: a million objects with pages of 500.
constexpr int kMaxPages = 2'000;

constexpr absl::string_view kJson = "application/json";
// How long a watch is asked to live, in seconds: spread, so that they do not all come back at once.
constexpr int kWatchAtLeast = 300;
constexpr int kWatchAtMost = 600;

absl::string_view ContentTypeOf(PatchType type) {
  switch (type) {
    case PatchType::kApply:
      return "application/apply-patch+yaml";
    case PatchType::kMerge:
      return "application/merge-patch+json";
    case PatchType::kJson:
      return "application/json-patch+json";
  }
  return "";
}

std::string Escape(absl::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(byte) || absl::string_view("-._~").find(c) != absl::string_view::npos) {
      out.push_back(c);
    } else {
      absl::StrAppend(&out, "%", absl::Hex(byte, absl::kZeroPad2));
    }
  }
  return out;
}

std::string QueryOf(const Parameters& parameters) {
  std::string query;
  for (const auto& [name, value] : parameters) {
    absl::StrAppend(&query, query.empty() ? "" : "&", Escape(name), "=", Escape(value));
  }
  return query;
}

std::string Dump(const Json& object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool IsGood(int code) { return code >= 200 && code <= 299; }

std::string Describe(const HttpRequest& request) {
  return absl::StrCat(request.method, " ", request.path);
}

absl::StatusOr<Json> Parse(const HttpRequest& request, const HttpResponse& answer) {
  Json object = ParseJson(answer.body);
  if (object.is_object()) return object;
  return absl::UnknownError(absl::StrCat(Describe(request), ": the answer is no JSON object (",
                                         answer.body.size(), " bytes)"));
}

// Of the connection, not of the server, which refuses with a code.
bool IsTooLarge(const absl::Status& status) {
  return absl::IsResourceExhausted(status) && ErrorOf(status).code == 0;
}

// Hands a page's objects out. Those of built-in types come without what they are: the list says it.
absl::Status TakeItems(absl::string_view path, Json& page,
                       absl::FunctionRef<void(Json object)> take) {
  const std::string version = TextOf(MemberOf(page, "apiVersion"));
  absl::string_view kind = TextOf(MemberOf(page, "kind"));
  if (!absl::ConsumeSuffix(&kind, "List")) {
    return absl::UnknownError(absl::StrCat("GET ", path, ": the answer is no list"));
  }
  const std::string item_kind(kind);
  if (MemberOf(page, "items").is_null()) return absl::OkStatus();
  for (Json& item : page["items"]) {
    if (!item.is_object()) {
      return absl::UnknownError(absl::StrCat("GET ", path, ": an item of the list is no object"));
    }
    if (!item.contains("apiVersion")) item["apiVersion"] = version;
    if (!item.contains("kind")) item["kind"] = item_kind;
    take(std::move(item));
  }
  return absl::OkStatus();
}

// Hands out the events that are whole. Not OK: the watch is over.
absl::Status TakeEvents(absl::string_view path, WatchStream& stream,
                        absl::FunctionRef<bool(absl::string_view type, Json object)> take) {
  while (std::optional<absl::StatusOr<WatchEvent>> event = stream.Next()) {
    RETURN_IF_ERROR(event->status());
    if ((*event)->type == "ERROR") {
      return StatusOfEvent(absl::StrCat("GET ", path), (*event)->object);
    }
    if (!take((*event)->type, std::move((*event)->object))) {
      return absl::CancelledError("the watch was ended by its receiver");
    }
  }
  return absl::OkStatus();
}

}  // namespace

struct Client::Impl {
  Impl(std::unique_ptr<Transport> transport_in, const Endpoint& endpoint, ClientOptions options_in)
      : transport(std::move(transport_in)),
        tokens(endpoint.token, endpoint.token_file),
        options(std::move(options_in)) {}

  // Sends it by `send`, which gets the request with its token. Errors of HTTP are errors here.
  absl::StatusOr<HttpResponse> Send(
      HttpRequest request,
      absl::FunctionRef<absl::StatusOr<HttpResponse>(const HttpRequest& request)> send);
  // The same for what has no more to its answer than JSON.
  absl::StatusOr<Json> Call(HttpRequest request);

  const std::unique_ptr<Transport> transport;
  TokenSource tokens;
  const ClientOptions options;
};

absl::StatusOr<HttpResponse> Client::Impl::Send(
    HttpRequest request,
    absl::FunctionRef<absl::StatusOr<HttpResponse>(const HttpRequest& request)> send) {
  bool again = false;
  while (true) {
    ASSIGN_OR_RETURN(request.token, tokens.Current());
    if (request.method != "GET" && options.may_write) request.may_send = &options.may_write;
    ASSIGN_OR_RETURN(HttpResponse answer, send(request));
    if (IsGood(answer.code)) return answer;
    // A token may be renewed between its reading and its use.
    if (answer.code == 401 && !std::exchange(again, true)) {
      const absl::StatusOr<std::string> now = tokens.Current();
      if (now.ok() && *now != request.token) continue;
    }
    return StatusOfAnswer(Describe(request), answer.code, answer.body, answer.retry_after);
  }
}

absl::StatusOr<Json> Client::Impl::Call(HttpRequest request) {
  ASSIGN_OR_RETURN(const HttpResponse answer, Send(request, [this](const HttpRequest& with_token) {
                     return transport->Send(with_token);
                   }));
  return Parse(request, answer);
}

absl::StatusOr<std::unique_ptr<Client>> Client::Create(Endpoint endpoint, ClientOptions options) {
  if (endpoint.token_file.empty() && !endpoint.token.empty() && !IsToken(endpoint.token)) {
    return absl::InvalidArgumentError("token: holds white space or control characters");
  }
  ASSIGN_OR_RETURN(std::unique_ptr<Transport> transport, Transport::Create(endpoint, options));
  return std::unique_ptr<Client>(
      new Client(std::make_unique<Impl>(std::move(transport), endpoint, std::move(options))));
}

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::~Client() = default;

absl::StatusOr<Json> Client::Get(absl::string_view path, const Parameters& parameters) {
  return impl_->Call({"GET", std::string(path), QueryOf(parameters)});
}

absl::StatusOr<Json> Client::Create(absl::string_view path, const Json& object,
                                    const Parameters& parameters) {
  return impl_->Call({"POST", std::string(path), QueryOf(parameters), "", kJson, Dump(object)});
}

absl::StatusOr<Json> Client::Replace(absl::string_view path, const Json& object,
                                     const Parameters& parameters) {
  return impl_->Call({"PUT", std::string(path), QueryOf(parameters), "", kJson, Dump(object)});
}

absl::StatusOr<Json> Client::Patch(PatchType type, absl::string_view path, const Json& patch,
                                   const Parameters& parameters) {
  return impl_->Call(
      {"PATCH", std::string(path), QueryOf(parameters), "", ContentTypeOf(type), Dump(patch)});
}

absl::Status Client::Delete(absl::string_view path, const Json& options) {
  return impl_
      ->Call({"DELETE", std::string(path), "", "", kJson, options.is_null() ? "" : Dump(options)})
      .status();
}

absl::StatusOr<std::string> Client::List(absl::string_view path, const Parameters& parameters,
                                         absl::FunctionRef<void(Json object)> take) {
  std::string next;
  std::string version;
  int chunk = impl_->options.list_chunk;
  for (int pages = 0; pages < kMaxPages; ++pages) {
    Parameters all = parameters;
    all.emplace_back("limit", absl::StrCat(chunk));
    if (!next.empty()) all.emplace_back("continue", next);
    absl::StatusOr<Json> answer = Get(path, all);
    if (IsTooLarge(answer.status()) && chunk > 1) {
      chunk /= 2;
      continue;
    }
    ASSIGN_OR_RETURN(Json page, std::move(answer));
    RETURN_IF_ERROR(TakeItems(path, page, take));
    const Json& metadata = MemberOf(page, "metadata");
    std::string token = TextOf(MemberOf(metadata, "continue"));
    const absl::string_view of_page = TextOf(MemberOf(metadata, "resourceVersion"));
    // Parts of two snapshots are none.
    if (!next.empty() && of_page != version) {
      return absl::UnknownError(absl::StrCat("GET ", path, ": pages of the list are of versions ",
                                             version, " and ", of_page));
    }
    version = std::string(of_page);
    if (token.empty()) {
      if (!version.empty()) return version;
      return absl::UnknownError(absl::StrCat("GET ", path, ": the list has no resourceVersion"));
    }
    if (token == next) {
      return absl::UnknownError(absl::StrCat("GET ", path, ": a page of the list leads to itself"));
    }
    next = std::move(token);
  }
  return absl::UnknownError(
      absl::StrCat("GET ", path, ": the list has no end: ", kMaxPages, " pages were read"));
}

absl::Status Client::Watch(absl::string_view path, const Parameters& parameters,
                           absl::string_view resource_version,
                           absl::FunctionRef<bool(absl::string_view type, Json object)> take) {
  Parameters all = parameters;
  all.emplace_back("watch", "true");
  all.emplace_back("allowWatchBookmarks", "true");
  all.emplace_back("timeoutSeconds",
                   absl::StrCat(absl::Uniform(absl::IntervalClosed, absl::BitGen(), kWatchAtLeast,
                                              kWatchAtMost)));
  all.emplace_back("resourceVersion", std::string(resource_version));
  WatchStream stream;
  absl::Status end;
  const auto take_bytes = [&](absl::string_view bytes) {
    stream.Append(bytes);
    end = TakeEvents(path, stream, take);
    return end.ok();
  };
  const absl::Status sent = impl_
                                ->Send({"GET", std::string(path), QueryOf(all)},
                                       [&](const HttpRequest& request) {
                                         return impl_->transport->Stream(request, take_bytes);
                                       })
                                .status();
  if (!end.ok()) return end;
  RETURN_IF_ERROR(sent);
  if (stream.whole()) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("GET ", path, ": the watch broke within an event"));
}

void Client::Stop() { impl_->transport->Stop(); }

absl::string_view Client::host() const { return impl_->transport->host(); }

}  // namespace muster::kubernetes
