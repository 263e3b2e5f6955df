#include "tests/kubernetes/raw_request.h"

#include <httplib.h>

#include "absl/strings/ascii.h"

namespace muster::testing {

RawAnswer SendRaw(const ApiServer& server, absl::string_view method, absl::string_view target,
                  absl::string_view body, absl::string_view content_type) {
  const kubernetes::Endpoint endpoint = server.endpoint();
  httplib::Client client(endpoint.server);
  client.enable_server_certificate_verification(false);
  client.set_bearer_token_auth(endpoint.token);
  client.set_read_timeout(60);
  httplib::Request request;
  request.method = std::string(method);
  request.path = std::string(target);
  request.body = std::string(body);
  if (!body.empty()) request.set_header("Content-Type", std::string(content_type));
  RawAnswer answer;
  request.content_receiver = [&](const char* data, size_t size, uint64_t, uint64_t) {
    answer.body.append(data, size);
    return true;
  };
  request.response_handler = [&](const httplib::Response& response) {
    answer.code = response.status;
    for (const auto& [name, value] : response.headers)
      answer.headers[absl::AsciiStrToLower(name)] = value;
    return true;
  };
  answer.is_whole = client.send(request).error() == httplib::Error::Success;
  return answer;
}

}  // namespace muster::testing
