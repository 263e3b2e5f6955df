#include "tests/proto/annotations.h"

#include <gmock/gmock.h>
#include <google/api/annotations.pb.h>
#include <google/api/field_behavior.pb.h>
#include <google/api/http.pb.h>
#include <google/api/resource.pb.h>

#include "absl/strings/str_replace.h"
#include "tests/proto/parse_proto.h"

namespace muster::proto_lint {
namespace {

using google::protobuf::DescriptorPool;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Breaks no rule. The tests replace one thing in it.
constexpr char kAnnotated[] = R"(syntax = "proto3";
package muster.box.v1;
import "google/api/annotations.proto";
import "google/api/field_behavior.proto";
import "google/api/resource.proto";
service BoxService {
  rpc GetBox(GetBoxRequest) returns (Box) {
    option (google.api.http) = {get: "/v1/{name=boxes/*}"};
  }
  rpc ListBoxes(ListBoxesRequest) returns (ListBoxesResponse) {
    option (google.api.http) = {get: "/v1/{parent=rooms/*}/boxes"};
  }
  rpc UpdateBox(UpdateBoxRequest) returns (Box) {
    option (google.api.http) = {put: "/v1/{box.name=boxes/*}", body: "box"};
  }
  rpc DeleteBox(DeleteBoxRequest) returns (ListBoxesResponse) {
    option (google.api.http) = {delete: "/v1/{name=boxes/*}"};
  }
  rpc WatchBoxes(WatchBoxesRequest) returns (stream ListBoxesResponse) {
    option (google.api.http) = {get: "/v1/boxes:watch"};
  }
}
message Box {
  option (google.api.resource) = {type: "compute.coreweave.com/Box" pattern: "boxes/{box}"};
  // Required. Its name.
  string name = 1 [(google.api.field_behavior) = REQUIRED];
  // What it is made of. Cannot be changed.
  string wood = 2 [(google.api.field_behavior) = IMMUTABLE];
  // Output only. Its
  // weight.
  int64 weight = 3 [(google.api.field_behavior) = OUTPUT_ONLY];
  // For people. Not required.
  string label = 4;
}
message GetBoxRequest {
  // Which. Required.
  string name = 1 [(google.api.field_behavior) = REQUIRED, (google.api.resource_reference).type = "compute.coreweave.com/Box"];
}
message ListBoxesRequest {
  // Required. Of which room.
  string parent = 1 [(google.api.field_behavior) = REQUIRED, (google.api.resource_reference).child_type = "compute.coreweave.com/Box"];
  // Only these.
  repeated string labels = 2;
}
message UpdateBoxRequest {
  // Required. The box.
  Box box = 1 [(google.api.field_behavior) = REQUIRED];
}
message DeleteBoxRequest {
  // Required. Which.
  string name = 1 [(google.api.field_behavior) = REQUIRED, (google.api.resource_reference).type = "*"];
}
message WatchBoxesRequest {}
message ListBoxesResponse {
  // All.
  repeated Box boxes = 1;
}
)";

Parsed ParseAnnotated(const std::string& text) {
  return ParseProto(
      text, "muster/box/v1/box_service.proto",
      {google::protobuf::FileDescriptorProto::descriptor()->file(),
       google::api::HttpRule::descriptor()->file(),
       DescriptorPool::generated_pool()->FindFileByName("google/api/annotations.proto"),
       google::api::FieldBehavior_descriptor()->file(),
       google::api::ResourceDescriptor::descriptor()->file()});
}

TEST(Annotations, AGoodFilePasses) {
  EXPECT_THAT(LintAnnotations({ParseAnnotated(kAnnotated).file}), IsEmpty());
}

struct BadAnnotation {
  const char* from;
  const char* to;
  const char* fault;
};
class AnnotationRule : public ::testing::TestWithParam<BadAnnotation> {};

TEST_P(AnnotationRule, IsReported) {
  const std::string text = absl::StrReplaceAll(kAnnotated, {{GetParam().from, GetParam().to}});
  ASSERT_NE(text, kAnnotated);
  EXPECT_THAT(LintAnnotations({ParseAnnotated(text).file}),
              ElementsAre(HasSubstr(GetParam().fault)));
}

constexpr BadAnnotation kBehavior[] = {
    {"// Required. Its name.", "// Its name.",
     "Box.name: is REQUIRED: a sentence of its comment begins with `Required`"},
    {"Box box = 1 [(google.api.field_behavior) = REQUIRED];", "Box box = 1;",
     "UpdateBoxRequest.box: its comment says REQUIRED"},
    {"// Only these.", "// Only these. Required.", "labels: its comment says REQUIRED"},
    {"int64 weight = 3 [(google.api.field_behavior) = OUTPUT_ONLY];", "int64 weight = 3;",
     "weight: its comment says OUTPUT_ONLY"},
    {"// For people.", "// Set by the server.", "label: its comment says OUTPUT_ONLY"},
    {"// Output only. Its", "// Its",
     "weight: is OUTPUT_ONLY: a sentence of its comment begins with `Output only` or `Set by the "
     "server`"},
    {" Cannot be changed.", "", "wood: is IMMUTABLE: a sentence of its comment begins"},
    {"string wood = 2 [(google.api.field_behavior) = IMMUTABLE];", "string wood = 2;",
     "wood: its comment says IMMUTABLE"},
    {"// Output only. Its\n  // weight.\n  int64 weight = 3 [(google.api.field_behavior) = "
     "OUTPUT_ONLY",
     "// Output only. Required.\n  int64 weight = 3 [(google.api.field_behavior) = OUTPUT_ONLY, "
     "(google.api.field_behavior) = REQUIRED",
     "weight: is REQUIRED and OUTPUT_ONLY"},
};

constexpr BadAnnotation kResource[] = {
    {"\"compute.coreweave.com/Box\" pattern: \"boxes/{box}\"", "\"compute.coreweave.com/Box\"",
     "Box: has no pattern"},
    {"child_type = \"compute.coreweave.com/Box\"", "child_type = \"compute.coreweave.com/Bag\"",
     "parent: refers to `compute.coreweave.com/Bag`, which is no resource"},
    {", (google.api.resource_reference).type = \"*\"", "",
     "DeleteBoxRequest.name: says by resource_reference what it names"},
    {"// Required. Which.\n  string name = 1 [(google.api.field_behavior) = REQUIRED, ",
     "// Which.\n  string name = 1 [", "DeleteBoxRequest.name: is REQUIRED"},
    {"message WatchBoxesRequest {}",
     "message WatchBoxesRequest {}\nmessage Bag {\n  option (google.api.resource) = {type: "
     "\"compute.coreweave.com/Bag\" pattern: \"boxes/{box}\"};\n  string name = 1;\n}",
     "Bag: its pattern is another's"},
    {"message WatchBoxesRequest {}",
     "message WatchBoxesRequest {}\nmessage Bag {\n  option (google.api.resource) = {type: "
     "\"compute.coreweave.com/Bag\" pattern: \"bags/{bag}\"};\n}",
     "Bag: a resource has a `string name`"},
    {"message WatchBoxesRequest {}",
     "message WatchBoxesRequest {}\nmessage Bag {\n  option (google.api.resource) = {type: "
     "\"example.com/Bag\" pattern: \"bags/{bag}\"};\n  string name = 1;\n}",
     "Bag: its type is compute.coreweave.com/Bag"},
};

constexpr BadAnnotation kHttp[] = {
    {"{get: \"/v1/boxes:watch\"}", "{custom: {kind: \"HEAD\" path: \"/v1/boxes\"}}",
     "WatchBoxes: has no google.api.http"},
    {"/v1/{parent=rooms/*}/boxes", "/v2/{parent=rooms/*}/boxes",
     "ListBoxes: its path begins with /v1"},
    {"{get: \"/v1/{parent=rooms/*}/boxes\"}", "{get: \"/v1/boxes/{parent}\"}",
     "ListBoxes: shares its path with another RPC"},
    {"{parent=rooms/*}", "{room=rooms/*}", "ListBoxes: `room` of its path is no string"},
    {"{box.name=boxes/*}", "{box.weight=boxes/*}",
     "UpdateBox: `box.weight` of its path is no string"},
    {"{box.name=boxes/*}", "{box=boxes/*}", "UpdateBox: `box` of its path is no string"},
    {"\"/v1/{parent=rooms/*}/boxes\"", "\"/v1/{parent=rooms/*}/boxes\" body: \"*\"",
     "ListBoxes: GET has no body"},
    {", body: \"box\"", "", "UpdateBox: its body is `*` or a message of the request"},
    {"body: \"box\"", "body: \"lid\"", "UpdateBox: its body is `*` or a message of the request"},
    {"repeated string labels", "repeated Box labels",
     "ListBoxes: `labels` cannot stand in a query"},
    {"delete: \"/v1/{name=boxes/*}\"", "get: \"/v1/{name=boxes/*}:delete\"",
     "DeleteBox: changes something: no GET"},
    {"/v1/boxes:watch", "/v1/boxes", "WatchBoxes: a stream is a GET of `:watch`"},
};
INSTANTIATE_TEST_SUITE_P(Behavior, AnnotationRule, ::testing::ValuesIn(kBehavior));
INSTANTIATE_TEST_SUITE_P(Resource, AnnotationRule, ::testing::ValuesIn(kResource));
INSTANTIATE_TEST_SUITE_P(Http, AnnotationRule, ::testing::ValuesIn(kHttp));

TEST(Annotations, WhatAGetAnswersWithIsAResource) {
  const std::string text = absl::StrReplaceAll(
      kAnnotated,
      {{"  option (google.api.resource) = {type: \"compute.coreweave.com/Box\" pattern: "
        "\"boxes/{box}\"};\n",
        ""},
       {".type = \"compute.coreweave.com/Box\"", ".type = \"*\""},
       {".child_type = \"compute.coreweave.com/Box\"", ".type = \"*\""}});
  EXPECT_THAT(LintAnnotations({ParseAnnotated(text).file}),
              ElementsAre(HasSubstr("Box: is a resource: has google.api.resource")));
}

TEST(Annotations, PathsAreOfAllFilesTogether) {
  const Parsed one = ParseAnnotated(kAnnotated);
  const Parsed other = ParseAnnotated(
      absl::StrReplaceAll(kAnnotated, {{"rpc GetBox(", "rpc GetBag("},
                                       {"compute.coreweave.com/Box\" pattern: \"boxes",
                                        "compute.coreweave.com/Box\" pattern: \"bags"}}));
  EXPECT_THAT(LintAnnotations({one.file, other.file}),
              ::testing::Contains(HasSubstr("GetBag: shares its path with another RPC")));
}

TEST(Annotations, PathsAreWhatClientsRelyOn) {
  EXPECT_THAT(
      HttpSurface(*ParseAnnotated(kAnnotated).file),
      ::testing::Contains("http muster.box.v1.BoxService.UpdateBox = PUT /v1/{box.name=boxes/*}"));
}

}  // namespace
}  // namespace muster::proto_lint
