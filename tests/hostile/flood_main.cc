// hostile_flood ADDRESS CA CERTIFICATE KEY get|sync CALLS RATE SECONDS: one caller who asks one
// thing over and over, by HTTP/2 itself: it costs a fraction of what gRPC's client takes, so that
// it can ask for many times what a server beside it can answer. It has CALLS under way at most, 100
// a connection, and asks RATE times a second, as far as they let it; 0: again as soon as one is
// answered. Prints `asked sent ok exhausted late other seconds refused`: calls that it wanted to
// make, those that it made, what these were answered within SECONDS, and within how many
// milliseconds 99 of 100 of the exhausted ones. Each has a deadline of one second.
#include <fcntl.h>
#include <muster/quota/v1/quota_service.pb.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace muster::testing {
namespace {

constexpr char kQuota[] = "organizations/acme/quotas/RNO2A~gd-8xa100-i128~default";
constexpr int kMostCallsAConnection = 100;  // what gRPC's servers allow

struct Answered {
  int64_t asked = 0;
  int64_t sent = 0;
  int64_t ok = 0;
  int64_t exhausted = 0;
  int64_t late = 0;
  int64_t other = 0;  // refused or cut off, too
  // How long each of the exhausted took, from when it was asked; no clock of the server's.
  std::vector<absl::Duration> refused = {};
};

// Within what time 99 of 100 came; 0: there are none.
absl::Duration Percentile99(std::vector<absl::Duration> took) {
  if (took.empty()) return absl::ZeroDuration();
  const auto at = took.begin() + static_cast<std::ptrdiff_t>((took.size() - 1) * 99 / 100);
  std::nth_element(took.begin(), at, took.end());
  return *at;
}

// What is asked: a method, and the one message of it as gRPC frames it.
struct Question {
  std::string path = {};
  std::string body = {};
};

Question MakeQuestion(bool sync) {
  std::string message;
  if (sync) {
    quota::v1::SyncHoldingRequest request;
    request.mutable_holding()->set_name(absl::StrCat(kQuota, "/holdings/flood"));
    request.mutable_holding()->set_generation(1);
    message = request.SerializeAsString();
  } else {
    quota::v1::GetQuotaRequest request;
    request.set_name(kQuota);
    message = request.SerializeAsString();
  }
  // Not compressed; its length in four bytes.
  std::string body(5, '\0');
  for (size_t i = 0; i < 4; ++i)
    body[1 + i] = static_cast<char>((message.size() >> (8 * (3 - i))) & 0xff);
  return {.path = sync ? "/muster.quota.v1.QuotaService/SyncHolding"
                       : "/muster.quota.v1.QuotaService/GetQuota",
          .body = body + message};
}

// One connection by mutual TLS, never waited for.
class Connection {
 public:
  Connection(SSL_CTX* tls, const std::string& address, const Question& question, Answered& answered)
      : question_(question), answered_(answered) {
    Connect(address);
    ssl_ = SSL_new(tls);
    SSL_set_fd(ssl_, socket_);
    if (SSL_connect(ssl_) != 1) throw std::runtime_error("no TLS with " + address);
    fcntl(socket_, F_SETFL, fcntl(socket_, F_GETFL) | O_NONBLOCK);
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, &OnHeader);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, &OnClose);
    nghttp2_session_client_new(&session_, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, nullptr, 0);
  }
  ~Connection() {
    nghttp2_session_del(session_);
    SSL_free(ssl_);
    close(socket_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int open() const { return open_; }
  // The server takes no more on it, or has cut it off.
  bool over() const {
    return cut_off_ || nghttp2_session_want_read(session_) == 0 ||
           nghttp2_session_check_request_allowed(session_) == 0;
  }
  // What was under way is told as not answered.
  void GiveUp() { answered_.other += std::exchange(open_, 0); }

  void Ask() {
    nghttp2_nv headers[] = {
        Header(":method", "POST"),       Header(":scheme", "https"),
        Header(":path", question_.path), Header(":authority", "muster"),
        Header("te", "trailers"),        Header("content-type", "application/grpc"),
        Header("grpc-timeout", "1S")};
    nghttp2_data_provider body = {};
    body.source.ptr = const_cast<Question*>(&question_);
    body.read_callback = &ReadBody;
    const int32_t stream =
        nghttp2_submit_request(session_, nullptr, headers, std::size(headers), &body, nullptr);
    if (stream < 0) throw std::runtime_error("no more streams");
    begun_[stream] = absl::Now();
    ++open_;
    ++answered_.sent;
  }

  pollfd Poll() const {
    return {.fd = socket_,
            .events = static_cast<int16_t>(POLLIN | (written_ < out_.size() ? POLLOUT : 0)),
            .revents = 0};
  }

  // Takes what has come, and sends what it can.
  void Serve(bool readable) {
    if (readable) Read();
    const uint8_t* bytes = nullptr;
    while (out_.size() - written_ < (1 << 20)) {
      const ssize_t size = nghttp2_session_mem_send(session_, &bytes);
      if (size <= 0) break;
      out_.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
    }
    while (written_ < out_.size()) {
      const int size = SSL_write(ssl_, out_.data() + written_,
                                 static_cast<int>(std::min<size_t>(out_.size() - written_, 16384)));
      if (size <= 0) break;
      written_ += static_cast<size_t>(size);
    }
    if (written_ == out_.size()) {
      out_.clear();
      written_ = 0;
    }
  }

 private:
  void Connect(const std::string& address) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(address, ':');
    addrinfo* found = nullptr;
    if (getaddrinfo(parts.first.c_str(), parts.second.c_str(), nullptr, &found) != 0)
      throw std::runtime_error("no address " + address);
    socket_ = socket(found->ai_family, SOCK_STREAM, 0);
    const int result = connect(socket_, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    if (result != 0) throw std::runtime_error("cannot connect to " + address);
    const int on = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }
  static nghttp2_nv Header(absl::string_view name, absl::string_view value) {
    return {reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
            reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(),
            NGHTTP2_NV_FLAG_NONE};
  }
  void Read() {
    uint8_t bytes[16384];
    int size = 0;
    while ((size = SSL_read(ssl_, bytes, sizeof(bytes))) > 0) {
      if (nghttp2_session_mem_recv(session_, bytes, static_cast<size_t>(size)) < 0)
        throw std::runtime_error("the server does not speak HTTP/2");
    }
    cut_off_ = SSL_get_error(ssl_, size) != SSL_ERROR_WANT_READ;
  }
  static ssize_t ReadBody(nghttp2_session*, int32_t, uint8_t* to, size_t, uint32_t* flags,
                          nghttp2_data_source* source, void*) {
    const std::string& body = static_cast<const Question*>(source->ptr)->body;
    std::memcpy(to, body.data(), body.size());
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(body.size());
  }
  static int OnHeader(nghttp2_session* session, const nghttp2_frame* frame, const uint8_t* name,
                      size_t name_size, const uint8_t* value, size_t value_size, uint8_t,
                      void* self) {
    if (absl::string_view(reinterpret_cast<const char*>(name), name_size) != "grpc-status")
      return 0;
    auto& connection = *static_cast<Connection*>(self);
    Answered& answered = connection.answered_;
    nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, &answered);
    const absl::string_view code(reinterpret_cast<const char*>(value), value_size);
    ++(code == "0"   ? answered.ok
       : code == "8" ? answered.exhausted
       : code == "4" ? answered.late
                     : answered.other);
    if (code == "8")
      answered.refused.push_back(absl::Now() - connection.begun_[frame->hd.stream_id]);
    return 0;
  }
  static int OnClose(nghttp2_session* session, int32_t stream, uint32_t, void* self) {
    auto& connection = *static_cast<Connection*>(self);
    --connection.open_;
    connection.begun_.erase(stream);
    if (nghttp2_session_get_stream_user_data(session, stream) == nullptr)
      ++connection.answered_.other;  // without a status
    return 0;
  }

  const Question& question_;
  Answered& answered_;
  int socket_ = -1;
  SSL* ssl_ = nullptr;
  nghttp2_session* session_ = nullptr;
  int open_ = 0;
  std::unordered_map<int32_t, absl::Time> begun_;  // when each open stream was
  bool cut_off_ = false;
  std::string out_;
  size_t written_ = 0;  // of out_
};

class Flood {
 public:
  Flood(SSL_CTX* tls, const std::string& address, const Question& question, int64_t calls)
      : tls_(tls), address_(address), question_(question) {
    for (int64_t i = 0; i < calls; i += kMostCallsAConnection) connections_.push_back(Connect());
    most_each_ = static_cast<int>(calls / static_cast<int64_t>(connections_.size()));
  }

  // `rate` 0: as fast as answers come.
  Answered Run(double rate, absl::Duration time) {
    std::vector<pollfd> polls(connections_.size());
    for (const absl::Time begin = absl::Now();;) {
      const absl::Duration passed = absl::Now() - begin;
      if (passed > time) return answered_;
      const auto due =
          rate > 0 ? static_cast<int64_t>(rate * absl::ToDoubleSeconds(passed))
                   : answered_.asked + static_cast<int64_t>(connections_.size()) * most_each_;
      AskUpTo(due, rate == 0);
      for (size_t i = 0; i < polls.size(); ++i) {
        connections_[i]->Serve(false);
        polls[i] = connections_[i]->Poll();
      }
      poll(polls.data(), polls.size(), 1);
      for (size_t i = 0; i < polls.size(); ++i) {
        if (polls[i].revents != 0) connections_[i]->Serve(true);
        if (connections_[i]->over()) {
          connections_[i]->GiveUp();
          connections_[i] = Connect();
        }
      }
    }
  }

 private:
  std::unique_ptr<Connection> Connect() {
    return std::make_unique<Connection>(tls_, address_, question_, answered_);
  }
  // Those that find no room are not made, nor asked for later.
  void AskUpTo(int64_t due, bool only_with_room) {
    for (size_t full = 0; answered_.asked < due && full < connections_.size();) {
      Connection& next = *connections_[next_++ % connections_.size()];
      if (next.open() >= most_each_) {
        ++full;
        continue;
      }
      full = 0;
      next.Ask();
      ++answered_.asked;
    }
    if (!only_with_room) answered_.asked = std::max(answered_.asked, due);
  }

  SSL_CTX* const tls_;
  const std::string address_;
  const Question& question_;
  Answered answered_;
  std::vector<std::unique_ptr<Connection>> connections_;
  int most_each_ = 0;
  size_t next_ = 0;
};

SSL_CTX* MakeTls(const std::string& ca, const std::string& certificate, const std::string& key) {
  SSL_CTX* const tls = SSL_CTX_new(TLS_client_method());
  constexpr unsigned char kHttp2[] = {2, 'h', '2'};
  if (SSL_CTX_load_verify_locations(tls, ca.c_str(), nullptr) != 1 ||
      SSL_CTX_use_certificate_chain_file(tls, certificate.c_str()) != 1 ||
      SSL_CTX_use_PrivateKey_file(tls, key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_set_alpn_protos(tls, kHttp2, sizeof(kHttp2)) != 0) {
    throw std::runtime_error(absl::StrCat("cannot use ", ca, ", ", certificate, " or ", key));
  }
  SSL_CTX_set_verify(tls, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  return tls;
}

int Main(const std::vector<std::string>& words) {
  int64_t calls = 0;
  double rate = 0, seconds = 0;
  if (words.size() != 8 || (words[4] != "get" && words[4] != "sync") ||
      !absl::SimpleAtoi(words[5], &calls) || calls < 1 || !absl::SimpleAtod(words[6], &rate) ||
      !absl::SimpleAtod(words[7], &seconds)) {
    std::cerr << "usage: hostile_flood ADDRESS CA CERTIFICATE KEY get|sync CALLS RATE SECONDS\n";
    return 2;
  }
  const Question question = MakeQuestion(words[4] == "sync");
  Flood flood(MakeTls(words[1], words[2], words[3]), words[0], question, calls);
  const Answered answered = flood.Run(rate, absl::Seconds(seconds));
  std::cout << absl::StrFormat("%d %d %d %d %d %d %.3f %.2f\n", answered.asked, answered.sent,
                               answered.ok, answered.exhausted, answered.late, answered.other,
                               seconds, absl::ToDoubleMilliseconds(Percentile99(answered.refused)));
  return 0;
}

}  // namespace
}  // namespace muster::testing

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  try {
    return muster::testing::Main({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "hostile_flood: " << error.what() << "\n";
    return 1;
  }
}
