#pragma once

#include <cstdint>

namespace muster::page {

// How far a reader has come; positions are those of the board's ChangeLog.
struct Place {
  uint64_t at = 0;     // he knows every row whose last change is at or before this position
  uint64_t whole = 0;  // where he had last caught up: he knows each row that was there then
  uint64_t begun = 0;  // the last position when he began: he does not know rows deleted by then
  bool operator==(const Place&) const = default;
};

}  // namespace muster::page
