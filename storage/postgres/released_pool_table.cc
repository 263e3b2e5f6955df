#include "storage/postgres/released_pool_table.h"

#include <muster/type/v1/released_pool.pb.h>

#include "services/common/timestamp.h"

namespace muster::storage {
namespace {

type::v1::ReleasedPool ReleasedToProto(const Versioned<ReleasedPool>& released) {
  type::v1::ReleasedPool message;
  message.set_pool_uid(released.row->pool_uid);
  message.set_generation(released.row->generation);
  SetTimestamp(released.row->release_time, message.mutable_release_time());
  return message;
}

absl::StatusOr<ReleasedPool> ReleasedFromProto(const type::v1::ReleasedPool& message) {
  return ReleasedPool{message.pool_uid(), message.generation(),
                      FromTimestamp(message.release_time())};
}

}  // namespace

Stored<ReleasedPool> StoredReleasedPools() {
  return StoredAs<type::v1::ReleasedPool>(
      SqlTable<ReleasedPool>(
          "released_pool", KeyForm::kName,
          {Key<&ReleasedPool::pool_uid>("pool_uid"), Field<&ReleasedPool::generation>("generation"),
           Field<&ReleasedPool::release_time>("release_time")}),
      &ReleasedToProto, &ReleasedFromProto);
}

}  // namespace muster::storage
