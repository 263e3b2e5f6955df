#include "tests/layers/layer_table.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace muster::layers {
namespace {

// The first that matches a file's folder counts; `$D` in `folder` stands for each domain. A folder
// includes its subfolders.
const std::vector<Layer>& Layers() {
  static const auto& layers = *new std::vector<Layer>{
      {"services/common", "layer 0: nothing but the standard library and Abseil", {}},
      {"services/trace",
       "layer 0: spans; services/common, and the libraries of exporter.cc and client_calls.cc only",
       {"services/common/", "curl/", "grpcpp/", "nlohmann/"}},
      {"services/daemon",
       "layer 0: what a program's main has; services/common and services/trace only",
       {"services/common/", "services/trace/"}},
      {"services/$D/core",
       "layer 1: a core may include services/common and itself only",
       {"services/common/"}},
      {"services/$D/wire",
       "layer 2: wire/ may include services/common, its core and its proto only",
       {"services/common/", "services/$D/core/", "muster/$D/", "muster/type/", "google/protobuf/"}},
      {"services/lifecycle/peers/wire",
       "layer 2: what is said to the other services: lifecycle's core and wire, and proto only",
       {"services/common/", "services/lifecycle/core/", "services/lifecycle/wire/", "muster/",
        "google/protobuf/"}},
      {"storage/postgres",
       "layer 2: storage/postgres may include services/common, services/trace, the shared proto "
       "types "
       "and libpqxx (and libpq below it) only",
       {"services/common/", "services/trace/", "muster/type/", "google/protobuf/", "pqxx/",
        "libpq-fe.h"}},
      {"services/$D/store",
       "layer 2: a store may include services/common, its domain's core, wire and proto, and "
       "storage/postgres only",
       {"services/common/", "services/$D/core/", "services/$D/wire/", "storage/postgres/", "pqxx/",
        "muster/$D/", "muster/type/", "google/protobuf/"}},
      {"services/tls",
       "layer 2: who a program is: services/common, OpenSSL and gRPC only",
       {"services/common/", "openssl/", "grpcpp/"}},
      {"services/rpc/client",
       "layer 2: what every client needs: services/common, services/trace, what services/rpc has "
       "of "
       "both ends, and proto only",
       {"services/common/", "services/trace/", "services/rpc/channel_arguments.h",
        "services/rpc/grpc_life.h", "services/rpc/limits.h", "services/rpc/status.h", "muster/",
        "google/", "grpc/", "grpcpp/"}},
      {"services/client",
       "layer 3: muster::client, for programs outside of this tree: services/common, "
       "services/rpc's "
       "client and errors, services/tls, proto, gRPC and yaml-cpp only",
       {"services/common/", "services/rpc/client/", "services/rpc/status.h", "services/tls/",
        "muster/", "google/", "grpc/", "grpcpp/", "yaml-cpp/"}},
      {"services/access",
       "layer 2: who may do what: services/common, proto and yaml-cpp only",
       {"services/common/", "muster/", "google/protobuf/", "yaml-cpp/"}},
      {"services/history",
       "layer 2: what changed between two messages: proto only",
       {"muster/", "google/protobuf/"}},
      {"services/tokens",
       "layer 2: whom a token names: services/common, the policy's words, libjwt, OpenSSL and JSON "
       "only",
       {"services/common/", "services/access/policy.h", "jwt.h", "openssl/", "nlohmann/"}},
      {"services/rpc",
       "layer 3: services/rpc may include services/common, services/trace, services/access, "
       "services/tls and proto only",
       {"services/common/", "services/trace/", "services/access/", "services/tls/", "muster/",
        "google/", "grpc/", "grpcpp/", "prometheus/"}},
      {"services/lifecycle/peers",
       "layer 4: lifecycle's peers know neither its api nor its reconcile loop",
       {"services/common/", "services/trace/", "services/lifecycle/core/",
        "services/lifecycle/wire/", "services/lifecycle/store/lane.h", "services/rpc/",
        "storage/postgres/", "muster/", "google/", "grpc/", "grpcpp/"}},
      {"services/lifecycle/reconcile",
       "layer 4: lifecycle's reconcile loop knows nothing of its api",
       {"services/common/", "services/trace/", "services/lifecycle/core/",
        "services/lifecycle/wire/", "services/lifecycle/store/", "services/lifecycle/peers/",
        "services/rpc/", "storage/postgres/", "muster/", "google/", "grpc/", "grpcpp/",
        "prometheus/"}},
      {"services/lifecycle/api",
       "layer 4: lifecycle's api knows nothing of its reconcile loop",
       {"services/access/scope.h", "services/common/", "services/trace/",
        "services/lifecycle/core/", "services/lifecycle/wire/", "services/lifecycle/store/",
        "services/lifecycle/peers/", "services/rpc/", "storage/postgres/", "muster/", "google/",
        "grpc/", "grpcpp/", "prometheus/"}},
      {"services/$D",
       "layer 4: a service may include layers 0 to 3 of its own domain, and other domains' proto "
       "only",
       {"services/common/", "services/trace/", "services/$D/", "services/rpc/", "storage/postgres/",
        "muster/", "google/", "grpc/", "grpcpp/", "prometheus/"}},
      {"services/page/core",
       "what the page shows, pure: services/common, the bundles of watches, proto and JSON "
       "only",
       {"services/common/", "services/rpc/client/bundle.h", "muster/", "google/protobuf/",
        "nlohmann/"}},
      {"services/page",
       "a client of the API: proto, services/common, services/trace, services/rpc's client and its "
       "own libraries only",
       {"services/common/", "services/trace/", "services/rpc/client/", "services/rpc/status.h",
        "muster/", "google/", "grpc/", "grpcpp/", "nlohmann/"}},
      {"services/musterd",
       "layer 5: services/musterd composes: everything but libpqxx and the clients",
       {"services/access/", "services/common/", "services/trace/", "services/daemon/",
        "services/history/", "services/rpc/", "services/tls/", "services/tokens/",
        "services/capacity/", "services/configuration/", "services/lifecycle/", "services/page/",
        "services/quota/", "storage/", "muster/", "google/", "grpc/", "grpcpp/", "prometheus/"}},
      {"services/kubernetes/api",
       "the API server's client: services/common and its own libraries only",
       {"services/common/", "curl/", "nlohmann/", "yaml-cpp/"}},
      {"services/kubernetes/core",
       "what the adapter works out, pure: services/common, which cordon agents report, proto and "
       "JSON only",
       {"services/common/", "services/kubernetes/api/json.h", "services/rpc/client/cordon_time.h",
        "muster/", "google/protobuf/", "nlohmann/"}},
      {"services/kubernetes",
       "a client of the API: proto, services/common, services/trace, services/daemon, services/rpc "
       "(channel, metrics, health), the credentials of services/client and its own libraries only",
       {"services/client/credentials.h", "services/common/", "services/trace/", "services/daemon/",
        "services/rpc/", "services/tls/", "muster/", "google/", "grpc/", "grpcpp/", "prometheus/",
        "nlohmann/"}},
      {"services/musterctl/manifest",
       "musterctl's manifests: proto, services/common and their libraries only",
       {"services/common/", "muster/", "google/protobuf/", "yaml-cpp/", "nlohmann/"}},
      {"services/musterctl/client",
       "musterctl's calls: proto, services/common, services/client, services/rpc's client, the "
       "page's watches (top follows the same four), its manifests and gRPC only",
       {"services/common/", "services/client/", "services/rpc/client/", "services/rpc/status.h",
        "services/page/page_watches.h", "services/page/watch_sink.h", "services/page/core/source.h",
        "services/musterctl/manifest/", "muster/", "google/", "grpc/", "grpcpp/"}},
      {"services/musterctl/print",
       "musterctl's printers: proto, services/common, its manifests and their libraries only",
       {"services/common/", "services/musterctl/manifest/", "muster/", "google/protobuf/",
        "yaml-cpp/", "nlohmann/"}},
      {"services/musterctl/query",
       "what musterctl's users ask of objects, pure: services/common and JSON only",
       {"services/common/", "nlohmann/"}},
      {"services/musterctl/schema",
       "what fields mean: descriptors when it is made, the kinds when it is asked",
       {"services/musterctl/manifest/kinds.h", "google/protobuf/"}},
      {"services/musterctl/top",
       "what top shows, pure: services/common, the bundles of watches, the page's word for "
       "what a machine is doing, its printers and proto only",
       {"services/common/", "services/rpc/client/bundle.h", "services/page/core/cell.h",
        "services/page/core/source.h", "services/musterctl/print/", "muster/", "google/protobuf/"}},
      {"services/musterctl",
       "a client of the API: proto, services/common, contexts, credentials, when watches go on, "
       "what changes are told by, what the page's watches tell to and its own rooms only",
       {"services/common/", "services/client/contexts.h", "services/client/credentials.h",
        "services/client/stream_retries.h", "services/history/", "services/page/watch_sink.h",
        "services/page/core/source.h", "services/musterctl/", "muster/", "google/"}},
      {"services/fleetsim",
       "a client of the APIs: proto, services/common, services/trace, services/daemon, "
       "services/rpc's client, services/kubernetes/api and its own libraries only",
       {"services/common/", "services/trace/", "services/daemon/", "services/tls/",
        "services/rpc/client/", "services/kubernetes/api/", "muster/", "google/", "grpc/",
        "grpcpp/", "prometheus/", "nlohmann/"}},
      {"deploy/clients",
       "an example of a client by itself: what the stubs have for it and nothing else of this tree",
       {"services/client/", "services/common/error.h", "services/common/status_macros.h", "muster/",
        "google/", "grpcpp/"}},
      {"tests",
       "tests may include everything but libpqxx, which stays in storage/ and the stores",
       {"services/", "storage/", "tests/", "muster/", "google/", "grpc/", "grpcpp/", "prometheus/",
        "yaml-cpp/", "nlohmann/", "libpq-fe.h", "nghttp2/", "openssl/"}},
  };
  return layers;
}

constexpr absl::string_view kDomains[] = {"capacity", "configuration", "lifecycle", "quota"};

}  // namespace

bool IsIn(absl::string_view path, absl::string_view folder) {
  return absl::ConsumePrefix(&path, folder) && absl::StartsWith(path, "/");
}

std::optional<Match> LayerOf(absl::string_view path) {
  for (const Layer& layer : Layers()) {
    if (!absl::StrContains(layer.folder, "$D")) {
      if (IsIn(path, layer.folder)) return Match{&layer, "", layer.folder};
      continue;
    }
    for (const absl::string_view domain : kDomains) {
      std::string folder = absl::StrReplaceAll(layer.folder, {{"$D", domain}});
      if (IsIn(path, folder)) return Match{&layer, domain, std::move(folder)};
    }
  }
  return std::nullopt;
}

}  // namespace muster::layers
