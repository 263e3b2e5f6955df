#include "services/quota/core/place.h"

#include <optional>
#include <string>

#include "services/quota/core/names.h"

namespace muster::quota {

Place PlaceOf(absl::string_view name) {
  Place place{.name = std::string(name)};
  const std::optional<HoldingName> holding = ParseHoldingName(name);
  const std::optional<QuotaKey> key = ParseQuotaName(holding ? holding->quota : name);
  if (key) place.zone = key->zone;
  return place;
}

}  // namespace muster::quota
