#include "tests/testing/authority.h"

#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "absl/strings/str_cat.h"

namespace muster::testing {
namespace {

constexpr absl::string_view kNewKey = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";

}  // namespace

Authority::Authority() { IssueAuthority("ca"); }

void Authority::OpenSsl(const std::string& arguments) {
  const std::string command =
      absl::StrCat("cd ", folder_.path(), " && openssl ", arguments, " 2>>openssl.log");
  if (std::system(command.c_str()) != 0)
    throw std::runtime_error(absl::StrCat(command, ": ", Text("openssl.log")));
}

void Authority::IssueAuthority(const std::string& name) {
  OpenSsl(absl::StrCat("req -x509 ", kNewKey, " -days 2 -subj /CN=", name, " -keyout ", name,
                       ".key -out ", name, ".crt"));
}

void Authority::Issue(const std::string& name, const std::string& extensions, int days) {
  OpenSsl(absl::StrCat("req ", kNewKey, " -subj /CN=", name, " -keyout ", name, ".key -out ", name,
                       ".csr"));
  std::ofstream(Path(name + ".ext")) << extensions << "\n";
  OpenSsl(absl::StrCat("x509 -req -in ", name,
                       ".csr -CA ca.crt -CAkey ca.key -CAcreateserial -days ", days, " -extfile ",
                       name, ".ext -out ", name, ".crt"));
}

}  // namespace muster::testing
