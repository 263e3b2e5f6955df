#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/calls.h"

namespace muster::testing {

// Changes calls so that most stay requests: fields are set, cleared, added, with what a field of
// that kind may hold, what stands in the seeds, or what is at a bound.
class CallMutator {
 public:
  // Changes bytes anyhow (LLVMFuzzerMutate); at most `most` of them.
  using MutateBytes = std::function<void(std::string& bytes, size_t most)>;

  CallMutator(const google::protobuf::ServiceDescriptor* service, const Seeds& seeds,
              MutateBytes mutate_bytes);

  void Mutate(std::vector<FuzzCall>& calls, uint64_t seed);

 private:
  void MutateRequest(FuzzCall& call);
  void MutateMessage(google::protobuf::Message& message, int depth);
  void SetField(google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field,
                int depth);
  std::string SomeText();
  int64_t SomeNumber();
  bool OneIn(uint32_t count) { return Below(count) == 0; }
  size_t Below(size_t count) { return random_() % count; }

  const google::protobuf::ServiceDescriptor& service_;
  const MutateBytes mutate_bytes_;
  std::vector<FuzzCall> seeds_;
  std::vector<std::string> texts_;  // of the seeds
  std::mt19937_64 random_;
};

}  // namespace muster::testing
