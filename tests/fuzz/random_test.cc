// Part of every build: random inputs that grow out of the seeds, without libFuzzer. They are the
// same each time, unless MUSTER_FUZZ_SECONDS (how long to go on) or MUSTER_FUZZ_SEED is set: then
// they follow from that seed, or a random one, which is printed.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/fuzz/harness.h"

namespace muster::testing {
namespace {

constexpr int kInputs = 10'000;
constexpr size_t kKept = 200;

std::mt19937_64& Random() {
  static std::mt19937_64 random(7);
  return random;
}

// The value of an environment variable; nullopt: it is not set, or no number.
std::optional<uint64_t> Said(const char* name) {
  const char* text = std::getenv(name);
  uint64_t value = 0;
  if (text == nullptr || !absl::SimpleAtoi(text, &value)) return std::nullopt;
  return value;
}

// Changes, removes or inserts one byte.
void MutateBytes(std::string& bytes, size_t most) {
  const size_t at = bytes.empty() ? 0 : Random()() % bytes.size();
  const char byte = static_cast<char>(Random()());
  if (bytes.size() < most && Random()() % 3 == 0) {
    bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), byte);
  } else if (!bytes.empty() && Random()() % 2 == 0) {
    bytes.erase(at, 1);
  } else if (!bytes.empty()) {
    bytes[at] = byte;
  }
}

TEST(Fuzz, EveryMethodHasASeed) {
  const Harness harness(MakeFuzzedService());
  std::set<std::string> without;
  for (int i = 0; i < harness.descriptor().method_count(); ++i)
    without.insert(harness.descriptor().method(i)->name());
  for (const auto* part : {&harness.seeds().world, &harness.seeds().calls})
    for (const FuzzCall& call : *part) without.erase(call.method->name());
  EXPECT_EQ(without, std::set<std::string>());
}

// Each seed by itself is a valid request.
TEST(Fuzz, SeedsAreRequests) {
  Harness harness(MakeFuzzedService());
  for (const FuzzCall& call : harness.seeds().calls) {
    for (const grpc::Status& answer : harness.Run(EncodeCalls({call}))) {
      EXPECT_NE(answer.error_code(), grpc::StatusCode::INVALID_ARGUMENT)
          << call.method->name() << ": " << answer.error_message();
    }
  }
}

TEST(Fuzz, WhatIsAskedByChanceIsAnsweredWithoutAFault) {
  const std::optional<uint64_t> seconds = Said("MUSTER_FUZZ_SECONDS");
  if (seconds || Said("MUSTER_FUZZ_SEED")) {
    const uint64_t seed = Said("MUSTER_FUZZ_SEED").value_or(std::random_device()());
    // Printed first: the process may end at any input.
    std::cout << "MUSTER_FUZZ_SEED=" << seed << std::endl;
    Random().seed(seed);
  }
  const absl::Time end = absl::Now() + absl::Seconds(seconds.value_or(0));
  Harness harness(MakeFuzzedService());
  CallMutator mutator(&harness.descriptor(), harness.seeds(), &MutateBytes);
  std::vector<std::vector<FuzzCall>> inputs = {{}};
  int64_t calls = 0;
  int64_t good = 0;
  for (int i = 0; i < kInputs || absl::Now() < end; ++i) {
    std::vector<FuzzCall> input = inputs[Random()() % inputs.size()];
    mutator.Mutate(input, Random()());
    for (const grpc::Status& answer : harness.Run(EncodeCalls(input))) {
      ++calls;
      if (answer.ok()) ++good;
    }
    if (inputs.size() < kKept) {
      inputs.push_back(std::move(input));
    } else {
      inputs[Random()() % kKept] = std::move(input);
    }
  }
  std::cout << calls << " calls, " << good << " of them good\n";
  EXPECT_GT(good, calls / 20) << "most of it is no request any more";
}

// Encoded calls are decoded as they were, and any other bytes are decoded without a fault.
TEST(Fuzz, InputsAreWhatTheyWere) {
  const Harness harness(MakeFuzzedService());
  const std::vector<FuzzCall>& calls = harness.seeds().calls;
  for (size_t begin = 0; begin < calls.size(); ++begin) {
    const std::vector<FuzzCall> one = {calls[begin]};
    const std::vector<FuzzCall> read = DecodeCalls(harness.descriptor(), EncodeCalls(one));
    ASSERT_EQ(read.size(), 1u);
    EXPECT_EQ(read[0].method, one[0].method);
    EXPECT_EQ(read[0].request, one[0].request);
  }
  EXPECT_EQ(DecodeCalls(harness.descriptor(), std::string("\xff\xff", 2)).size(), 1u);
  EXPECT_EQ(DecodeCalls(harness.descriptor(), std::string(10'000, '\0')).size(), kMostCalls);
}

}  // namespace
}  // namespace muster::testing
