#include "tests/testing/authority.h"

#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace muster::testing {
namespace {

constexpr absl::string_view kNewKey = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";

}  // namespace

Authority::Authority() {
  IssueAuthority("ca");
  std::ofstream(Path("index")) << "";
  std::ofstream(Path("ca.cnf"))
      << "[ca]\ndefault_ca=own\n[own]\ndatabase=index\nnew_certs_dir=.\ndefault_md=sha256\n"
         "rand_serial=yes\n"
         "policy=any\nunique_subject=no\n[any]\ncommonName=supplied\n";
}

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

void Authority::Issue(const std::string& name, const std::string& extensions, absl::Time begins,
                      absl::Time ends) {
  const auto text = [](absl::Time time) {
    return absl::FormatTime("%Y%m%d%H%M%SZ", time, absl::UTCTimeZone());
  };
  OpenSsl(absl::StrCat("req ", kNewKey, " -subj /CN=", name, " -keyout ", name, ".key -out ", name,
                       ".csr"));
  std::ofstream(Path(name + ".ext")) << extensions << "\n";
  OpenSsl(absl::StrCat("ca -batch -notext -config ca.cnf -cert ca.crt -keyfile ca.key",
                       " -startdate ", text(begins), " -enddate ", text(ends), " -extfile ", name,
                       ".ext -in ", name, ".csr -out ", name, ".crt"));
}

}  // namespace muster::testing
