#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace muster::testing {

// The contents of a file; empty: there is none, or it cannot be read.
inline std::string ReadFile(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A new folder of the test's own, deleted by the destructor.
class TempFolder {
 public:
  TempFolder() {
    std::string path = "/tmp/muster-test.XXXXXX";
    if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = path;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string Path(const std::string& name) const { return path_ + "/" + name; }
  std::string Text(const std::string& name) const { return ReadFile(Path(name)); }

 private:
  std::string path_;
};

}  // namespace muster::testing
