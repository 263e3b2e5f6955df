#include "storage/postgres/kept_request_table.h"

#include <muster/type/v1/kept_request.pb.h>

#include "absl/strings/str_cat.h"
#include "storage/postgres/transaction.h"

namespace muster::storage {
namespace {

constexpr char kLoad[] =
    "SELECT request_id, method, digest, code, answer, create_time, revision FROM kept_request";
constexpr Statement kPut = {
    "put_kept_requests",
    "INSERT INTO kept_request (request_id, method, digest, code, answer, create_time, revision)"
    " SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::integer[], $5::bytea[],"
    " $6::timestamptz[], $7::bigint[])"
    " ON CONFLICT (request_id) DO UPDATE SET method = excluded.method, digest = excluded.digest,"
    " code = excluded.code, answer = excluded.answer, create_time = excluded.create_time,"
    " revision = excluded.revision"};
constexpr Statement kForget = {"forget_kept_requests",
                               "DELETE FROM kept_request WHERE request_id = ANY ($1::text[])"};

}  // namespace

void LoadKeptRequests(Transaction& tx, absl::FunctionRef<void(KeptRequest, int64_t)> emit) {
  for (const auto& row : tx.Exec(kLoad)) {
    emit({row[0].c_str(), row[1].c_str(), row[2].c_str(), row[3].as<int32_t>(),
          FromSqlBytes(row[4].c_str()), FromSqlTime(row[5].c_str())},
         row[6].as<int64_t>());
  }
}

void KeptRequestColumns::Add(const std::string& request_id, const KeptRequest* row,
                             int64_t revision) {
  if (row == nullptr) return forgotten_.Add(request_id);
  request_id_.Add(row->request_id);
  method_.Add(row->method);
  digest_.Add(row->digest);
  code_.Add(row->code);
  answer_.AddBytes(row->answer);
  create_time_.Add(row->create_time);
  revision_.Add(revision);
}

void KeptRequestColumns::Send(Transaction& tx) const {
  if (!forgotten_.empty()) tx.Queue(kForget, forgotten_.Text());
  if (request_id_.empty()) return;
  tx.Queue(kPut, request_id_.Text(), method_.Text(), digest_.Text(), code_.Text(), answer_.Text(),
           create_time_.Text(), revision_.Text());
}

std::string EncodeKeptRequest(const KeptRequest& row) {
  type::v1::KeptRequest message;
  message.set_request_id(row.request_id);
  message.set_method(row.method);
  message.set_digest(row.digest);
  message.set_code(row.code);
  message.set_answer(row.answer);
  const absl::Duration since = row.create_time - absl::UnixEpoch();
  const int64_t seconds = absl::ToInt64Seconds(absl::Floor(since, absl::Seconds(1)));
  message.mutable_create_time()->set_seconds(seconds);
  message.mutable_create_time()->set_nanos(
      static_cast<int32_t>(absl::ToInt64Nanoseconds(since - absl::Seconds(seconds))));
  return message.SerializeAsString();
}

absl::StatusOr<KeptRequest> DecodeKeptRequest(absl::string_view key, absl::string_view bytes) {
  type::v1::KeptRequest message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      message.request_id() != key) {
    return absl::InternalError(absl::StrCat("Not a ", KeptRequest::kKind, ": ", key));
  }
  return KeptRequest{message.request_id(),
                     message.method(),
                     message.digest(),
                     message.code(),
                     message.answer(),
                     absl::FromUnixSeconds(message.create_time().seconds()) +
                         absl::Nanoseconds(message.create_time().nanos())};
}

}  // namespace muster::storage
