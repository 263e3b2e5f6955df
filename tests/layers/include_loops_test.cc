#include "tests/layers/include_loops.h"

#include <gmock/gmock.h>

namespace muster::layers {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(IncludeLoops, NothingIsOneDownAStair) {
  EXPECT_THAT(IncludeLoops({{"a/top.cc", {"a/top.h", "a/middle.h", "a/low.h", "string"}},
                            {"a/top.h", {"a/low.h"}},
                            {"a/middle.h", {"a/low.h", "b/gone.h"}},
                            {"a/low.h", {}}}),
              IsEmpty());
}

TEST(IncludeLoops, AHeaderAndItsSourceAreOne) {
  EXPECT_THAT(IncludeLoops({{"a/x.h", {}},
                            {"a/x.cc", {"a/x.h", "a/y.h"}},
                            {"a/y.h", {"a/x.h"}},
                            {"a/z.h", {"a/z_inl.h"}},
                            {"a/z_inl.h", {"a/z.h"}}}),
              ElementsAre(ElementsAre("a/x", "a/y")));
}

TEST(IncludeLoops, AreFoundHoweverFarRound) {
  EXPECT_THAT(IncludeLoops({{"a/1.h", {"a/2.h"}},
                            {"a/2.h", {"a/3.h", "a/5.h"}},
                            {"a/3.h", {"a/1.h"}},
                            {"a/4.h", {"a/5.h", "a/1.h"}},
                            {"a/5.h", {"a/6.h"}},
                            {"a/6.cc", {"a/5.h"}},
                            {"a/6.h", {}}}),
              ElementsAre(ElementsAre("a/1", "a/2", "a/3"), ElementsAre("a/5", "a/6")));
}

}  // namespace
}  // namespace muster::layers
