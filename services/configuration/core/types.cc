#include "services/configuration/core/types.h"

namespace muster::configuration {
namespace {

// What an element takes beside its texts: lengths, numbers and times.
constexpr size_t kBytesAnElement = 16;

}  // namespace

size_t PoolConfiguration::JournalBytes() const {
  size_t bytes = problem.size();
  for (const Revision& revision : revisions) {
    bytes += revision.node_profile.size() + kBytesAnElement;
    for (const std::string& fact : revision.summary) bytes += fact.size();
  }
  for (const std::string& profile : pinned) bytes += profile.size();
  for (const Order& order : orders) {
    bytes +=
        order.requested.size() + order.node_profile.size() + order.message.size() + kBytesAnElement;
  }
  return bytes;
}

}  // namespace muster::configuration
