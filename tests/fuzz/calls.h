#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

// What a fuzzer's input is: calls of one service, one after the other.
namespace muster::testing {

struct FuzzCall {
  const google::protobuf::MethodDescriptor* method = nullptr;
  std::string request = {};  // its bytes, whatever they are
};

// Each call is a byte for the method, two for the length, then the request. Any bytes are an input:
// the method's byte is taken modulo the number of methods, a request may be cut short by the end,
// and what follows kMostCalls calls is ignored.
inline constexpr size_t kMostCalls = 16;
std::vector<FuzzCall> DecodeCalls(const google::protobuf::ServiceDescriptor& service,
                                  absl::string_view bytes);
// Requests longer than 65535 bytes are left out.
std::string EncodeCalls(const std::vector<FuzzCall>& calls);

// `/muster.quota.v1.QuotaService/GetQuota`
std::string PathOf(const google::protobuf::MethodDescriptor& method);
// An empty request of the method.
std::unique_ptr<google::protobuf::Message> NewRequest(
    const google::protobuf::MethodDescriptor& method);

// The calls of a seeds file: `[GetQuota]` on a line of its own, then the request as text, and so
// on. Those before the line `[[calls]]` are `world`, those after it `calls`. Lines that begin with
// # are comments. Ends the process if the file cannot be read.
struct Seeds {
  std::vector<FuzzCall> world = {};  // what there is before an input
  std::vector<FuzzCall> calls = {};
};
Seeds ReadSeeds(const google::protobuf::ServiceDescriptor& service, const std::string& path);

}  // namespace muster::testing
