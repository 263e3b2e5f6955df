#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/security/credentials.h>
#include <muster/debug/v1/debug_service.grpc.pb.h>
#include <muster/lifecycle/v1/lifecycle_service.grpc.pb.h>
#include <muster/quota/v1/quota_service.grpc.pb.h>
#include <signal.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/integration/child.h"
#include "tests/testing/authority.h"
#include "tests/testing/reserved_port.h"
#include "tests/testing/temp_folder.h"
#include "tests/testing/test_database.h"

namespace muster::testing {

// The whole of Muster as a user has it: Postgres, `musterd` (one process or several), the fleet
// simulator, the sample catalogue, all as programs of this build on ports of their own. What a test
// needs that fails throws.
class MiniMuster {
 public:
  struct Options {
    // Services of each musterd; a process's peers are those before it.
    std::vector<std::string> processes = {"capacity,quota,lifecycle,configuration"};
    std::vector<std::string> musterd_flags = {};
    // What runs musterd: a program's path and its arguments. Empty: nobody.
    std::vector<std::string> musterd_prefix = {};
    std::vector<std::string> fleetsim_flags = {"--boot_time=300ms", "--ready_time=50ms",
                                               "--drain_time=100ms", "--terminate_time=100ms",
                                               "--seed=7"};
    // A Postgres of its own, for outages.
    bool own_cluster = false;
    // At its end the Muster audits the books of the four services (AuditBooks), if all its processes
    // run. False: the test's callers hold and claim for pools that lifecycle does not know.
    bool audit_books = true;
    // All calls by mutual TLS: certificates of its authority for every program by its name, and `ci`, who is the test and
    // musterctl are, in the trust domain muster.test. The policy lets each of them do its work, and `ci` everything.
    bool tls = false;
    // With tls: others that have certificates, and what the policy has beside, a binding a line (deploy/security.md).
    std::vector<std::string> callers = {};
    std::vector<std::string> bindings = {};
  };

  MiniMuster() : MiniMuster(Options()) {}
  explicit MiniMuster(Options options);
  ~MiniMuster();

  // Starts whatever does not run. A musterd comes back on the port that it had.
  void Start();
  size_t processes() const { return musterds_.size(); }
  // SIGKILL to a musterd.
  void Kill(size_t process = 0) { musterds_[process]->Kill(); }
  bool Runs(size_t process = 0) const { return musterds_[process]->running(); }
  pid_t pid(size_t process = 0) const { return musterds_[process]->pid(); }
  // Files and sockets that a musterd has open.
  int open_files(size_t process = 0) const;
  void SignalFleet(int signal) { kill(fleetsim_->pid(), signal); }
  // SIGKILL to the fleet's agents.
  void KillFleet() { fleetsim_->Kill(); }
  // For what is started from now on; a later flag wins over an earlier one.
  void AddMusterdFlag(const std::string& flag) { options_.musterd_flags.push_back(flag); }
  void AddFleetFlag(const std::string& flag) { options_.fleetsim_flags.push_back(flag); }
  // SIGTERM to a musterd; its exit code.
  int Terminate(size_t process = 0) { return musterds_[process]->Terminate(); }

  // musterctl with --server set to the process with lifecycle.
  Finished Ctl(std::vector<std::string> words) const;
  // The sample catalogue through musterctl.
  void ApplyCatalogue();
  // The pool of deploy/local/example-nodepool.yaml.
  void ApplyExample();

  std::shared_ptr<grpc::Channel> channel(size_t process = 0) const;
  // To its operators' listener, which serves more.
  std::shared_ptr<grpc::Channel> operator_channel(size_t process = 0) const;
  // As who shows the certificate `name`, to the operators' listener if asked; with tls only.
  std::shared_ptr<grpc::Channel> ChannelAs(const std::string& name,
                                           bool to_operators = false) const;
  std::string address(size_t process = 0) const;
  std::string metrics_address(size_t process = 0) const;
  // With the flag --page_listen only.
  std::string page_address(size_t process = 0) const;
  // Null: plain text.
  Authority* authority() { return authority_.get(); }
  bool is_tls() const { return authority_ != nullptr; }
  // Another certificate for every musterd, in the place of the one that it has.
  void RenewCertificate(absl::Time begins = absl::Now() - absl::Minutes(1),
                        absl::Time ends = absl::Now() + absl::Hours(48));
  // Puts another policy in the place of the one that there is: what it lets the programs do, the adapter in that cluster of acme, and
  // these bindings.
  void WritePolicy(const std::vector<std::string>& bindings,
                   absl::string_view adapters_cluster = "example") const;
  // The flags that make a program of ours call, or serve, as `name`.
  std::vector<std::string> TlsFlags(const std::string& name) const;
  // Who shows the certificate `name`.
  std::shared_ptr<grpc::ChannelCredentials> CredentialsOf(const std::string& name) const;
  const TestDatabase& database() const { return *database_; }
  PostgresCluster& cluster() { return *own_cluster_; }

  // What grpc.health.v1 says of the server as a whole.
  bool IsServing() const;
  // NOT_FOUND, UNAVAILABLE, ...
  absl::StatusOr<lifecycle::v1::NodePool> GetPool() const;
  absl::StatusOr<lifecycle::v1::NodePool> Resize(int64_t nodes) const;
  std::vector<lifecycle::v1::Event> Events() const;

  // Follows the pool by watches until `wanted` holds (null: it is gone); musterd may die meanwhile.
  // False: it took too long.
  bool Await(const std::function<bool(const lifecycle::v1::NodePool*)>& wanted,
             absl::Duration patience = absl::Seconds(90)) const {
    return AwaitPool(kPool, wanted, patience);
  }
  // Likewise, a pool by its name.
  bool AwaitPool(const std::string& name,
                 const std::function<bool(const lifecycle::v1::NodePool*)>& wanted,
                 absl::Duration patience = absl::Seconds(90)) const;
  // Until every condition is as in a healthy pool with `nodes` Nodes, for the spec's last
  // generation, and nothing is left over.
  bool AwaitSettled(int64_t nodes) const;

  // What must hold once all is settled, as text for people; empty: all is well. Machines held =
  // Nodes = holding = `nodes`; no machine held twice; memory = tables = journal in every process.
  std::string CheckBooks(int64_t nodes) const;
  // What differs between the books of the four services once all is at rest, a line each: asks
  // until nothing does; after `patience`, what still does. Empty: the books are closed.
  std::string AuditBooks(absl::Duration patience = absl::Seconds(90)) const;
  // Differences that muster.debug.v1 tells of, in every process.
  std::string CompareStates() const;

  // The pool that everything is about.
  static constexpr char kPool[] = "organizations/acme/clusters/example/nodePools/example-nodepool";
  // All that musterds have logged, one after the other.
  std::string MusterdLogs() const;
  // The end of the logs of all programs, for failure messages.
  std::string LogEnds() const;

 private:
  struct Ports {
    ::muster::testing::ReservedPort grpc = {};
    ::muster::testing::ReservedPort metrics = {};
    ::muster::testing::ReservedPort operators = {};
    int page = 0;
  };
  // `name`: whose certificate is shown, with tls.
  std::shared_ptr<grpc::Channel> ChannelTo(int port, const std::string& name = "ci") const;
  Finished CtlTo(size_t process, std::vector<std::string> words) const;
  size_t LifecycleProcess() const;
  bool AllRun() const;
  void StartMusterd(size_t process);
  std::string File(const std::string& name) const { return folder_.Path(name); }

  const TempFolder folder_;  // goes last
  Options options_;
  std::unique_ptr<Authority> authority_;
  std::unique_ptr<PostgresCluster> own_cluster_;
  std::unique_ptr<TestDatabase> database_;
  std::vector<std::unique_ptr<Child>> musterds_;
  std::vector<Ports> ports_;
  std::unique_ptr<Child> fleetsim_;
};

// A healthy pool: every condition's reason as in the reference's example, for the last generation.
bool IsHealthy(const lifecycle::v1::NodePool& pool, int64_t nodes);

}  // namespace muster::testing
