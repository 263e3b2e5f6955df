#pragma once

#include <google/protobuf/descriptor.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/support/status.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "services/rpc/metrics.h"
#include "services/rpc/server.h"
#include "tests/fuzz/calls.h"
#include "tests/fuzz/mutator.h"

namespace muster::testing {

// A service with all its real handlers, on a lane in memory instead of a database, or beside
// doubles of the other services.
struct FuzzedService {
  const google::protobuf::ServiceDescriptor* descriptor = nullptr;
  grpc::Service* handlers = nullptr;
  std::string seeds = {};            // ReadSeeds
  std::function<void()> keep = {};   // makes the present state the one that each input finds
  std::function<void()> reset = {};  // goes back to the kept state
  std::function<void()> pass = {};   // lets a minute pass; called after each call
  std::function<std::vector<std::string>()> audit = {};  // what is wrong with the state
  std::shared_ptr<void> owns = {};                       // keeps alive what all of these use
};

// One that keeps nothing from call to call. `seeds`: of SEEDS_seeds.txt.
FuzzedService FuzzedAlone(const std::string& service, grpc::Service* handlers,
                          absl::string_view seeds, std::shared_ptr<void> owns);

// Made once by the fuzzer's program (fuzz_main.cc).
FuzzedService MakeFuzzedService();

// Serves inputs. Aborts the process, with the input's calls, if a call is answered INTERNAL,
// UNKNOWN, UNIMPLEMENTED or DEADLINE_EXCEEDED (30 s), if a call of the seeds' world is refused, or
// if the audit finds something.
class Harness {
 public:
  explicit Harness(FuzzedService service);

  // What each call was answered.
  std::vector<grpc::Status> Run(absl::string_view input);
  const Seeds& seeds() const { return seeds_; }
  const google::protobuf::ServiceDescriptor& descriptor() const { return *service_.descriptor; }

 private:
  grpc::Status Make(const FuzzCall& call, bool must);
  [[noreturn]] void Fault(absl::string_view what) const;

  const FuzzedService service_;
  const Seeds seeds_;
  std::vector<FuzzCall> input_;  // that runs
  rpc::Metrics metrics_;
  std::unique_ptr<rpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace muster::testing
