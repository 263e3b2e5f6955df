#pragma once

#include <string>

#include "services/lifecycle/core/books.h"
#include "tests/simulation/cloud.h"

namespace muster::simulation {

// The books of the four services at this moment, as services/lifecycle/peer_books.cc reads them.
lifecycle::Books BooksOf(const Cloud& cloud);

// What the collector sends to give back what the books say that an orphan has
// (services/lifecycle/orphan_collector.cc).
void GiveBack(Cloud& cloud, const lifecycle::Books& books, const std::string& uid);

}  // namespace muster::simulation
