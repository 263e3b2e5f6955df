#pragma once

#include <muster/type/v1/change_authors.pb.h>

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "services/common/author.h"
#include "services/common/trace_context.h"

namespace muster::storage {

// The authors of a batch's changes, as the journal keeps them: muster.type.v1.ChangeAuthors.
class CommitAuthors {
 public:
  // Adds the author of all changes after those added before, up to `last_revision`. One without a
  // name is the service itself.
  void Add(int64_t last_revision, const Author& author, const TraceContext& trace);
  std::string Encode() const { return message_.SerializeAsString(); }

  // The author of the change `revision` by what Encode returned. All empty: not recorded, or
  // unreadable.
  static Author Find(absl::string_view encoded, int64_t revision);

 private:
  type::v1::ChangeAuthors message_;
  absl::flat_hash_map<std::string, int32_t> principals_;
  absl::flat_hash_map<std::string, int32_t> methods_;
};

}  // namespace muster::storage
