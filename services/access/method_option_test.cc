#include <gmock/gmock.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "services/access/method_access.h"
#include "tests/testing/status_matchers.h"

// What the option muster.type.v1.access asks for, by methods that no service has.
namespace muster::access {
namespace {

using ::muster::testing::IsOk;
using ::muster::testing::StatusIs;
using ::testing::HasSubstr;

TEST(MethodOption, OneThatDoesNotSayItLetsNobodyIn) {
  google::protobuf::DescriptorPool pool(google::protobuf::DescriptorPool::generated_pool());
  google::protobuf::FileDescriptorProto file;
  file.set_name("x.proto");
  file.set_package("x");
  file.add_dependency("muster/type/v1/access.proto");
  auto* message = file.add_message_type();
  message->set_name("Request");
  using Field = google::protobuf::FieldDescriptorProto;
  const auto add_field = [&](const char* name, Field::Type type, Field::Label label) {
    auto* field = message->add_field();
    field->set_name(name);
    field->set_number(message->field_size());
    field->set_type(type);
    field->set_label(label);
  };
  add_field("name", Field::TYPE_INT64, Field::LABEL_OPTIONAL);
  add_field("text", Field::TYPE_STRING, Field::LABEL_OPTIONAL);
  add_field("texts", Field::TYPE_STRING, Field::LABEL_REPEATED);
  auto* service = file.add_service();
  service->set_name("Service");
  using type::v1::Access;
  const auto add = [&](const std::function<void(Access&)>& fill) {
    auto* method = service->add_method();
    method->set_name("M" + std::to_string(service->method_size()));
    method->set_input_type(".x.Request");
    method->set_output_type(".x.Request");
    if (fill) fill(*method->mutable_options()->MutableExtension(type::v1::access));
  };
  add(nullptr);
  add([](Access& access) { access.set_reach(Access::REACH_EVERYWHERE); });
  add([](Access& access) { access.add_verbs(Access::VERB_READ); });
  add([](Access& access) {
    access.add_verbs(Access::VERB_UNSPECIFIED);
    access.set_reach(Access::REACH_SHARED);
  });
  add([](Access& access) {
    access.add_verbs(static_cast<Access::Verb>(Access::VERB_DEBUG + 1));
    access.set_reach(Access::REACH_SHARED);
  });
  add([](Access& access) {
    access.add_verbs(Access::VERB_READ);
    access.set_reach(Access::REACH_CALLER);
  });
  add([](Access& access) {
    access.add_verbs(Access::VERB_READ);
    access.set_reach(Access::REACH_RESOURCE);
  });
  for (const char* path : {"nowhere", "name", "name.more", ""}) {
    add([path](Access& access) {
      access.add_verbs(Access::VERB_READ);
      access.set_reach(Access::REACH_RESOURCE);
      access.set_resource(path);
    });
  }
  add([](Access& access) {
    access.add_verbs(Access::VERB_READ);
    access.set_reach(Access::REACH_SHARED);
    access.set_resource("name");
  });
  const auto creates = [](const auto& say) {
    return [say](Access& access) {
      access.add_verbs(Access::VERB_WRITE);
      access.set_reach(Access::REACH_RESOURCE);
      access.set_resource("text");
      say(access);
    };
  };
  add(creates([](Access& access) { access.set_zone("text"); }));
  add(creates([](Access& access) { access.set_child("things/text"); }));
  for (const char* path : {"nowhere", "name", "texts", "text.more"}) {
    add(creates([path](Access& access) {
      access.set_creates(true);
      access.set_zone(path);
    }));
    add(creates([path](Access& access) {
      access.set_creates(true);
      access.set_child(absl::StrCat("things/", path));
    }));
  }
  add(creates([](Access& access) {
    access.set_creates(true);
    access.set_child("text");
  }));
  add(creates([](Access& access) { access.add_fields()->set_path("texts"); }));
  add([](Access& access) {
    access.add_verbs(Access::VERB_WRITE);
    access.set_reach(Access::REACH_EVERYWHERE);
    access.set_creates(true);
    access.set_zone("text");
  });
  const auto* built = pool.BuildFile(file);
  ASSERT_NE(built, nullptr);
  for (int i = 0; i < built->service(0)->method_count(); ++i)
    EXPECT_FALSE(MethodAccess::Of(*built->service(0)->method(i)).ok()) << i;
}

// A method about the `names` of its request, with what `fill` adds to its rules.
class OwnMethod {
 public:
  explicit OwnMethod(const std::function<void(type::v1::Access&)>& fill) {
    google::protobuf::FileDescriptorProto file;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        R"(name: "x.proto" package: "x" dependency: "muster/type/v1/access.proto"
           message_type {
             name: "Request"
             field { name: "names" number: 1 type: TYPE_STRING label: LABEL_REPEATED }
             field { name: "texts" number: 2 type: TYPE_STRING label: LABEL_REPEATED }
             field { name: "inner" number: 3 type: TYPE_MESSAGE type_name: ".x.Inner" }
           }
           message_type { name: "Inner" field { name: "text" number: 1 type: TYPE_STRING } }
           service {
             name: "Service"
             method { name: "Do" input_type: ".x.Request" output_type: ".x.Request" }
           })",
        &file));
    auto* method = file.mutable_service(0)->mutable_method(0);
    type::v1::Access& access = *method->mutable_options()->MutableExtension(type::v1::access);
    access.add_verbs(type::v1::Access::VERB_WRITE);
    access.set_reach(type::v1::Access::REACH_RESOURCE);
    access.set_resource("names");
    fill(access);
    built_ = pool_.BuildFile(file);
  }

  // `request`: as text.
  absl::Status Admit(Caller caller, const std::string& request) const {
    google::protobuf::DynamicMessageFactory factory;
    const std::unique_ptr<google::protobuf::Message> message(
        factory.GetPrototype(built_->FindMessageTypeByName("Request"))->New());
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(request, message.get()));
    const auto access = MethodAccess::Of(*built_->service(0)->method(0));
    EXPECT_THAT(access.status(), IsOk());
    return access->Admit(caller, *message, &PlaceOfName);
  }

 private:
  google::protobuf::DescriptorPool pool_{google::protobuf::DescriptorPool::generated_pool()};
  const google::protobuf::FileDescriptor* built_ = nullptr;
};

constexpr char kAcmes[] = "organizations/acme/clusters/c1/nodePools/a";
constexpr char kBetas[] = "organizations/beta/clusters/c1/nodePools/a";

Caller With(Role role) {
  Scope acme;
  acme.AddOrganization("acme");
  Rights rights;
  rights.Add(role, acme);
  return {.principal = "p", .rights = std::make_shared<const Rights>(rights)};
}

// "Fields that need another verb": each of them, whatever came before it, wherever it is.
TEST(MethodOption, EachFieldAsksForItsOwnVerb) {
  const OwnMethod method([](type::v1::Access& access) {
    const auto add = [&](const char* path, type::v1::Access::Verb verb) {
      access.add_fields()->set_path(path);
      access.mutable_fields(access.fields_size() - 1)->set_verb(verb);
    };
    add("texts", type::v1::Access::VERB_SYNC);
    add("inner.text", type::v1::Access::VERB_OPERATE);
  });
  const std::string names = absl::StrCat("names: '", kAcmes, "' ");
  const auto denied = [](absl::string_view field) {
    return StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr(field));
  };
  const Caller editor = With(Role::kEditor);
  EXPECT_THAT(method.Admit(editor, names), IsOk());
  EXPECT_THAT(method.Admit(editor, names + "inner {}"), IsOk()) << "nothing is set in it";
  EXPECT_THAT(method.Admit(editor, names + "texts: 'a'"), denied("with texts: it takes a role "
                                                                 "with sync"));
  EXPECT_THAT(method.Admit(editor, names + "inner { text: 'a' }"), denied("with inner.text"));
  const Caller adapter = With(Role::kAdapter);
  EXPECT_THAT(method.Admit(adapter, names + "texts: 'a'"), IsOk());
  EXPECT_THAT(method.Admit(adapter, names + "texts: 'a' inner { text: 'a' }"),
              denied("with inner.text: it takes a role with operate"));
  EXPECT_THAT(method.Admit(With(Role::kOperator), names + "inner { text: 'a' }"), IsOk());
}

// And at each resource of a batch.
TEST(MethodOption, AFieldsVerbMustHoldAtEveryName) {
  const OwnMethod method([](type::v1::Access& access) {
    access.add_fields()->set_path("inner.text");
    access.mutable_fields(0)->set_verb(type::v1::Access::VERB_OPERATE);
  });
  Scope both, beta;
  both.AddOrganization("acme");
  both.AddOrganization("beta");
  beta.AddOrganization("beta");
  Rights rights;
  rights.Add(Role::kEditor, both);
  rights.Add(Role::kOperator, beta);
  const Caller caller{.principal = "p", .rights = std::make_shared<const Rights>(rights)};
  const std::string both_names = absl::StrCat("names: '", kAcmes, "' names: '", kBetas, "' ");
  EXPECT_THAT(method.Admit(caller, both_names), IsOk());
  EXPECT_THAT(method.Admit(caller, both_names + "inner { text: 'a' }"),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("with inner.text")));
  EXPECT_THAT(method.Admit(caller, absl::StrCat("names: '", kBetas, "' inner { text: 'a' }")),
              IsOk());
}

}  // namespace
}  // namespace muster::access
