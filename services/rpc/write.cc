#include "services/rpc/write.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/rpc/status.pb.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "services/common/sha256.h"
#include "services/rpc/status.h"

namespace muster::rpc {

std::string RequestDigest(const google::protobuf::Message& request) {
  const std::unique_ptr<google::protobuf::Message> plain(request.New());
  plain->CopyFrom(request);
  const auto* id = plain->GetDescriptor()->FindFieldByName("request_id");
  if (id != nullptr) plain->GetReflection()->ClearField(plain.get(), id);
  std::string bytes = absl::StrCat(request.GetTypeName(), "\n");
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream out(&stream);
    out.SetSerializationDeterministic(true);
    plain->SerializeToCodedStream(&out);
  }
  return Sha256Hex(bytes);
}

std::string RequestIdOf(const google::protobuf::Message& request) {
  const auto* id = request.GetDescriptor()->FindFieldByName("request_id");
  return id == nullptr ? "" : request.GetReflection()->GetString(request, id);
}

std::string KeptIdOf(const access::Caller* caller, const std::string& request_id) {
  const std::string account = caller == nullptr ? "" : access::AccountOf(*caller);
  // As long as an id may be. The platform's own stand as they are.
  return account.empty() ? request_id : Sha256Hex(absl::StrCat(account, "\n", request_id));
}

namespace internal {

KeptRequest AnswerToKeep(const WriteOptions& options, const absl::Status& status,
                         const google::protobuf::Message& response, absl::Time now) {
  return {.request_id = options.kept_id,
          .method = options.method,
          .digest = options.digest,
          .code = static_cast<int32_t>(status.code()),
          .answer =
              status.ok() ? response.SerializeAsString() : ToRpcStatus(status).SerializeAsString(),
          .create_time = now,
          .account = options.account};
}

absl::Status TellKept(const KeptRequest& kept, google::protobuf::Message& response) {
  google::rpc::Status refusal;
  const bool ok = kept.code == static_cast<int32_t>(absl::StatusCode::kOk);
  if (!(ok ? response.ParseFromString(kept.answer) : refusal.ParseFromString(kept.answer))) {
    return absl::InternalError(absl::StrCat("Not an answer: what is kept of ", kept.request_id));
  }
  return ok ? absl::OkStatus() : FromRpcStatus(refusal);
}

}  // namespace internal
}  // namespace muster::rpc
