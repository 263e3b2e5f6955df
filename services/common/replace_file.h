#pragma once

#include <sys/types.h>

#include <string>

#include "absl/strings/string_view.h"

namespace muster {

struct ReplaceOptions {
  mode_t mode = 0644;    // of the file, less the umask
  bool durable = false;  // a loss of power leaves the old text or the new one, too
};

// Writes the text beside the file and renames that, so that whoever reads the file finds all of the old text or all of the new. False:
// it cannot be written, and is as it was.
bool ReplaceFile(const std::string& path, absl::string_view text,
                 const ReplaceOptions& options = {});

}  // namespace muster
