#pragma once

#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/testing/temp_folder.h"

namespace muster::testing {

// A certificate authority made by openssl, and the certificates that it issues: NAME.crt and NAME.key in a folder.
class Authority {
 public:
  Authority();

  // `extensions`: as of an openssl configuration, a line each, e.g. `subjectAltName=DNS:a.test,URI:spiffe://x.test/a`.
  // Good from `begins` to `ends`, in whole seconds.
  void Issue(const std::string& name, const std::string& extensions,
             absl::Time begins = absl::Now() - absl::Minutes(1),
             absl::Time ends = absl::Now() + absl::Hours(48));
  // Another authority, as `name`.
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
