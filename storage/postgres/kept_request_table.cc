#include "storage/postgres/kept_request_table.h"

#include <muster/type/v1/kept_request.pb.h>

#include "services/common/timestamp.h"

namespace muster::storage {
namespace {

type::v1::KeptRequest KeptToProto(const Versioned<KeptRequest>& kept) {
  type::v1::KeptRequest message;
  message.set_request_id(kept.row->request_id);
  message.set_method(kept.row->method);
  message.set_digest(kept.row->digest);
  message.set_code(kept.row->code);
  message.set_answer(kept.row->answer);
  SetTimestamp(kept.row->create_time, message.mutable_create_time());
  message.set_account(kept.row->account);
  return message;
}

absl::StatusOr<KeptRequest> KeptFromProto(const type::v1::KeptRequest& message) {
  return KeptRequest{message.request_id(), message.method(), message.digest(),
                     message.code(),       message.answer(), FromTimestamp(message.create_time()),
                     message.account()};
}

}  // namespace

Stored<KeptRequest> StoredKeptRequests() {
  return StoredAs<type::v1::KeptRequest>(
      SqlTable<KeptRequest>(
          "kept_request", KeyForm::kName,
          {Key<&KeptRequest::request_id>("request_id"), Field<&KeptRequest::method>("method"),
           Field<&KeptRequest::digest>("digest"), Field<&KeptRequest::code>("code"),
           Bytes<&KeptRequest::answer>("answer"), Field<&KeptRequest::create_time>("create_time")}),
      &KeptToProto, &KeptFromProto, {"account"});
}

}  // namespace muster::storage
