#pragma once

#include <fstream>
#include <istream>
#include <optional>
#include <sstream>
#include <string>

namespace muster {

// All that there is from where it stands. nullopt: it cannot be read, or not to its end.
inline std::optional<std::string> ReadAll(std::istream& in) {
  // Of a folder, or where the disk fails, libstdc++'s buffers throw: streams take that for an error
  // of theirs, iterators let it out.
  in.peek();
  if (in.bad()) return std::nullopt;
  if (in.eof()) return "";
  std::ostringstream text;
  if (!(text << in.rdbuf())) return std::nullopt;
  return std::move(text).str();
}

// All that a file has. nullopt: it cannot be read, or is a folder.
inline std::optional<std::string> ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in.is_open()) return std::nullopt;
  return ReadAll(in);
}

}  // namespace muster
