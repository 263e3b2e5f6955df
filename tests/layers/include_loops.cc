#include "tests/layers/include_loops.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace muster::layers {
namespace {

using Edges = std::map<std::string, std::set<std::string>>;

std::string PartOf(absl::string_view file) {
  file = file.substr(0, file.rfind('.'));
  absl::ConsumeSuffix(&file, "_inl");
  return std::string(file);
}

// Tarjan's strongly connected components.
class Finder {
 public:
  explicit Finder(const Edges& edges) : edges_(edges) {
    for (const auto& [part, includes] : edges) {
      if (visits_.count(part) == 0) Visit(part);
    }
    std::sort(loops_.begin(), loops_.end());
  }

  std::vector<std::vector<std::string>> loops() && { return std::move(loops_); }

 private:
  struct Visited {
    size_t number;
    size_t lowest;  // that is reached from it
    bool open = true;
  };

  void Visit(const std::string& part) {
    Visited& own = visits_.insert({part, {visits_.size(), visits_.size()}}).first->second;
    open_.push_back(part);
    for (const std::string& included : edges_.at(part)) {
      if (visits_.count(included) == 0) Visit(included);
      const Visited& other = visits_.at(included);
      if (other.open) own.lowest = std::min(own.lowest, other.lowest);
    }
    if (own.lowest == own.number) Close(part);
  }

  void Close(const std::string& first) {
    const auto begin = std::find(open_.begin(), open_.end(), first);
    std::vector<std::string> loop(begin, open_.end());
    open_.erase(begin, open_.end());
    for (const std::string& part : loop) visits_.at(part).open = false;
    std::sort(loop.begin(), loop.end());
    if (loop.size() > 1) loops_.push_back(std::move(loop));
  }

  const Edges& edges_;
  std::map<std::string, Visited> visits_;
  std::vector<std::string> open_;
  std::vector<std::vector<std::string>> loops_;
};

}  // namespace

std::vector<std::vector<std::string>> IncludeLoops(
    const std::map<std::string, std::vector<std::string>>& includes) {
  Edges edges;
  for (const auto& [file, of_file] : includes) {
    std::set<std::string>& parts = edges[PartOf(file)];
    for (const std::string& included : of_file) {
      if (includes.count(included) > 0 && PartOf(included) != PartOf(file))
        parts.insert(PartOf(included));
    }
  }
  return Finder(edges).loops();
}

}  // namespace muster::layers
