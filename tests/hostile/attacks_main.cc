// hostile_attacks [ROW...]: makes the large attacks (of those rows), one after the other, each on a
// whole server of its own; ends with a table of them all, and with 1 when a bound was broken.
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <iostream>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "services/rpc/limits.h"
#include "tests/hostile/meter.h"
#include "tests/hostile/target.h"

namespace muster::testing {
namespace {

struct Result {
  std::string line = {};
  bool holds = false;
};

double Mebibytes(int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

int64_t MostBytes(const Load& load) {
  return (int64_t{64} << 20) + load.bytes + int64_t{2} * load.at_once * rpc::kMaxReceiveBytes;
}
absl::Duration MostCpu(const Load& load, absl::Duration took) {
  return load.cpu + load.requests * absl::Milliseconds(100) + 0.4 * took;
}

Result Make(const Attack& attack) {
  MiniMuster muster(attack.muster);
  muster.ApplyCatalogue();
  if (attack.prepare) attack.prepare(muster);
  // The attack finds a connection, as long as the machine may need to make one.
  const auto connected = muster.channel();
  connected->WaitForConnected(absl::ToChronoTime(absl::Now() + absl::Seconds(10)));
  Target target(muster);
  int64_t bytes = 0;
  absl::Duration cpu;
  std::string said = "-", failed = "-";
  const absl::Time begin = absl::Now();
  {
    Neighbour neighbour(OwnChannel(muster));
    HealthWatch health(OwnChannel(muster));
    Meter meter(muster.pid());
    attack.run(target);
    bytes = target.charged() ? target.bytes() : muster.Runs() ? meter.PeakBytes() : 0;
    cpu = target.charged() ? target.cpu() : muster.Runs() ? meter.Cpu() : absl::ZeroDuration();
    said = absl::StrCat(health.serving(), " of ", health.asked(), " serving");
    failed = absl::StrCat(neighbour.failed(), " of ", neighbour.calls());
    if (!attack.outage) {
      target.Expect(neighbour.failed() == 0, "a neighbour failed");
      target.Expect(health.serving() == health.asked(), "health did not say SERVING");
    }
  }
  const absl::Duration took = absl::Now() - begin;
  target.Expect(bytes <= MostBytes(attack.load),
                absl::StrFormat("more than %.0f MiB", Mebibytes(MostBytes(attack.load))));
  target.Expect(cpu <= MostCpu(attack.load, took),
                absl::StrFormat("more than %.1f s of CPU",
                                absl::ToDoubleSeconds(MostCpu(attack.load, took))));
  const bool holds = target.complaints().empty();
  return {absl::StrFormat("%3s | %-68s | %-48s | %8.1f | %6.2f | %6.1f | %-12s | %-20s | %s",
                          attack.row, attack.what, attack.before.empty() ? "-" : attack.before,
                          Mebibytes(bytes), absl::ToDoubleSeconds(cpu), absl::ToDoubleSeconds(took),
                          failed, said, holds ? "holds" : absl::StrJoin(target.complaints(), "; ")),
          holds};
}

int Run(const std::vector<std::string>& rows) {
  std::vector<Attack> attacks;
  for (auto& some : {RequestAttacks(), StateAttacks(), WatchAttacks(), NameAttacks(),
                     OutsideAttacks(), FloodAttacks()})
    attacks.insert(attacks.end(), some.begin(), some.end());
  std::stable_sort(attacks.begin(), attacks.end(), [](const Attack& a, const Attack& b) {
    return std::stoi(a.row) < std::stoi(b.row);
  });
  std::vector<std::string> table = {
      absl::StrFormat("%3s | %-68s | %-48s | %8s | %6s | %6s | %-12s | %-20s | %s", "row", "attack",
                      "before", "peak MiB", "CPU s", "took s", "neighbour", "health", "verdict")};
  bool all_hold = true;
  for (const Attack& attack : attacks) {
    if (!rows.empty() && std::find(rows.begin(), rows.end(), attack.row) == rows.end()) continue;
    Result result;
    try {
      result = Make(attack);
    } catch (const std::exception& error) {
      result.line = absl::StrCat(attack.row, " | ", attack.what, " | ", error.what());
    }
    all_hold &= result.holds;
    std::cout << result.line << std::endl;
    table.push_back(result.line);
  }
  std::cout << "\n" << absl::StrJoin(table, "\n") << "\n";
  return all_hold ? 0 : 1;
}

}  // namespace

std::shared_ptr<grpc::Channel> OwnChannel(const MiniMuster& muster, grpc::ChannelArguments own) {
  own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(
      muster.address(),
      muster.is_tls() ? muster.CredentialsOf("ci") : grpc::InsecureChannelCredentials(), own);
}

void AtOnce(int count, const std::function<void(int)>& call) {
  std::vector<std::thread> threads;
  threads.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) threads.emplace_back([&call, i] { call(i); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace muster::testing

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  return muster::testing::Run({argv + 1, argv + argc});
}
