#pragma once

#include <cstdint>

namespace muster::page {

// How far a reader has heard.
struct Place {
  uint64_t at = 0;     // every row as it was then, or newer, unless it changed since
  uint64_t whole = 0;  // where he last had caught up: he knows each row that was there then
  uint64_t begun = 0;  // the last there was when he began: of what had ended by then he never heard
  bool operator==(const Place&) const = default;
};

}  // namespace muster::page
