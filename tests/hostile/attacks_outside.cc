// Crowds of sockets, and what hostile servers and files do to the clients of Muster.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/common/open_files.h"
#include "tests/hostile/api_server.h"
#include "tests/hostile/meter.h"
#include "tests/hostile/target.h"
#include "tests/testing/raw_call.h"
#include "tests/testing/sockets.h"

namespace muster::testing {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

// A file that is gone with this object.
class TempFile {
 public:
  TempFile() {
    path_ = "/tmp/muster-hostile.XXXXXX";
    const int file = mkstemp(path_.data());
    if (file < 0) throw std::runtime_error("mkstemp failed");
    close(file);
  }
  explicit TempFile(const std::string& text) : TempFile() { std::ofstream(path_) << text; }
  ~TempFile() { unlink(path_.c_str()); }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_ = {};
};

// Of all that have ended.
absl::Duration CpuOfChildren() {
  rusage usage = {};
  getrusage(RUSAGE_CHILDREN, &usage);
  return absl::DurationFromTimeval(usage.ru_utime) + absl::DurationFromTimeval(usage.ru_stime);
}

// --- rows 2 and 16 ---

// Until it has so many open, half a minute at most.
void AwaitFiles(const MiniMuster& muster, int files) {
  for (int i = 0; i < 300 && muster.Runs() && muster.open_files() < files; ++i)
    absl::SleepFor(absl::Milliseconds(100));
}

// Somebody new is answered.
bool TakesConnections(const MiniMuster& muster) {
  return CallRaw(OwnChannel(muster), "/grpc.health.v1.Health/Check", "",
                 {.deadline = absl::Seconds(5)})
      .ok();
}

void IdleCrowd(Target& target) {
  const MiniMuster& muster = target.muster();
  {
    const Idle idle(muster.address(), 3'000);
    AwaitFiles(muster, 3'000);
  }
  target.Expect(TakesConnections(muster), "it does not answer when they are gone");
}

void IdleCrowdAtTheLimit(Target& target) {
  MiniMuster& muster = target.muster();
  {
    const Idle idle(muster.address(), 1'300);
    AwaitFiles(muster, 1'000);
  }
  const absl::Time give_up = absl::Now() + absl::Minutes(1);
  while (muster.Runs() && !TakesConnections(muster) && absl::Now() < give_up)
    absl::SleepFor(absl::Milliseconds(100));
  if (muster.Runs()) return target.Expect(TakesConnections(muster), "it neither answers nor ends");
  target.Expect(absl::StrContains(muster.MusterdLogs(), "The listener is dead"),
                "it ended without a word");
  (void)muster.Terminate();  // so that nobody takes its end for a crash
}

void HalfRequestLines(Target& target) {
  const std::string address = target.muster().metrics_address();
  const Idle idle(address, 20, "GET /metr");
  for (int i = 0; i < 5; ++i) {
    target.Expect(absl::StrContains(HttpGet(address, "/metrics", absl::Seconds(30)), "200 OK"),
                  "/metrics is not answered");
  }
}

// --- row 18 ---

void AdapterAgainst(Target& target, ApiServer::Malice malice) {
  ApiServer server(malice);
  const TempFile kubeconfig(absl::StrCat(
      "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts:\n- name: c\n  context: "
      "{cluster: "
      "c, user: u}\nusers:\n- name: u\n  user: {token: t}\nclusters:\n- name: c\n  cluster: "
      "{server: \"http://",
      server.address(), "\"}\n"));
  const TempFile log;
  Child adapter({Binary("muster-kubernetes"), absl::StrCat("--kubeconfig=", kubeconfig.path()),
                 absl::StrCat("--server=", target.muster().address()), "--organization=acme",
                 "--cluster=hostile", "--zone=RNO2A", "--metrics_listen=127.0.0.1:0",
                 "--health_listen=127.0.0.1:0", "--lease_namespace=default"},
                log.path());
  absl::SleepFor(absl::Seconds(20));
  target.Expect(adapter.running(), "the adapter is dead");
  target.Expect(server.attacked() > 0, "the adapter came nowhere near the attack");
  const int64_t bytes = Meter::PeakOf(adapter.pid());
  const absl::Duration before = CpuOfChildren();
  adapter.Kill();
  target.Charge(bytes, CpuOfChildren() - before);
}

// --- row 23 ---

// musterctl refuses this file.
void Refused(Target& target, const std::string& file) {
  const TempFile output;
  const std::string program = Binary("musterctl");
  const absl::Duration before = CpuOfChildren();
  Child ctl({program, absl::StrCat("--server=", target.muster().address()), "apply", "-f", file},
            output.path());
  const std::string exe = absl::StrCat("/proc/", ctl.pid(), "/exe");
  const absl::Time give_up = absl::Now() + absl::Minutes(1);
  int64_t bytes = 0;
  while (ctl.running() && absl::Now() < give_up) {
    // Until it is that program it is a copy of this one.
    std::error_code gone;
    const bool is_ctl = std::filesystem::read_symlink(exe, gone).filename() == "musterctl";
    if (is_ctl) bytes = std::max(bytes, Meter::PeakOf(ctl.pid()));
    absl::SleepFor(absl::Milliseconds(1));
  }
  target.Expect(!ctl.running(), "it took more than a minute");
  ctl.Kill();
  target.Expect(ctl.Terminate() == 1, "it is not refused");
  target.Charge(bytes, CpuOfChildren() - before);
}

std::string Lines(int count, const std::function<std::string(int)>& line) {
  std::string text;
  for (int i = 0; i < count; ++i) text += line(i);
  return text;
}

Attack File(const std::string& what, const std::function<std::string()>& text) {
  // At most 16 MiB are read; yaml-cpp keeps some 50 bytes of nodes for each of a text's.
  return {.row = "23",
          .what = absl::StrCat("musterctl apply -f of ", what),
          .before = "more than 60 s",
          .load = {.bytes = 1'500 * kMiB, .cpu = absl::Seconds(60)},
          .run = [text](Target& target) { Refused(target, TempFile(text()).path()); }};
}

}  // namespace

std::vector<Attack> OutsideAttacks() {
  const auto limit = [](const char* files) {
    return MiniMuster::Options{.musterd_prefix = {"/usr/bin/prlimit", files}, .audit_books = false};
  };
  RaiseFileLimit();
  return {
      {.row = "2",
       .what = "3,000 idle connections, a soft limit of 1,024",
       .before = "1,224: the listener is dead for ever",
       .load = {.requests = 30, .bytes = 256 * kMiB},
       .run = IdleCrowd,
       .muster = limit("--nofile=1024:")},
      {.row = "2",
       .what = "1,300 idle connections, a hard limit of 1,024",
       .before = "the listener is dead for ever",
       .load = {.requests = 30, .bytes = 128 * kMiB},
       .run = IdleCrowdAtTheLimit,
       .muster = limit("--nofile=1024:1024"),
       .outage = true},
      {.row = "16",
       .what = "20 half request lines at /metrics",
       .before = "/metrics answers nobody while they stay",
       .run = HalfRequestLines},
      {.row = "18",
       .what = "an API server whose watches are one endless line",
       .before = "5.4 GB in 12 s",
       // Four watches, of each a line of 16 MiB, in a string that doubles: both are there while it
       // moves.
       .load = {.bytes = 4 * (16 + 32) * kMiB, .cpu = absl::Seconds(20)},
       .run = [](Target& target) { AdapterAgainst(target, ApiServer::Malice::kEndlessLine); }},
      {.row = "18",
       .what = "an API server that answers lists with 200 MB of `[`",
       .before = "6.2 GB",
       // Four lists, of each 64 MiB, twice.
       .load = {.bytes = 4 * 2 * 64 * kMiB, .cpu = absl::Seconds(20)},
       .run = [](Target& target) { AdapterAgainst(target, ApiServer::Malice::kBrackets); }},
      {.row = "23",
       .what = "musterctl apply -f /dev/zero",
       .before = "8.0 GB in 15 s, and on",
       .run = [](Target& target) { Refused(target, "/dev/zero"); }},
      File("900,000 keys",
           [] { return Lines(900'000, [](int i) { return absl::StrCat("k", i, ": 1\n"); }); }),
      File("300,000 documents",
           [] { return Lines(300'000, [](int i) { return absl::StrCat("---\na: ", i, "\n"); }); }),
      File("50,000 pools",
           [] {
             return Lines(50'000, [](int i) {
               return absl::StrCat(
                   "---\napiVersion: compute.coreweave.com/v1alpha1\nkind: NodePool\n"
                   "metadata: {name: p",
                   i,
                   "}\nspec: {instanceType: a, targetNodes: "
                   "x}\n");
             });
           }),
  };
}

}  // namespace muster::testing
