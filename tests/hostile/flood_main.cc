// hostile_flood ADDRESS CA CERTIFICATE KEY get|sync peak|open SECONDS: one caller who asks one thing over and over: `peak`, again as soon as
// one of 512 is answered; `open`, without waiting for answers. Prints `asked ok exhausted late seconds`, those of the calls that
// were made in that time, and the time itself. A process of its own: nobody who is measured beside it waits in its queues.
#include <grpcpp/grpcpp.h>
#include <muster/quota/v1/quota_service.grpc.pb.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace muster::testing {
namespace {

constexpr char kQuota[] = "organizations/acme/quotas/RNO2A~gd-8xa100-i128~default";
constexpr int kChannels = 4;
constexpr int kPeakCalls = 512;
constexpr absl::Duration kDeadline = absl::Seconds(1);
// More than this many are not asked for at once: the flood's own memory.
constexpr int64_t kMostOpen = 100'000;

// A caller with connections of its own, whose calls are counted by what they were answered.
class Caller {
 public:
  enum class Rpc { kGetQuota, kSyncHolding };

  Caller(const std::string& address, const grpc::SslCredentialsOptions& identity, Rpc rpc)
      : rpc_(rpc) {
    grpc::ChannelArguments own;
    own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    for (int i = 0; i < kChannels; ++i) {
      stubs_.push_back(quota::v1::QuotaService::NewStub(
          grpc::CreateCustomChannel(address, grpc::SslCredentials(identity), own)));
    }
    get_.set_name(kQuota);
    sync_.mutable_holding()->set_name(absl::StrCat(kQuota, "/holdings/flood"));
    sync_.mutable_holding()->set_generation(1);
  }
  ~Caller() { Wait(); }

  // One more, without waiting for it; `then` is called when it is answered.
  void Ask(std::function<void()> then = {}) {
    auto call = std::make_shared<OneCall>();
    call->context.set_deadline(absl::ToChronoTime(absl::Now() + kDeadline));
    ++open_;
    const auto done = [this, call, then = std::move(then)](const grpc::Status& status) {
      Count(status.error_code());
      if (then) then();
      --open_;
    };
    auto& stub = *stubs_[static_cast<size_t>(asked_++ % kChannels)];
    if (rpc_ == Rpc::kGetQuota) {
      stub.async()->GetQuota(&call->context, &get_, &call->quota, done);
    } else {
      stub.async()->SyncHolding(&call->context, &sync_, &call->answer, done);
    }
  }
  void Wait() const {
    while (open_ > 0) absl::SleepFor(absl::Milliseconds(10));
  }
  // As fast as answers come, for so long.
  void AskAtItsPeak(absl::Duration time) {
    std::atomic<bool> stop = false;
    std::function<void()> again = [&] {
      if (!stop) Ask(again);
    };
    for (int i = 0; i < kPeakCalls; ++i) Ask(again);
    absl::SleepFor(time);
    Tell();
    stop = true;
    Wait();
  }
  // Without waiting for answers, for so long.
  void AskWithoutEnd(absl::Duration time) {
    for (const absl::Time end = absl::Now() + time; absl::Now() < end;) {
      if (open_ < kMostOpen) {
        Ask();
      } else {
        absl::SleepFor(absl::Milliseconds(1));
      }
    }
    Tell();
    Wait();
  }

 private:
  struct OneCall {
    grpc::ClientContext context;
    quota::v1::Quota quota;
    quota::v1::SyncHoldingResponse answer;
  };
  void Tell() const {
    std::cout << absl::StrFormat("%d %d %d %d %.3f\n", asked_.load(), ok_.load(), exhausted_.load(),
                                 late_.load(), absl::ToDoubleSeconds(absl::Now() - begin_))
              << std::flush;
  }
  void Count(grpc::StatusCode code) {
    if (code == grpc::StatusCode::OK) ++ok_;
    if (code == grpc::StatusCode::RESOURCE_EXHAUSTED) ++exhausted_;
    if (code == grpc::StatusCode::DEADLINE_EXCEEDED) ++late_;
  }

  const Rpc rpc_;
  const absl::Time begin_ = absl::Now();
  std::vector<std::unique_ptr<quota::v1::QuotaService::Stub>> stubs_;
  quota::v1::GetQuotaRequest get_;
  quota::v1::SyncHoldingRequest sync_;
  std::atomic<int64_t> asked_ = 0;
  std::atomic<int64_t> open_ = 0;
  std::atomic<int64_t> ok_ = 0;
  std::atomic<int64_t> exhausted_ = 0;
  std::atomic<int64_t> late_ = 0;
};

std::string TextOf(const std::string& file) {
  std::ifstream in(file);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

int Main(const std::vector<std::string>& words) {
  double seconds = 0;
  if (words.size() != 7 || (words[4] != "get" && words[4] != "sync") ||
      (words[5] != "peak" && words[5] != "open") || !absl::SimpleAtod(words[6], &seconds)) {
    std::cerr << "usage: hostile_flood ADDRESS CA CERTIFICATE KEY get|sync peak|open SECONDS\n";
    return 2;
  }
  Caller caller(words[0],
                {.pem_root_certs = TextOf(words[1]),
                 .pem_private_key = TextOf(words[3]),
                 .pem_cert_chain = TextOf(words[2])},
                words[4] == "get" ? Caller::Rpc::kGetQuota : Caller::Rpc::kSyncHolding);
  if (words[5] == "peak") {
    caller.AskAtItsPeak(absl::Seconds(seconds));
  } else {
    caller.AskWithoutEnd(absl::Seconds(seconds));
  }
  return 0;
}

}  // namespace
}  // namespace muster::testing

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  return muster::testing::Main({argv + 1, argv + argc});
}
