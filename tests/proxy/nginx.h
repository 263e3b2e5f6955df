#pragma once

#include <gmock/gmock.h>

#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/integration/child.h"
#include "tests/testing/authority.h"
#include "tests/testing/reserved_port.h"
#include "tests/testing/temp_folder.h"

namespace muster::testing {

// Debian's nginx with deploy/nginx/muster.conf.
class Nginx {
 public:
  // What stands in the file, and what is to stand there.
  using Changes = std::vector<std::pair<std::string, std::string>>;

  // Those by which it speaks TLS on both sides, with new certificates of the authority: its own,
  // and one of musterd, which needs a DNS name here.
  static Changes ToTls(Authority& authority) {
    authority.Issue("musterd",
                    "subjectAltName=DNS:musterd,IP:127.0.0.1,URI:spiffe://muster.test/musterd");
    authority.Issue("proxy", "subjectAltName=IP:127.0.0.1");
    return {{"http2;", "ssl http2;"},
            {"grpc://", "grpcs://"},
            {"#ssl_", "ssl_"},
            {"#grpc_ssl_", "grpc_ssl_"},
            {"/etc/muster/tls/proxy.crt", authority.certificate("proxy")},
            {"/etc/muster/tls/proxy.key", authority.key("proxy")},
            {"/etc/muster/tls/ca.crt", authority.authority()}};
  }

  // The address that it listens at is changed by itself.
  void Start(Changes changes) {
    std::string servers = ReadFile(MUSTER_NGINX);
    changes.emplace_back("127.0.0.1:7600", address());
    for (const auto& [shown, real] : changes) {
      EXPECT_THAT(servers, ::testing::HasSubstr(shown));
      servers = absl::StrReplaceAll(servers, {{shown, real}});
    }
    std::ofstream(folder_.Path("muster.conf")) << servers;
    std::ofstream conf(folder_.Path("nginx.conf"));
    conf << "daemon off; master_process off; pid nginx.pid; error_log stderr;\n"
         << "events { worker_connections 1024; }\nhttp {\n  access_log off;\n";
    for (const char* name : {"client_body", "proxy", "fastcgi", "uwsgi", "scgi"})
      conf << "  " << name << "_temp_path " << name << ";\n";
    conf << "  include muster.conf;\n}\n";
    conf.close();
    const std::vector<std::string> command = {
        "/usr/sbin/nginx", "-p", folder_.path(), "-e", "stderr", "-c", folder_.Path("nginx.conf")};
    child_ = std::make_unique<Child>(command, folder_.Path("nginx.log"));
  }

  std::string address() const { return absl::StrCat("127.0.0.1:", port_.number()); }
  std::string Log() const { return folder_.Text("nginx.log"); }

 private:
  ReservedPort port_;
  TempFolder folder_;
  std::unique_ptr<Child> child_;
};

}  // namespace muster::testing
