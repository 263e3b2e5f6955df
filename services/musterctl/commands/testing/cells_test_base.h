#pragma once

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "services/musterctl/commands/testing/commands_test_base.h"
#include "tests/testing/temp_folder.h"

namespace muster::musterctl {

inline constexpr char kRelease[] = "channels/stable/components/gpu-driver/releases/580.1";

// For tests: command lines over two cells, `east` and `west`, each with a zone, a cluster and a
// NodePool of its own.
class CellsTest : public CommandsTest {
 protected:
  CellsTest() {
    environment_["MUSTER_CONFIG"] = folder_.Path("config.yaml");
    servers_ = {{"east:1", &east_}, {"west:1", &west_}};
    WriteContexts("");
    environment_["MUSTER_CONTEXT"] = "east,west";
    Fill(east_, "EAST-1A", "c-east", "train", 3);
    Fill(west_, "WEST-1A", "c-west", "eval", 12);
  }

  // `more`: of the second context.
  void WriteContexts(const std::string& more) {
    std::ofstream(folder_.Path("config.yaml"))
        << "contexts:\n- {name: east, server: 'east:1'}\n- {name: west, server: 'west:1'" << more
        << "}\n- {name: nowhere}\n- {name: twin, server: 'east:1'}\n";
  }
  static lifecycle::v1::NodePool Pool(const std::string& cluster, const std::string& id,
                                      int64_t nodes) {
    lifecycle::v1::NodePool pool = ReferencePool();
    pool.set_name(absl::StrCat("organizations/acme/clusters/", cluster, "/nodePools/", id));
    pool.set_uid("uid-of-" + id);
    pool.mutable_spec()->set_target_nodes(nodes);
    return pool;
  }
  static void Fill(FakeApi& api, const std::string& zone_id, const std::string& cluster_id,
                   const std::string& pool, int64_t nodes) {
    capacity::v1::Zone zone;
    zone.set_name("zones/" + zone_id);
    lifecycle::v1::Cluster cluster;
    cluster.set_name("organizations/acme/clusters/" + cluster_id);
    cluster.set_zone(zone_id);
    configuration::v1::Release release;
    release.set_name(kRelease);
    configuration::v1::PoolConfiguration configuration;
    configuration.set_name("poolConfigurations/uid-of-" + pool);
    api.items[Kind::kZone] = {zone};
    api.items[Kind::kCluster] = {cluster};
    api.items[Kind::kRelease] = {release};
    api.items[Kind::kConfiguration] = {configuration};
    api.items[Kind::kNodePool] = {Pool(cluster_id, pool, nodes)};
  }
  void Away(FakeApi& api) {
    api.refusal_of_reads = api.refusal = FromServer(absl::UnavailableError("nobody is there"));
  }

  testing::TempFolder folder_;
  FakeApi east_;
  FakeApi west_;
};

}  // namespace muster::musterctl
