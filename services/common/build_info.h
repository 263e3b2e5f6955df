#pragma once

namespace muster::build_info {

// The version in CMakeLists.txt: `0.1.0`.
extern const char kVersion[];
// The commit that was built: `4690229c1a2b`, `4690229c1a2b-dirty` if files had been changed;
// `unknown` outside of git.
extern const char kCommit[];
// `Dev`, `Release`.
extern const char kBuildType[];

}  // namespace muster::build_info
