#pragma once

#include <sys/types.h>

#include <string>

#include "absl/strings/string_view.h"

namespace muster {

struct ReplaceOptions {
  mode_t mode = 0644;    // of the file, less the umask
  bool durable = false;  // a loss of power leaves the old text or the new one, too
};

// Writes the text into a new file and renames that to `path`, so that readers find all of the old
// text or all of the new. False: it cannot be written, or is there and is no regular file, as
// /dev/null, which root would replace for all of the machine; what is there is as it was.
bool ReplaceFile(const std::string& path, absl::string_view text,
                 const ReplaceOptions& options = {});

}  // namespace muster
