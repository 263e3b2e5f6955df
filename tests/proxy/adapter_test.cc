// The adapter at services that run apart: by the proxy, with a token, as the proxy ends its TLS.
#include <gmock/gmock.h>

#include <fstream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/kubernetes/adapter/adapter_stack.h"
#include "tests/proxy/nginx.h"
#include "tests/testing/issuer.h"
#include "tests/testing/temp_folder.h"

namespace muster::testing {
namespace {

TEST(AdapterProxyTest, ATokenBringsItToAllServices) {
  Issuer issuer;
  issuer.AddRsaKey("rsa");
  const TempFolder folder;
  std::ofstream(folder.Path("keys.json")) << issuer.KeySet();
  std::ofstream(folder.Path("token")) << issuer.TokenOf("adapter") << "\n";
  AdapterStack::Options options;
  options.muster.processes = {"configuration", "capacity,quota,lifecycle"};
  options.muster.tls = true;
  options.muster.musterd_flags = {"--token_keys_file=" + folder.Path("keys.json"),
                                  absl::StrCat("--token_issuer=", Issuer::kName),
                                  absl::StrCat("--token_audience=", Issuer::kAudience)};
  options.muster.bindings = {
      "- {role: adapter, principals: [token/adapter], "
      "clusters: [organizations/acme/clusters/example]}"};
  options.replicas = 0;
  AdapterStack stack(options);
  MiniMuster& muster = stack.muster();
  Nginx::Changes changes = Nginx::ToTls(*muster.authority());
  const std::pair<const char*, size_t> upstreams[] = {
      {"127.0.0.1:7611", 1}, {"127.0.0.1:7612", 1}, {"127.0.0.1:7613", 1}, {"127.0.0.1:7614", 0}};
  for (const auto& [shown, process] : upstreams)
    changes.emplace_back(shown, muster.address(process));
  Nginx nginx;
  nginx.Start(std::move(changes));
  stack.StartAdapter(0, {"--server=" + nginx.address(), "--token_file=" + folder.Path("token"),
                         "--tls_cert_file=", "--tls_key_file=", "--trust_domain="});

  const nlohmann::json pool = stack.Create(AdapterStack::ExampleNodePool());
  const std::string name = pool["metadata"]["name"];
  EXPECT_TRUE(stack.AwaitHealthy(name, pool["spec"]["targetNodes"]))
      << stack.LogEnds() << nginx.Log();
  // What only configuration can answer: the order is carried out or refused, and gone.
  constexpr char kOrder[] = "compute.coreweave.com/promote-configuration";
  stack.PatchNodePool(name, {{"metadata", {{"annotations", {{kOrder, "pending"}}}}}});
  EXPECT_TRUE(stack.AwaitNodePool(
      name,
      [&](const nlohmann::json& object) {
        return !object.is_null() &&
               !object["metadata"].value("annotations", nlohmann::json::object()).contains(kOrder);
      }))
      << stack.LogEnds() << nginx.Log();
}

}  // namespace
}  // namespace muster::testing
