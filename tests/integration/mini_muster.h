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
// simulator, the sample catalogue, all as programs of this build on ports of their own. Throws
// std::runtime_error when something fails that the test cannot do without.
class MiniMuster {
 public:
  struct Options {
    // The services of each musterd. Of services that it lacks, it calls those of the processes
    // before it.
    std::vector<std::string> processes = {"capacity,quota,lifecycle,configuration"};
    std::vector<std::string> musterd_flags = {};
    // A program and its arguments that start musterd, put before its own command line. Empty: none.
    std::vector<std::string> musterd_prefix = {};
    std::vector<std::string> fleetsim_flags = {"--boot_time=300ms", "--ready_time=50ms",
                                               "--drain_time=100ms", "--terminate_time=100ms",
                                               "--seed=7"};
    // A Postgres of its own, for outages.
    bool own_cluster = false;
    // The destructor audits the books of the four services (AuditBooks), if all processes still
    // run. Set to false if the test holds and claims for pools that lifecycle does not know. (A
    // program that has ended, and that nobody killed or terminated, fails the test in any case.)
    bool audit_books = true;
    // All calls by mutual TLS. Every program has a certificate of authority() under its own name,
    // in the trust domain muster.test; the test itself and musterctl are `ci`. The policy lets each
    // program do its work, and `ci` everything.
    bool tls = false;
    // With tls: names of further callers that get certificates, and further bindings of the policy,
    // a line each (deploy/security.md).
    std::vector<std::string> callers = {};
    std::vector<std::string> bindings = {};
  };

  MiniMuster() : MiniMuster(Options()) {}
  explicit MiniMuster(Options options);
  ~MiniMuster();

  // Starts the programs that do not run. A musterd comes back on the ports that it had.
  void Start();
  size_t processes() const { return musterds_.size(); }
  // SIGKILL to a musterd.
  void Kill(size_t process = 0) { musterds_[process]->Kill(); }
  bool Runs(size_t process = 0) const { return musterds_[process]->running(); }
  pid_t pid(size_t process = 0) const { return musterds_[process]->pid(); }
  // Files and sockets that a musterd has open.
  int open_files(size_t process = 0) const;
  // These throw if the program has ended.
  void Signal(int signal, size_t process = 0) { musterds_[process]->Signal(signal); }
  void SignalFleet(int signal) { fleetsim_->Signal(signal); }
  // SIGKILL to the fleet's agents.
  void KillFleet() { fleetsim_->Kill(); }
  // For programs that are started from now on; a later flag wins over an earlier one.
  void AddMusterdFlag(const std::string& flag) { options_.musterd_flags.push_back(flag); }
  void AddFleetFlag(const std::string& flag) { options_.fleetsim_flags.push_back(flag); }
  // SIGTERM to a musterd; waits for its end, and returns its exit code.
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
  // To the first musterd, showing the certificate `name`; with tls only.
  std::shared_ptr<grpc::Channel> ChannelAs(const std::string& name,
                                           bool to_operators = false) const;
  std::string address(size_t process = 0) const;
  std::string metrics_address(size_t process = 0) const;
  // With the flag --page_listen only.
  std::string page_address(size_t process = 0) const;
  // Null: plain text.
  Authority* authority() { return authority_.get(); }
  bool is_tls() const { return authority_ != nullptr; }
  // Writes a new certificate for every musterd, in place of its present one.
  void RenewCertificate(absl::Time begins = absl::Now() - absl::Minutes(1),
                        absl::Time ends = absl::Now() + absl::Hours(48));
  // Writes a new certificate for the caller `name`, in place of the present one if there is one.
  void RenewCaller(const std::string& name);
  // Replaces the policy by another one: what the programs need (the adapter only in the cluster
  // `adapters_cluster` of acme), and `bindings`.
  void WritePolicy(const std::vector<std::string>& bindings,
                   absl::string_view adapters_cluster = "example") const;
  // The flags that make a program of ours call, or serve, as `name`.
  std::vector<std::string> TlsFlags(const std::string& name) const;
  // Credentials that show the certificate `name`.
  std::shared_ptr<grpc::ChannelCredentials> CredentialsOf(const std::string& name) const;
  const TestDatabase& database() const { return *database_; }
  PostgresCluster& cluster() { return *own_cluster_; }

  // What grpc.health.v1 says of the server as a whole.
  bool IsServing() const;
  // kPool, as are Resize's and Await's. Errors are those of the call.
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

  // What is wrong once all is settled, as text for people; empty: nothing. Machines held, Nodes and
  // holding must each be `nodes`, no machine be held twice, and CompareStates say nothing.
  std::string CheckBooks(int64_t nodes) const;
  // What differs between the books of the four services, a line each; asks until nothing does, or
  // `patience` is over. Empty: the books agree.
  std::string AuditBooks(absl::Duration patience = absl::Seconds(90)) const;
  // What differs between memory, tables and journal (muster.debug.v1), in every process; empty:
  // nothing.
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
  // Fails the test if a program has ended by itself, as one that crashed.
  void ExpectNoneEnded() const;
  std::string File(const std::string& name) const { return folder_.Path(name); }

  const TempFolder folder_;  // deleted last: it has the programs' logs and ports
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
