# Writes OUT, the definition of build_info.h, if it is not so already. Run in every build: see CMakeLists.txt.
execute_process(COMMAND git -C ${SOURCE} --no-optional-locks describe --always --dirty --abbrev=12 --exclude=*
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit)
  set(commit unknown)
endif()
set(text "#include \"services/common/build_info.h\"

namespace muster::build_info {

const char kVersion[] = \"${VERSION}\";
const char kCommit[] = \"${commit}\";
const char kBuildType[] = \"${BUILD_TYPE}\";

}  // namespace muster::build_info
")
set(before "")
if(EXISTS ${OUT})
  file(READ ${OUT} before)
endif()
if(NOT before STREQUAL text)
  file(WRITE ${OUT} "${text}")
endif()
