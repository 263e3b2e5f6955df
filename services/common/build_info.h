#pragma once

namespace muster::build_info {

// Of CMakeLists.txt: `0.1.0`.
extern const char kVersion[];
// `4690229c1a2b`, with `-dirty` behind it when files had been changed; `unknown` outside of git.
extern const char kCommit[];
// `Dev`, `Release`.
extern const char kBuildType[];

}  // namespace muster::build_info
