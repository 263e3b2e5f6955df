#include "tests/kubernetes/real_api_server.h"

#include <arpa/inet.h>
#include <httplib.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/integration/child.h"
#include "tests/kubernetes/manifests.h"
#include "tests/testing/temp_folder.h"

namespace muster::testing {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(120);  // until it serves
constexpr absl::Duration kPoll = absl::Milliseconds(100);
constexpr int kAttempts = 3;  // somebody may take a port in the moment before we do
constexpr size_t kLogTail = 2000;
constexpr char kToken[] = "testtoken";
constexpr char kDefinitions[] = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

std::vector<int> FreePorts(size_t count) {
  std::vector<int> sockets;
  std::vector<int> ports;
  for (size_t i = 0; i < count; ++i) {
    sockets.push_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (bind(sockets.back(), generic, size) != 0 ||
        getsockname(sockets.back(), generic, &size) != 0) {
      throw std::runtime_error("no free port");
    }
    ports.push_back(ntohs(address.sin_port));
  }
  for (const int each : sockets) close(each);
  return ports;
}

std::string TailOf(const std::string& file) {
  const std::string text = ReadFile(file);
  return text.size() <= kLogTail ? text : text.substr(text.size() - kLogTail);
}

class RealApiServer : public ApiServer {
 public:
  explicit RealApiServer(const std::string& assets) {
    for (int attempt = 1; !Launch(assets); ++attempt) {
      if (attempt == kAttempts)
        throw std::runtime_error(absl::StrCat("kube-apiserver does not serve: ", TailOf(Log())));
    }
    client_ = Connect();
    for (const Json& definition : ReadDeployed("kubernetes/crd/crd.yaml"))
      RetryUntilOk([&] { return client_->Create(kDefinitions, definition).status(); });
    RetryUntilOk([&] {
      return client_->List("/apis/compute.coreweave.com/v1alpha1/nodepools", {}, [](Json) {})
          .status();
    });
  }

  std::string name() const override {
    const auto version = client_->Get("/version");
    return absl::StrCat("kube-apiserver ",
                        version.ok() ? version->value("gitVersion", "") : "without a version");
  }
  FakeApiServer* fake_or_null() override { return nullptr; }

 private:
  std::string Log() const { return absl::StrCat(folder(), "/kube-apiserver.log"); }

  // False: one of the two ended.
  bool Launch(const std::string& assets) {
    const std::vector<int> ports = FreePorts(3);
    const std::string etcd_url = absl::StrCat("http://127.0.0.1:", ports[0]);
    const std::string peer_url = absl::StrCat("http://127.0.0.1:", ports[1]);
    etcd_.emplace(
        std::vector<std::string>{absl::StrCat(assets, "/etcd"), "--name=test", "--unsafe-no-fsync",
                                 "--log-level=warn",
                                 absl::StrCat("--data-dir=", folder(), "/etcd-", ports[0]),
                                 absl::StrCat("--listen-client-urls=", etcd_url),
                                 absl::StrCat("--advertise-client-urls=", etcd_url),
                                 absl::StrCat("--listen-peer-urls=", peer_url),
                                 absl::StrCat("--initial-advertise-peer-urls=", peer_url),
                                 absl::StrCat("--initial-cluster=test=", peer_url)},
        absl::StrCat(folder(), "/etcd.log"));
    const std::string key = absl::StrCat(folder(), "/service-accounts.key");
    RunProgram(
        {"/usr/bin/openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key});
    const std::string tokens = absl::StrCat(folder(), "/tokens.csv");
    std::ofstream(tokens) << kToken << ",admin,1,\"system:masters\"\n";
    const std::string certificates = absl::StrCat(folder(), "/certificates");
    server_.emplace(
        std::vector<std::string>{
            absl::StrCat(assets, "/kube-apiserver"), absl::StrCat("--etcd-servers=", etcd_url),
            "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
            absl::StrCat("--secure-port=", ports[2]), absl::StrCat("--cert-dir=", certificates),
            "--service-account-issuer=https://kubernetes.default.svc",
            absl::StrCat("--service-account-key-file=", key),
            absl::StrCat("--service-account-signing-key-file=", key),
            absl::StrCat("--token-auth-file=", tokens), "--authorization-mode=RBAC",
            "--allow-privileged=true", "--service-cluster-ip-range=10.0.0.0/24",
            // Pods need no ServiceAccount: nobody is there to make one.
            "--disable-admission-plugins=ServiceAccount", "--endpoint-reconciler-type=none"},
        Log());
    WriteKubeconfig(absl::StrCat("server: \"https://127.0.0.1:", ports[2],
                                 "\", certificate-authority: ", certificates, "/apiserver.crt"),
                    absl::StrCat("token: ", kToken));
    return AwaitReady(ports[2]);
  }

  bool AwaitReady(int port) {
    httplib::Client probe(absl::StrCat("https://127.0.0.1:", port));
    probe.enable_server_certificate_verification(false);
    probe.set_bearer_token_auth(kToken);
    const absl::Time deadline = absl::Now() + kPatience;
    while (server_->running() && etcd_->running() && absl::Now() < deadline) {
      const httplib::Result answer = probe.Get("/readyz");
      if (answer && answer->status == 200) return true;
      absl::SleepFor(kPoll);
    }
    return false;
  }

  // Until it succeeds: a server that has just begun puts requests off.
  template <class Call>
  void RetryUntilOk(Call call) {
    const absl::Time deadline = absl::Now() + kPatience;
    absl::Status status = call();
    while (!status.ok() && !absl::IsAlreadyExists(status) && !absl::IsInvalidArgument(status) &&
           absl::Now() < deadline) {
      absl::SleepFor(kPoll);
      status = call();
    }
    if (!status.ok() && !absl::IsAlreadyExists(status)) throw std::runtime_error(status.ToString());
  }

  std::optional<Child> etcd_;
  std::optional<Child> server_;
  std::unique_ptr<kubernetes::Client> client_;
};

}  // namespace

std::unique_ptr<ApiServer> StartRealApiServer(const std::string& assets) {
  return std::make_unique<RealApiServer>(assets);
}

}  // namespace muster::testing
