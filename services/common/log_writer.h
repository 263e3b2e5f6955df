#pragma once

#include <atomic>

#include "absl/strings/string_view.h"

// What log.cc asks and log_output.cc answers.
namespace muster::log::internal {

// Takes a line that would go to stderr, without its newline. Null: nobody does.
using Writer = void (*)(absl::string_view line);
inline std::atomic<Writer> g_writer = nullptr;

}  // namespace muster::log::internal
