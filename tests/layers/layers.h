#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

// Holds the tree against the layer table of the design (README, "Layers") and against the rules of
// form that no compiler knows. Pure but for CheckTree.
namespace muster::layers {

struct Violation {
  std::string path = {};  // from the top of the tree
  int line = 0;           // from 1; 0: the file or folder as a whole
  std::string what = {};  // the include, or what was found
  std::string rule = {};

  bool operator==(const Violation&) const = default;
};

// `path:line: what: rule`.
std::string Render(const Violation& violation);

// A source file (.h or .cc) of services/, storage/ or tests/: every include, and words that must
// not occur.
std::vector<Violation> CheckSource(absl::string_view path, absl::string_view content);

// A folder, by the files directly in it: `readme_lines` is -1 when there is no README.md.
std::vector<Violation> CheckFolder(absl::string_view path, int readme_lines);

// By file, what it includes; both from the top of the tree.
using Includes = std::map<std::string, std::vector<std::string>>;

// Folders of services/ and storage/ that depend on each other, each pair once, in order; test code
// aside. A folder's subfolders are folders by themselves.
std::vector<Violation> CheckFolderPairs(const Includes& includes);

// Sources of services/lifecycle/core without a test of their name.
std::vector<Violation> CheckTestsByName(const Includes& includes);

// An entry of the top of the tree.
std::vector<Violation> CheckTopLevel(absl::string_view name);

// All of the above for the tree at `root`.
std::vector<Violation> CheckTree(const std::string& root);

}  // namespace muster::layers
