#pragma once

#include <cstddef>

#include "absl/strings/string_view.h"

// The files of static/, as they were when the program was built (embed.cmake).
namespace muster::page {

struct StaticFile {
  const char* path;  // `/app.js`
  const char* type;  // of the content
  const unsigned char* bytes;
  size_t size;
};

extern const StaticFile kStaticFiles[];
extern const size_t kStaticFileCount;

// `/` is `/index.html`. Null: there is none.
inline const StaticFile* FindStaticFile(absl::string_view path) {
  if (path == "/") path = "/index.html";
  for (size_t i = 0; i < kStaticFileCount; ++i) {
    if (path == kStaticFiles[i].path) return &kStaticFiles[i];
  }
  return nullptr;
}

}  // namespace muster::page
