# Writes OUT, the definitions of static_files.h: every file of SOURCE as bytes.
set(types "html=text/html\; charset=utf-8" "css=text/css\; charset=utf-8" "js=text/javascript\; charset=utf-8"
    "svg=image/svg+xml")
file(GLOB files RELATIVE ${SOURCE} ${SOURCE}/*.html ${SOURCE}/*.css ${SOURCE}/*.js ${SOURCE}/*.svg)
set(bytes "")
set(rows "")
set(number 0)
foreach(file ${files})
  file(READ ${SOURCE}/${file} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
  string(REGEX MATCH "[^.]+$" ending ${file})
  foreach(pair IN LISTS types)
    if(pair MATCHES "^${ending}=(.*)$")
      set(type "${CMAKE_MATCH_1}")
    endif()
  endforeach()
  string(APPEND bytes "const unsigned char kFile${number}[] = {${hex}};\n")
  string(APPEND rows "    {\"/${file}\", \"${type}\", kFile${number}, sizeof(kFile${number})},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUT} "#include \"services/page/static_files.h\"

namespace muster::page {
namespace {

${bytes}
}  // namespace

const StaticFile kStaticFiles[] = {
${rows}};
const size_t kStaticFileCount = ${number};

}  // namespace muster::page
")
