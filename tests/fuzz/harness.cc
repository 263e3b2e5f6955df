#include "tests/fuzz/harness.h"

#include <cstdlib>
#include <iostream>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/common/log.h"
#include "tests/testing/raw_call.h"

namespace muster::testing {

FuzzedService FuzzedAlone(const std::string& service, grpc::Service* handlers,
                          absl::string_view seeds, std::shared_ptr<void> owns) {
  return {
      .descriptor = google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(service),
      .handlers = handlers,
      .seeds = absl::StrCat(MUSTER_SOURCE_DIR, "/tests/fuzz/", seeds, "_seeds.txt"),
      .keep = [] {},
      .reset = [] {},
      .pass = [] {},
      .audit = [] { return std::vector<std::string>(); },
      .owns = std::move(owns)};
}

Harness::Harness(FuzzedService service)
    : service_(std::move(service)), seeds_(ReadSeeds(*service_.descriptor, service_.seeds)) {
  log::SetLevel(log::Level::kError);
  rpc::ServerOptions options;
  options.services = {{service_.descriptor->full_name(), service_.handlers}};
  options.metrics = &metrics_;
  options.reflection = false;
  options.drain_delay = absl::ZeroDuration();
  server_ = *rpc::Server::Create(std::move(options));
  if (const absl::Status status = server_->Start(); !status.ok()) Fault(status.ToString());
  channel_ = server_->InProcessChannel();
  for (const FuzzCall& call : seeds_.world) Make(call, true);
  service_.keep();
}

std::vector<grpc::Status> Harness::Run(absl::string_view input) {
  service_.reset();
  input_ = DecodeCalls(*service_.descriptor, input);
  std::vector<grpc::Status> answers;
  for (const FuzzCall& call : input_) answers.push_back(Make(call, false));
  const std::vector<std::string> wrong = service_.audit();
  if (!wrong.empty()) Fault(absl::StrJoin(wrong, "\n"));
  return answers;
}

void Harness::Fault(absl::string_view what) const {
  std::cerr << "FAULT: " << what << "\n";
  for (const FuzzCall& call : input_) {
    const auto request = NewRequest(*call.method);
    std::cerr << call.method->name() << " "
              << (request->ParseFromString(call.request) ? request->ShortDebugString()
                                                         : absl::CHexEscape(call.request))
              << "\n";
  }
  std::abort();
}

grpc::Status Harness::Make(const FuzzCall& call, bool must) {
  const grpc::Status status = CallRaw(channel_, PathOf(*call.method), call.request);
  service_.pass();
  const grpc::StatusCode code = status.error_code();
  if (code == grpc::StatusCode::INTERNAL || code == grpc::StatusCode::UNKNOWN ||
      code == grpc::StatusCode::UNIMPLEMENTED || code == grpc::StatusCode::DEADLINE_EXCEEDED ||
      (must && !status.ok())) {
    Fault(absl::StrCat(call.method->name(), " is answered ", static_cast<int>(code), ": ",
                       status.error_message()));
  }
  return status;
}

}  // namespace muster::testing
