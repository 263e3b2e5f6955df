// What libFuzzer calls. With MUSTER_FUZZ_SEEDS=DIR the program writes its seeds there, an input a
// file, and ends.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/fuzz/harness.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

namespace muster::testing {
namespace {

Harness& TheHarness() {
  static auto& harness = *new Harness(MakeFuzzedService());
  return harness;
}

void MutateBytes(std::string& bytes, size_t most) {
  const size_t size = bytes.size();
  bytes.resize(std::max(most, size));
  bytes.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(bytes.data()), size, bytes.size()));
}

CallMutator& TheMutator() {
  static auto& mutator =
      *new CallMutator(&TheHarness().descriptor(), TheHarness().seeds(), &MutateBytes);
  return mutator;
}

void Write(const std::string& path, const std::vector<FuzzCall>& calls) {
  std::ofstream(path, std::ios::binary) << EncodeCalls(calls);
}

void WriteSeeds(const std::string& folder) {
  const Seeds& seeds = TheHarness().seeds();
  std::vector<FuzzCall> all = seeds.world;
  all.insert(all.end(), seeds.calls.begin(), seeds.calls.end());
  for (size_t i = 0; i < all.size(); ++i) Write(absl::StrCat(folder, "/seed-", i), {all[i]});
  // And as many as an input takes, in their order.
  for (size_t begin = 0; begin < all.size(); begin += kMostCalls) {
    const size_t end = std::min(begin + kMostCalls, all.size());
    Write(absl::StrCat(folder, "/seeds-from-", begin),
          {all.begin() + static_cast<std::ptrdiff_t>(begin),
           all.begin() + static_cast<std::ptrdiff_t>(end)});
  }
}

}  // namespace
}  // namespace muster::testing

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  muster::testing::TheHarness();
  if (const char* folder = std::getenv("MUSTER_FUZZ_SEEDS")) {
    muster::testing::WriteSeeds(folder);
    std::_Exit(0);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  muster::testing::TheHarness().Run({reinterpret_cast<const char*>(data), size});
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  auto& harness = muster::testing::TheHarness();
  auto calls = muster::testing::DecodeCalls(harness.descriptor(),
                                            {reinterpret_cast<const char*>(data), size});
  muster::testing::TheMutator().Mutate(calls, seed);
  const std::string bytes = muster::testing::EncodeCalls(calls);
  if (bytes.size() > most) return size;
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}
