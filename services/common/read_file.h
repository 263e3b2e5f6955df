#pragma once

#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace muster {

// All that a file has. nullopt: it cannot be read, or is a folder.
inline std::optional<std::string> ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  // Of a folder, or where the disk fails, libstdc++'s buffers throw: streams take that for an error of theirs, iterators let it out.
  in.peek();
  if (!in.is_open() || in.bad()) return std::nullopt;
  if (in.eof()) return "";
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

}  // namespace muster
