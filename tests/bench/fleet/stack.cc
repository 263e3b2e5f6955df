#include "tests/bench/fleet/stack.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "tests/bench/usage.h"
#include "tests/testing/sql.h"

namespace muster::bench {
namespace {

using testing::Child;

constexpr absl::Duration kSignalPatience = absl::Seconds(10);
constexpr char kStatistics[] = "fleetsim statistics";
constexpr char kFailed[] = "nodes fail";
constexpr char kRegistered[] = "machines are registered";
// Share of the Nodes in service that FailNodes lets fail.
constexpr double kFailShare = 0.05;
// Between two looks at a file that somebody else writes.
constexpr absl::Duration kLook = absl::Milliseconds(10);

// Everything but lease_heartbeat, whose beats are no matter of the fleet, and the journals, which
// are counted by their heads.
constexpr char kMeasure[] =
    "SELECT (SELECT revision FROM capacity.journal_head), (SELECT revision FROM "
    "quota.journal_head),"
    " (SELECT revision FROM configuration.journal_head), (SELECT revision FROM "
    "lifecycle.journal_head),"
    " (pg_current_wal_lsn() - '0/0')::bigint,"
    " (SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::bigint FROM pg_stat_user_tables"
    " WHERE schemaname IN ('capacity', 'quota', 'configuration', 'lifecycle')"
    " AND relname NOT IN ('lease_heartbeat', 'journal', 'journal_head')),"
    " (SELECT coalesce(sum(seq_tup_read), 0)::bigint FROM pg_stat_user_tables"
    " WHERE schemaname IN ('capacity', 'quota', 'configuration', 'lifecycle'))";

constexpr char kStatements[] =
    "SELECT total_exec_time::bigint, calls, rows, round(wal_bytes / 1048576.0, 1), rolname,"
    " left(regexp_replace(query, '\\s+', ' ', 'g'), 100)"
    " FROM pg_stat_statements JOIN pg_roles r ON r.oid = userid ORDER BY total_exec_time DESC "
    "LIMIT 15";

}  // namespace

Stack::Stack(StackOptions options) : options_(std::move(options)) {
  char folder[] = "/tmp/muster-fleet.XXXXXX";
  if (mkdtemp(folder) == nullptr) throw std::runtime_error("mkdtemp failed");
  folder_ = folder;
  postgres_ = testing::PostgresCluster::StartOwn();
  if (options_.statements) {
    testing::RunSql(postgres_->ConnInfo(),
                    "ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'");
    postgres_->Stop(testing::PostgresCluster::StopMode::kFast);
    postgres_->Start();
  }
  testing::RunSql(postgres_->ConnInfo(), "CREATE DATABASE muster");
  if (options_.statements) testing::RunSql(conninfo(), "CREATE EXTENSION pg_stat_statements");
  const testing::Finished migrated =
      testing::RunProgram({absl::StrCat(options_.bin_dir, "/musterd"), "migrate",
                           absl::StrCat("--db_conninfo=", conninfo()),
                           absl::StrCat("--migrations_dir=", options_.migrations_dir)});
  if (migrated.exit_code != 0) throw std::runtime_error(migrated.output);
  const std::string data = *testing::RunSql(postgres_->ConnInfo(), "SHOW data_directory")[0][0];
  std::ifstream(data + "/postmaster.pid") >> postmaster_;
}

Stack::~Stack() {
  simulator_.reset();
  server_.reset();
  capacity_.reset();
  postgres_.reset();
  if (std::uncaught_exceptions() > 0) return;
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string Stack::conninfo() const { return postgres_->ConnInfo("muster", "postgres"); }

std::string Stack::target() const { return Address("musterd"); }

// A socket of our own: while a server is away, who connects to a TCP port of it again and again may
// come to connect to itself, and the port is taken.
std::string Stack::Address(absl::string_view name) const {
  return absl::StrCat("unix:", folder_, "/", name, ".sock");
}

std::unique_ptr<Child> Stack::Serve(const std::string& name,
                                    const std::vector<std::string>& flags) const {
  const std::string port_file = absl::StrCat(folder_, "/", name, ".ports");
  std::filesystem::remove(port_file);
  std::vector<std::string> command = {
      absl::StrCat(options_.bin_dir, "/musterd"),
      "serve",
      absl::StrCat("--listen=", Address(name)),
      "--metrics_listen=127.0.0.1:0",
      "--operator_listen=127.0.0.1:0",
      "--drain_delay=0s",
      absl::StrCat("--db_conninfo=", postgres_->ConnInfo("muster", "")),
      absl::StrCat("--migrations_dir=", options_.migrations_dir),
      absl::StrCat("--port_file=", port_file)};
  command.insert(command.end(), flags.begin(), flags.end());
  command.insert(command.end(), options_.musterd_flags.begin(), options_.musterd_flags.end());
  const std::string log = absl::StrCat(folder_, "/", name, ".log");
  auto child = std::make_unique<Child>(command, log);
  const absl::Time end = absl::Now() + options_.patience;
  while (!std::filesystem::exists(port_file)) {
    if (!child->running() || absl::Now() > end)
      throw std::runtime_error(absl::StrCat("musterd did not start, see ", log));
    absl::SleepFor(kLook);
  }
  return child;
}

std::vector<std::string> Stack::LifecycleFlags() const {
  const auto scaled = [this](absl::Duration time) {
    return absl::FormatDuration(time / options_.speed);
  };
  return {absl::StrCat("--resync_interval=", scaled(absl::Minutes(10))),
          absl::StrCat("--triage_grace=", scaled(absl::Minutes(5))),
          // Else a small pool two of whose Nodes fail waits ten real minutes for the second.
          absl::StrCat("--give_up_interval=", scaled(absl::Minutes(10)))};
}

void Stack::StartServer() {
  std::vector<std::string> flags = LifecycleFlags();
  flags.push_back("--services=capacity,quota,configuration,lifecycle");
  server_ = Serve("musterd", flags);
}

void Stack::StartCapacity() { capacity_ = Serve("capacity", {"--services=capacity"}); }

void Stack::StartApart() {
  server_->Terminate();
  StartCapacity();
  std::vector<std::string> flags = LifecycleFlags();
  flags.push_back("--services=quota,configuration,lifecycle");
  flags.push_back(absl::StrCat("--capacity_address=", Address("capacity")));
  server_ = Serve("musterd", flags);
}

bool Stack::IsServing() const {
  // Debian ships no stub of the health service. Its request is empty; field 1 of its answer is 1
  // when it serves.
  grpc::ChannelArguments arguments;
  // A connection of its own: a shared one that was refused waits for seconds before it is tried
  // anew.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  grpc::GenericStub stub(
      grpc::CreateCustomChannel(target(), grpc::InsecureChannelCredentials(), arguments));
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(1)));
  const grpc::Slice empty;
  const grpc::ByteBuffer request(&empty, 1);
  grpc::ByteBuffer response;
  std::promise<bool> done;
  stub.UnaryCall(&context, "/grpc.health.v1.Health/Check", {}, &request, &response,
                 [&](const grpc::Status& status) { done.set_value(status.ok()); });
  if (!done.get_future().get()) return false;
  std::vector<grpc::Slice> slices;
  if (!response.Dump(&slices).ok() || slices.empty()) return false;
  return absl::string_view(reinterpret_cast<const char*>(slices[0].begin()), slices[0].size()) ==
         "\x08\x01";
}

void Stack::CrashServer() {
  server_->Kill();
  StartServer();
  const absl::Time end = absl::Now() + options_.patience;
  while (!IsServing()) {
    if (absl::Now() > end) throw std::runtime_error("musterd does not serve");
    absl::SleepFor(kLook);
  }
}

void Stack::KillCapacity() { capacity_->Kill(); }

void Stack::StartSimulator(const Shape& shape) {
  const auto lot = [](std::string* out, const auto& place) {
    absl::StrAppend(out, place.first.first, ":", place.first.second, ":", place.second);
  };
  simulator_ = std::make_unique<Child>(
      std::vector<std::string>{
          absl::StrCat(options_.bin_dir, "/fleetsim"), absl::StrCat("--server=", target()),
          absl::StrCat("--speed=", options_.speed), "--boot_time=30s", "--ready_time=5s",
          "--drain_time=20s", "--terminate_time=20s", absl::StrCat("--fail_share=", kFailShare),
          absl::StrCat("--register_machines=", absl::StrJoin(shape.machines, ",", lot))},
      absl::StrCat(folder_, "/fleetsim.log"));
  SimulatorLine(kRegistered, 0, options_.patience);
}

size_t Stack::SimulatorLines(absl::string_view message) const {
  std::ifstream in(absl::StrCat(folder_, "/fleetsim.log"));
  size_t lines = 0;
  for (std::string line; std::getline(in, line);) lines += absl::StrContains(line, message) ? 1 : 0;
  return lines;
}

std::string Stack::SimulatorLine(absl::string_view message, size_t before,
                                 absl::Duration patience) const {
  const absl::Time end = absl::Now() + patience;
  while (SimulatorLines(message) <= before) {
    if (!simulator_->running() || absl::Now() > end)
      throw std::runtime_error(absl::StrCat("the simulator did not say \"", message, "\", see ",
                                            folder_, "/fleetsim.log"));
    absl::SleepFor(kLook);
  }
  std::ifstream in(absl::StrCat(folder_, "/fleetsim.log"));
  std::string last;
  for (std::string line; std::getline(in, line);) {
    if (absl::StrContains(line, message)) last = line;
  }
  return last;
}

Stack::SimulatorStats Stack::TakeSimulatorStats() {
  const size_t before = SimulatorLines(kStatistics);
  simulator_->Signal(SIGUSR2);
  const auto line = nlohmann::json::parse(SimulatorLine(kStatistics, before, kSignalPatience));
  SimulatorStats stats;
  stats.waited_s = line["waited"];
  stats.lag_p50_ms = 1000 * line["lag_p50"].get<double>();
  stats.lag_p99_ms = 1000 * line["lag_p99"].get<double>();
  stats.lag_max_ms = 1000 * line["lag_max"].get<double>();
  stats.accepted = line["accepted"];
  stats.refused = line["refused"];
  stats.lost = line["lost"];
  return stats;
}

int64_t Stack::FailNodes() {
  const size_t before = SimulatorLines(kFailed);
  simulator_->Signal(SIGUSR1);
  return nlohmann::json::parse(SimulatorLine(kFailed, before, kSignalPatience))["nodes"];
}

Stack::Sample Stack::Measure() const {
  Sample sample;
  const auto row = testing::RunSql(conninfo(), kMeasure)[0];
  for (size_t i = 0; i < sample.revisions.size(); ++i) sample.revisions[i] = std::stoll(*row[i]);
  sample.wal_bytes = std::stoll(*row[4]);
  sample.tuples = std::stoll(*row[5]);
  sample.scanned = std::stoll(*row[6]);
  sample.server_cpu_s = server_ ? CpuSeconds(server_->pid()) : 0;
  if (capacity_) sample.server_cpu_s += CpuSeconds(capacity_->pid());
  sample.postgres_cpu_s = TreeCpuSeconds(postmaster_);
  sample.own_cpu_s = CpuSeconds(getpid());
  if (simulator_) {
    sample.simulator_cpu_s = CpuSeconds(simulator_->pid());
    sample.simulator_threads = ThreadCpuSeconds(simulator_->pid());
  }
  sample.machine_cpu_s = MachineCpuSeconds();
  sample.time = absl::Now();
  return sample;
}

std::string Stack::TakeStatements() const {
  std::string out = "    MS     CALLS      ROWS    WAL MB  ROLE                  STATEMENT\n";
  for (const auto& row : testing::RunSql(conninfo(), kStatements)) {
    absl::StrAppendFormat(&out, "%6s %9s %9s %9s  %-20s  %s\n", *row[0], *row[1], *row[2], *row[3],
                          *row[4], *row[5]);
  }
  testing::RunSql(conninfo(), "SELECT pg_stat_statements_reset()");
  return out;
}

int64_t Stack::disk_bytes() const {
  return std::stoll(*testing::RunSql(conninfo(), "SELECT pg_database_size('muster')")[0][0]);
}

int64_t Stack::server_bytes() const {
  return (server_ ? ResidentBytes(server_->pid()) : 0) +
         (capacity_ ? ResidentBytes(capacity_->pid()) : 0);
}

int64_t Stack::postgres_bytes() const { return TreeResidentBytes(postmaster_); }

}  // namespace muster::bench
