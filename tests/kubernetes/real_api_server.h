#pragma once

#include <memory>
#include <string>

#include "tests/kubernetes/api_server.h"

namespace muster::testing {

// `assets`: the folder with `kube-apiserver` and `etcd`. See ApiServer::Start.
std::unique_ptr<ApiServer> StartRealApiServer(const std::string& assets);

}  // namespace muster::testing
