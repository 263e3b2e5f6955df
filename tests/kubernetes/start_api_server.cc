#include <cstdlib>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/kubernetes/api_server.h"
#include "tests/kubernetes/fake_api_server/fake_api_server.h"
#include "tests/kubernetes/real_api_server.h"

// ApiServer::Start, apart from ApiServer: it knows both that there are.
namespace muster::testing {
namespace {

class FakeServer : public ApiServer {
 public:
  FakeServer() { WriteKubeconfig(absl::StrCat("server: ", fake_.url()), "token: any"); }
  std::string name() const override { return "the fake API server"; }
  FakeApiServer* fake_or_null() override { return &fake_; }

 private:
  FakeApiServer fake_;
};

}  // namespace

std::unique_ptr<ApiServer> ApiServer::Start() {
  const char* assets = std::getenv("KUBEBUILDER_ASSETS");
  if (assets == nullptr || *assets == '\0') return std::make_unique<FakeServer>();
  return StartRealApiServer(assets);
}

}  // namespace muster::testing
