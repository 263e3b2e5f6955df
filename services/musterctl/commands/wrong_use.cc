#include "services/musterctl/commands/wrong_use.h"

#include "absl/strings/cord.h"

namespace muster::musterctl {
namespace {

constexpr char kWrongUseUrl[] = "musterctl/wrong-use";

}  // namespace

absl::Status WrongUse(absl::string_view text) {
  absl::Status status = absl::InvalidArgumentError(text);
  status.SetPayload(kWrongUseUrl, absl::Cord());
  return status;
}

bool IsWrongUse(const absl::Status& status) { return status.GetPayload(kWrongUseUrl).has_value(); }

}  // namespace muster::musterctl
