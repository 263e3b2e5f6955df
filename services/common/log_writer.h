#pragma once

#include <atomic>

#include "absl/strings/string_view.h"

// How log.cc hands its lines to log_output.cc.
namespace muster::log::internal {

// Takes a line that would go to stderr, without its newline. Null: lines go to stderr.
using Writer = void (*)(absl::string_view line);
inline std::atomic<Writer> g_writer = nullptr;

}  // namespace muster::log::internal
