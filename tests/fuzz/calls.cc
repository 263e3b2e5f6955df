#include "tests/fuzz/calls.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace muster::testing {
namespace {

constexpr size_t kLongest = 65'535;

[[noreturn]] void Fail(absl::string_view what) {
  std::cerr << what << "\n";
  std::exit(1);
}

FuzzCall ParseCall(const google::protobuf::ServiceDescriptor& service, const std::string& name,
                   const std::string& text) {
  FuzzCall call{service.FindMethodByName(name)};
  if (call.method == nullptr) Fail(absl::StrCat(service.full_name(), " has no method ", name));
  const auto request = NewRequest(*call.method);
  if (!google::protobuf::TextFormat::ParseFromString(text, request.get()))
    Fail(absl::StrCat("the request of ", name, " cannot be read"));
  call.request = request->SerializeAsString();
  return call;
}

}  // namespace

std::vector<FuzzCall> DecodeCalls(const google::protobuf::ServiceDescriptor& service,
                                  absl::string_view bytes) {
  const auto take = [&bytes](size_t count) {
    const absl::string_view taken = bytes.substr(0, count);
    bytes.remove_prefix(taken.size());
    return taken;
  };
  const auto number = [&take](size_t count) {
    size_t value = 0;
    for (const char byte : take(count)) value = value << 8 | static_cast<uint8_t>(byte);
    return value;
  };
  std::vector<FuzzCall> calls;
  while (!bytes.empty() && calls.size() < kMostCalls) {
    const size_t method = number(1) % static_cast<size_t>(service.method_count());
    const absl::string_view request = take(number(2));
    calls.push_back({service.method(static_cast<int>(method)), std::string(request)});
  }
  return calls;
}

std::string EncodeCalls(const std::vector<FuzzCall>& calls) {
  std::string bytes;
  for (const FuzzCall& call : calls) {
    const size_t length = call.request.size();
    if (length > kLongest) continue;
    bytes.push_back(static_cast<char>(call.method->index()));
    bytes.push_back(static_cast<char>(length >> 8));
    bytes.push_back(static_cast<char>(length & 0xff));
    bytes += call.request;
  }
  return bytes;
}

std::string PathOf(const google::protobuf::MethodDescriptor& method) {
  return absl::StrCat("/", method.service()->full_name(), "/", method.name());
}

std::unique_ptr<google::protobuf::Message> NewRequest(
    const google::protobuf::MethodDescriptor& method) {
  return std::unique_ptr<google::protobuf::Message>(
      google::protobuf::MessageFactory::generated_factory()
          ->GetPrototype(method.input_type())
          ->New());
}

Seeds ReadSeeds(const google::protobuf::ServiceDescriptor& service, const std::string& path) {
  std::ifstream in(path);
  if (!in) Fail(absl::StrCat(path, " cannot be read"));
  Seeds seeds;
  std::vector<FuzzCall>* part = &seeds.world;
  std::string name;
  std::string text;
  const auto end = [&] {
    if (!name.empty()) part->push_back(ParseCall(service, name, text));
    name.clear();
    text.clear();
  };
  for (std::string line; std::getline(in, line);) {
    if (absl::StartsWith(line, "#")) continue;
    absl::string_view rest = line;
    if (line == "[[calls]]") {
      end();
      part = &seeds.calls;
    } else if (absl::ConsumePrefix(&rest, "[") && absl::ConsumeSuffix(&rest, "]")) {
      end();
      name = std::string(rest);
    } else {
      absl::StrAppend(&text, line, "\n");
    }
  }
  end();
  return seeds;
}

}  // namespace muster::testing
