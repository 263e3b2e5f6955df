#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "prometheus/registry.h"
#include "services/common/steady_clock.h"
#include "services/kubernetes/core/names.h"
#include "services/kubernetes/event_mirror.h"
#include "tests/kubernetes/fake_api_server/fake_api_server.h"

namespace muster::testing {

// Events that are shown by replicas at one fake API server.
class EventMirrorTest : public ::testing::Test {
 protected:
  using Client = kubernetes::Client;
  using EventMirror = kubernetes::EventMirror;
  using Json = kubernetes::Json;

  static lifecycle::v1::Event MakeEvent(const std::string& id, int64_t count,
                                        absl::Duration age = {}) {
    lifecycle::v1::Event event;
    event.set_name("organizations/acme/clusters/c1/events/" + id);
    event.set_object("organizations/acme/clusters/c1/nodePools/a/nodes/g7");
    event.set_type("Normal");
    event.set_reason("CWNodeRegistered");
    event.set_message("Node is registered.");
    event.set_count(count);
    static const absl::Time began = absl::Now();
    event.mutable_first_time()->set_seconds(absl::ToUnixSeconds(began - age));
    *event.mutable_last_time() = event.first_time();
    return event;
  }

  // One that has just happened.
  static lifecycle::v1::Event MakeNewEvent(const std::string& id) {
    auto event = MakeEvent(id, 1);
    event.mutable_last_time()->set_seconds(absl::ToUnixSeconds(absl::Now()));
    return event;
  }

  static std::string NameOf(const Json& event) { return event["metadata"]["name"]; }

  static int64_t VersionOf(const Json& event) {
    return std::stoll(event["metadata"]["resourceVersion"].get<std::string>());
  }

  struct Replica {
    std::unique_ptr<Client> client;
    prometheus::Registry registry;
    kubernetes::Metrics metrics{registry, "host"};
    std::unique_ptr<EventMirror> mirror;
    ~Replica() {
      client->Stop();
      mirror->Stop();
    }
  };

  std::unique_ptr<Client> Connect(const std::string& agent) {
    auto client = Client::Create({.server = server_.url()}, {.user_agent = agent});
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }
  std::unique_ptr<Replica> MakeReplica(const std::string& name) {
    EventMirror::Options options{.writers = 1};
    options.node_of = [](const std::string& machine) {
      return kubernetes::EventNode{.name = "node-of-" + machine, .uid = "uid-of-" + machine};
    };
    return MakeReplica(name, options);
  }
  std::unique_ptr<Replica> MakeReplica(const std::string& name, EventMirror::Options options,
                                       const SteadyClock* clock = TheSteadyClock()) {
    auto replica = std::make_unique<Replica>();
    replica->client = Connect(name);
    options.instance = name;
    replica->mirror =
        std::make_unique<EventMirror>(replica->client.get(), &replica->metrics, options, clock);
    return replica;
  }
  // Waits until the event of that id was counted so often, and returns it.
  Json Await(const std::string& id, int64_t count) {
    Json found;
    const auto fits = [&](const Json& event) {
      if (!absl::EndsWith(NameOf(event), "." + id) || kubernetes::EventCount(event) != count)
        return false;
      found = event;
      return true;
    };
    const auto version =
        reader_->List(kubernetes::kEventsPath, {}, [&](const Json& event) { fits(event); });
    EXPECT_TRUE(version.ok()) << version.status();
    if (found.is_null() && version.ok()) {
      (void)reader_->Watch(kubernetes::kEventsPath, {}, *version,
                           [&](absl::string_view type, const Json& event) {
                             return type == "BOOKMARK" || !fits(event);
                           });
    }
    return found;
  }
  int Events() {
    int events = 0;
    EXPECT_TRUE(reader_->List(kubernetes::kEventsPath, {}, [&](const Json&) { ++events; }).ok());
    return events;
  }

  FakeApiServer server_;
  std::unique_ptr<Client> reader_ = Connect("reader");
};

}  // namespace muster::testing
