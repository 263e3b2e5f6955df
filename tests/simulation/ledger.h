#pragma once

#include "services/lifecycle/core/books.h"
#include "tests/simulation/cloud.h"

namespace muster::simulation {

// The books of the four services at this moment, as services/lifecycle/peers/peer_books.cc reads
// them.
lifecycle::Books BooksOf(const Cloud& cloud);

}  // namespace muster::simulation
