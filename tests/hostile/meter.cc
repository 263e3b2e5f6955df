#include "tests/hostile/meter.h"

#include <grpcpp/client_context.h>
#include <muster/quota/v1/quota_service.grpc.pb.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/testing/raw_call.h"

namespace muster::testing {
namespace {

// Of a process' status; nullopt: it has ended.
std::optional<int64_t> MemoryOf(pid_t pid, const std::string& key) {
  std::ifstream in(absl::StrCat("/proc/", pid, "/status"));
  for (std::string word; in >> word;) {
    int64_t kib = 0;
    if (word == key && in >> kib) return kib * 1024;
  }
  return std::nullopt;
}

}  // namespace

void Meter::Begin() {
  // From here on VmHWM counts anew.
  std::ofstream(absl::StrCat("/proc/", pid_, "/clear_refs")) << "5";
  bytes_ = Status("VmRSS:");
  cpu_ = CpuSoFar();
}

int64_t Meter::PeakBytes() const { return Status("VmHWM:") - bytes_; }
absl::Duration Meter::Cpu() const { return CpuSoFar() - cpu_; }

int64_t Meter::PeakOf(pid_t pid) { return MemoryOf(pid, "VmHWM:").value_or(0); }

int64_t Meter::Status(const std::string& key) const {
  const std::optional<int64_t> bytes = MemoryOf(pid_, key);
  if (!bytes) throw std::runtime_error(absl::StrCat("process ", pid_, " is gone"));
  return *bytes;
}

absl::Duration Meter::CpuSoFar() const {
  std::ifstream in(absl::StrCat("/proc/", pid_, "/stat"));
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  // The name is in brackets, and may have any character.
  std::istringstream rest(text.substr(text.rfind(')') + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) rest >> skipped;
  int64_t user = 0, system = 0;
  rest >> user >> system;
  return absl::Seconds(static_cast<double>(user + system) /
                       static_cast<double>(sysconf(_SC_CLK_TCK)));
}

HealthWatch::HealthWatch(std::shared_ptr<grpc::Channel> channel)
    : channel_(std::move(channel)), thread_([this] { Run(); }) {}

HealthWatch::~HealthWatch() {
  stopped_ = true;
  thread_.join();
}

void HealthWatch::Run() {
  while (!stopped_) {
    bool serving = false;
    const RawCallOptions options = {.deadline = absl::Seconds(1),
                                    .enough = [&](const std::string& answer) {
                                      serving = answer == "\x08\x01";
                                      return false;
                                    }};
    const bool answered = CallRaw(channel_, "/grpc.health.v1.Health/Check", "", options).ok();
    ++asked_;
    if (answered && serving) ++serving_;
    absl::SleepFor(absl::Milliseconds(100));
  }
}

Neighbour::Neighbour(std::shared_ptr<grpc::Channel> channel, absl::Duration deadline)
    : channel_(std::move(channel)), deadline_(deadline), thread_([this] { Run(); }) {}

Neighbour::~Neighbour() {
  stopped_ = true;
  thread_.join();
}

void Neighbour::Run() {
  const auto stub = quota::v1::QuotaService::NewStub(channel_);
  const std::string quota = "organizations/acme/quotas/RNO2A~gd-8xa100-i128~default";
  // Each counts its generations from 1.
  static std::atomic<int> neighbours = 0;
  const std::string holding = absl::StrCat(quota, "/holdings/neighbour-", ++neighbours);
  for (int i = 1; !stopped_; ++i) {
    grpc::ClientContext context;
    const absl::Time begin = absl::Now();
    context.set_deadline(absl::ToChronoTime(begin + deadline_));
    grpc::Status status;
    if (i % 2 == 0) {
      quota::v1::GetQuotaRequest request;
      request.set_name(quota);
      quota::v1::Quota answer;
      status = stub->GetQuota(&context, request, &answer);
    } else {
      quota::v1::SyncHoldingRequest request;
      request.mutable_holding()->set_name(holding);
      request.mutable_holding()->set_pool("the neighbour's");
      request.mutable_holding()->set_nodes(i % 4 == 1 ? 1 : 0);
      request.mutable_holding()->set_generation(i);
      quota::v1::SyncHoldingResponse answer;
      status = stub->SyncHolding(&context, request, &answer);
    }
    ++calls_;
    if (!status.ok()) ++failed_;
    {
      MutexLock lock(mutex_);
      took_.push_back(absl::Now() - begin);
    }
    absl::SleepFor(absl::Milliseconds(50));
  }
}

absl::Duration Neighbour::Percentile(double share) const {
  MutexLock lock(mutex_);
  if (took_.empty()) return absl::ZeroDuration();
  std::vector<absl::Duration> sorted = took_;
  std::sort(sorted.begin(), sorted.end());
  return sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1))];
}

}  // namespace muster::testing
