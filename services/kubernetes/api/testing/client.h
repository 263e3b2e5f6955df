#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "services/kubernetes/api/client.h"
#include "services/kubernetes/api/testing/server.h"

namespace muster::kubernetes {

// For tests: a client of the server with that URL.
inline std::unique_ptr<Client> ClientAt(const std::string& url, ClientOptions options = {},
                                        Endpoint endpoint = {}) {
  endpoint.server = url;
  auto client = Client::Create(std::move(endpoint), std::move(options));
  EXPECT_TRUE(client.ok()) << client.status();
  return *std::move(client);
}

}  // namespace muster::kubernetes
