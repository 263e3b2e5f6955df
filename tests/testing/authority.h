#pragma once

#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/testing/temp_folder.h"

namespace muster::testing {

// A certificate authority of the test's own, made by the openssl program; what it issues lies as
// NAME.crt and NAME.key in a folder that goes with this object. Throws std::runtime_error when
// openssl fails.
class Authority {
 public:
  Authority();

  // Issues a certificate, valid from `begins` to `ends` (to the second), in place of an earlier one
  // of that name. `extensions`: lines of an openssl extension file, e.g.
  // `subjectAltName=DNS:a.test,URI:spiffe://x.test/a`.
  void Issue(const std::string& name, const std::string& extensions,
             absl::Time begins = absl::Now() - absl::Minutes(1),
             absl::Time ends = absl::Now() + absl::Hours(48));
  // Makes another authority, which this one knows nothing of: a self-signed certificate `name`.
  void IssueAuthority(const std::string& name);

  std::string authority() const { return Path("ca.crt"); }
  std::string certificate(const std::string& name) const { return Path(name + ".crt"); }
  std::string key(const std::string& name) const { return Path(name + ".key"); }
  std::string Path(const std::string& file) const { return folder_.Path(file); }
  std::string Text(const std::string& file) const { return folder_.Text(file); }

 private:
  void OpenSsl(const std::string& arguments);

  TempFolder folder_;
};

}  // namespace muster::testing
