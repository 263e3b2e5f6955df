#pragma once

#include <google/protobuf/compiler/parser.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/proto/lint.h"

// Protos that tests write.
namespace muster::proto_lint {

// A parsed file, alive with its pool.
struct Parsed {
  std::unique_ptr<google::protobuf::DescriptorPool> pool = {};
  const google::protobuf::FileDescriptor* file = nullptr;
};

// `imports`: what the text imports, each after what it imports itself.
inline Parsed ParseProto(const std::string& text, const std::string& name,
                         const std::vector<const google::protobuf::FileDescriptor*>& imports = {}) {
  google::protobuf::FileDescriptorSet set;
  for (const google::protobuf::FileDescriptor* import : imports) import->CopyTo(set.add_file());
  google::protobuf::io::ArrayInputStream input(text.data(), static_cast<int>(text.size()));
  google::protobuf::io::Tokenizer tokenizer(&input, nullptr);
  google::protobuf::compiler::Parser parser;
  google::protobuf::FileDescriptorProto& file = *set.add_file();
  EXPECT_TRUE(parser.Parse(&tokenizer, &file)) << text;
  file.set_name(name);
  std::string error;
  Parsed parsed = {.pool = Link(set, &error)};
  EXPECT_EQ(error, "") << text;
  if (parsed.pool != nullptr) parsed.file = parsed.pool->FindFileByName(name);
  return parsed;
}

}  // namespace muster::proto_lint
