#pragma once

#include <string>
#include <vector>

namespace muster::kubernetes {

// Where an API server is and who we are to it. Certificates and keys are PEM texts.
struct Endpoint {
  std::string server = {};                 // e.g. `https://127.0.0.1:6443`; http is for tests
  std::string certificate_authority = {};  // empty: the system's
  std::string server_name = {};            // that its certificate must bear; empty: of `server`
  bool skip_server_verification = false;   // `insecure-skip-tls-verify`
  std::string client_certificate = {};
  std::string client_key = {};
  // Where these come from, if from files: they are read again for each new connection.
  std::string certificate_authority_file = {};
  std::string client_certificate_file = {};
  std::string client_key_file = {};
  std::string token = {};       // bearer token
  std::string token_file = {};  // wins over `token`; read again as it is renewed
  // Impersonation: on whose behalf every request is made. The server must allow that to the user
  // above.
  std::string as = {};  // a user's name; empty: nobody else's
  std::vector<std::string> as_groups = {};
};

}  // namespace muster::kubernetes
