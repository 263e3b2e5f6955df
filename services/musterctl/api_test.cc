#include "services/musterctl/api.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "muster/capacity/v1/capacity_service.grpc.pb.h"
#include "muster/quota/v1/quota_service.grpc.pb.h"
#include "services/musterctl/errors.h"
#include "services/musterctl/machine_set.h"

namespace muster::musterctl {
namespace {

using ::testing::ElementsAre;

// Quotas and machines in memory, in pages of two.
class FakeServer final : public quota::v1::QuotaService::Service,
                         public capacity::v1::CapacityService::Service {
 public:
  FakeServer() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(static_cast<quota::v1::QuotaService::Service*>(this));
    builder.RegisterService(static_cast<capacity::v1::CapacityService::Service*>(this));
    server_ = builder.BuildAndStart();
  }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

  grpc::Status ListQuotas(grpc::ServerContext*, const quota::v1::ListQuotasRequest* request,
                          quota::v1::ListQuotasResponse* response) override {
    auto it = quotas.upper_bound(request->page_token());
    for (; it != quotas.end() && response->quotas_size() < 2; ++it)
      *response->add_quotas() = it->second;
    if (it != quotas.end()) response->set_next_page_token(std::prev(it)->first);
    return grpc::Status::OK;
  }
  grpc::Status GetQuota(grpc::ServerContext*, const quota::v1::GetQuotaRequest* request,
                        quota::v1::Quota* response) override {
    const auto it = quotas.find(request->name());
    if (it == quotas.end()) return {grpc::StatusCode::NOT_FOUND, "none"};
    *response = it->second;
    return grpc::Status::OK;
  }
  grpc::Status UpdateQuota(grpc::ServerContext*, const quota::v1::UpdateQuotaRequest* request,
                           quota::v1::Quota* response) override {
    if (request->quota().limit() < 0) {
      google::rpc::Status details;
      details.set_code(3);
      details.set_message("limit: must be 0 to 1000000");
      google::rpc::BadRequest bad;
      bad.add_field_violations()->set_field("limit");
      bad.mutable_field_violations(0)->set_description("must be 0 to 1000000");
      details.add_details()->PackFrom(bad);
      return {grpc::StatusCode::INVALID_ARGUMENT, details.message(), details.SerializeAsString()};
    }
    EXPECT_TRUE(request->allow_missing());
    quotas[request->quota().name()] = request->quota();
    *response = request->quota();
    return grpc::Status::OK;
  }
  grpc::Status WatchQuotas(grpc::ServerContext*, const quota::v1::WatchQuotasRequest*,
                           grpc::ServerWriter<quota::v1::WatchQuotasResponse>* writer) override {
    for (const auto& message : stream) writer->Write(message);
    return {grpc::StatusCode::UNAVAILABLE, "the end"};
  }
  grpc::Status ListMachines(grpc::ServerContext*, const capacity::v1::ListMachinesRequest*,
                            capacity::v1::ListMachinesResponse* response) override {
    for (const auto& [name, machine] : machines) *response->add_machines() = machine;
    return grpc::Status::OK;
  }
  grpc::Status BatchRegisterMachines(grpc::ServerContext*,
                                     const capacity::v1::BatchRegisterMachinesRequest* request,
                                     capacity::v1::BatchRegisterMachinesResponse*) override {
    batches.push_back(request->machines_size());
    for (const auto& machine : request->machines()) {
      machines[machine.name()] = machine;
      machines[machine.name()].set_state(capacity::v1::Machine::STATE_FREE);
    }
    return grpc::Status::OK;
  }

  std::map<std::string, quota::v1::Quota> quotas;
  std::map<std::string, capacity::v1::Machine> machines;
  std::vector<int> batches;
  std::vector<quota::v1::WatchQuotasResponse> stream;

 private:
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

class ApiTest : public ::testing::Test {
 protected:
  quota::v1::Quota Quota(const std::string& zone, int64_t limit) {
    quota::v1::Quota quota;
    quota.set_name(absl::StrCat("organizations/acme/quotas/", zone, "~t~default"));
    quota.set_limit(limit);
    return quota;
  }
  Outcome ApplyOutcome(const Resource& resource) {
    const auto applied = api_->Apply(resource);
    EXPECT_TRUE(applied.ok()) << applied.status();
    return applied.ok() ? applied->outcome : Outcome::kUnchanged;
  }

  FakeServer server_;
  std::unique_ptr<Api> api_ =
      Api::Create({.server = server_.address(), .scope = {"acme", "example"}});
};

TEST_F(ApiTest, ReadsEveryPage) {
  for (const char* zone : {"A-1A", "B-1A", "C-1A", "D-1A", "E-1A"}) {
    server_.quotas[Quota(zone, 1).name()] = Quota(zone, 1);
  }
  const auto items = api_->List(Kind::kQuota, "");
  ASSERT_TRUE(items.ok()) << items.status();
  EXPECT_EQ(items->size(), 5u);
}

TEST_F(ApiTest, TellsCreatedConfiguredAndUnchangedApart) {
  EXPECT_EQ(ApplyOutcome(Quota("A-1A", 1)), Outcome::kCreated);
  EXPECT_EQ(ApplyOutcome(Quota("A-1A", 2)), Outcome::kConfigured);
  EXPECT_EQ(ApplyOutcome(Quota("A-1A", 2)), Outcome::kUnchanged);
}

TEST_F(ApiTest, RegistersMachinesInChunksAndOnlyWhatIsNew) {
  absl::flat_hash_set<std::string> used;
  MachineSetSpec spec{.prefix = "a", .zone = "A-1A", .instance_type = "t", .count = 1200};
  EXPECT_EQ(ApplyOutcome(MachineSet{"a", Expand(spec, used)}), Outcome::kCreated);
  EXPECT_THAT(server_.batches, ElementsAre(500, 500, 200));
  used.clear();
  EXPECT_EQ(ApplyOutcome(MachineSet{"a", Expand(spec, used)}), Outcome::kUnchanged);
  EXPECT_EQ(server_.batches.size(), 3u);
  used.clear();
  spec.count = 1203;
  EXPECT_EQ(ApplyOutcome(MachineSet{"a", Expand(spec, used)}), Outcome::kConfigured);
  EXPECT_THAT(server_.batches, ElementsAre(500, 500, 200, 3));
}

TEST_F(ApiTest, ErrorsKeepTheServersDetails) {
  const auto applied = api_->Apply(Quota("A-1A", -1));
  ASSERT_FALSE(applied.ok());
  EXPECT_EQ(RenderError(applied.status()),
            "error: limit: must be 0 to 1000000 (INVALID_ARGUMENT)\n");
}

TEST_F(ApiTest, AServerThatIsNotThereIsUnavailable) {
  const auto api = Api::Create({.server = "unix:/nonexistent/socket"});
  const absl::Status status = api->List(Kind::kQuota, "").status();
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(RenderError(status), ::testing::EndsWith(" (UNAVAILABLE)\n"));
}

TEST_F(ApiTest, AWatchOfQuotasAddsUpTheirHoldings) {
  const auto message = [&](type::v1::WatchEventType type, int64_t revision,
                           const std::string& key) {
    auto& added = server_.stream.emplace_back();
    added.set_type(type);
    added.set_revision(revision);
    added.set_key(key);
    return &added;
  };
  const quota::v1::Quota quota = Quota("A-1A", 10);
  *message(type::v1::WATCH_EVENT_TYPE_SNAPSHOT, 1, quota.name())->mutable_quota() = quota;
  for (const char* pool : {"p1", "p2"}) {
    const std::string name = quota.name() + "/holdings/" + pool;
    message(type::v1::WATCH_EVENT_TYPE_SNAPSHOT, 2, name)->mutable_holding()->set_nodes(3);
  }
  message(type::v1::WATCH_EVENT_TYPE_DELETED, 3, quota.name() + "/holdings/p2");
  std::vector<int64_t> held;
  const absl::Status status =
      api_->Watch(Kind::kQuota, std::nullopt, [&](const WatchMessage& received) {
        held.push_back(std::get<quota::v1::Quota>(*received.item).held());
        return true;
      });
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(held, ElementsAre(0, 3, 6, 3));
}

}  // namespace
}  // namespace muster::musterctl
