#pragma once

#include <string>

#include "tests/testing/service_test.h"

namespace muster::testing {

// For the fixture of a service: what holds for every mutation that bears a request_id.
template <class Base>
class OnceTest : public Base {
 protected:
  using Stub = typename Base::Stub;

  // A second call under the same id gets the same answer, another request under that id is refused,
  // and neither writes anything. `at_rest`: false if the service itself may write meanwhile.
  template <class Request, class Response>
  void ExpectOnce(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                  Request request, const std::string& id, bool at_rest = true) {
    SCOPED_TRACE(request.GetTypeName());
    request.set_request_id(id);
    const auto first = this->Call(method, request);
    ASSERT_THAT(first, IsOk());
    const int64_t revision = this->service_->lane().revision();
    const auto second = this->Call(method, request);
    ASSERT_THAT(second, IsOk());
    EXPECT_EQ(second->SerializeAsString(), first->SerializeAsString());
    Request other = request;
    other.MergeFromString("\xf8\x7f\x01");  // a field of a newer version
    EXPECT_THAT(this->Call(method, other), HasReason("REQUEST_ID_REUSED"));
    if (at_rest) {
      EXPECT_EQ(this->service_->lane().revision(), revision);
    }
    request.set_request_id("not one");
    EXPECT_THAT(this->Call(method, request), HasFieldViolation("request_id"));
  }
};

}  // namespace muster::testing
