#include "tests/page/browser.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "tests/testing/patience.h"

namespace muster::testing {
namespace {

using nlohmann::json;

// Chromium reads commands from descriptor 3 and writes answers to 4.
[[noreturn]] void Become(const std::vector<std::string>& command, int read_end, int write_end) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Out of the way of 3 and 4 first.
  const int in = fcntl(read_end, F_DUPFD, 10);
  const int out = fcntl(write_end, F_DUPFD, 10);
  dup2(in, 3);
  dup2(out, 4);
  const int silent = open("/dev/null", O_RDWR);
  for (const int standard : {0, 1, 2}) dup2(silent, standard);
  close_range(5, ~0U, 0);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execv(words[0], words.data());
  _exit(127);
}

// As JavaScript: see Text.
std::string TextOf(const std::string& selector) {
  return absl::StrCat("(document.querySelector(", json(selector).dump(),
                      ")?.innerText.replace(/\\s+/g, ' ') ?? '')");
}

}  // namespace

Browser::Browser() {
  Start();
  const std::string target =
      Call("Target.createTarget", {{"url", "about:blank"}})["targetId"].get<std::string>();
  session_ = Call("Target.attachToTarget", {{"targetId", target}, {"flatten", true}})["sessionId"];
  for (const char* domain : {"Page.enable", "Runtime.enable", "Log.enable"}) Call(domain);
  SetSize(1440, 900);
  SetScheme("dark");
}

Browser::~Browser() {
  close(to_);
  close(from_);
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
}

void Browser::Start() {
  int commands[2];
  int answers[2];
  if (pipe2(commands, O_CLOEXEC) != 0 || pipe2(answers, O_CLOEXEC) != 0)
    throw std::runtime_error("pipe failed");
  // Not Debian's script around it, which would be another process to end.
  const std::vector<std::string> command = {"/usr/lib/chromium/chromium",
                                            "--headless",
                                            "--no-sandbox",
                                            "--disable-gpu",
                                            "--hide-scrollbars",
                                            "--no-first-run",
                                            "--disable-background-networking",
                                            "--disable-component-update",
                                            "--disable-dev-shm-usage",
                                            "--force-device-scale-factor=1",
                                            "--remote-debugging-pipe",
                                            "--user-data-dir=" + folder_.path()};
  if (!std::filesystem::exists(command[0]))
    throw std::runtime_error("no Chromium: run deploy/install-packages");
  pid_ = fork();
  if (pid_ == 0) Become(command, commands[0], answers[1]);
  close(commands[0]);
  close(answers[1]);
  to_ = commands[1];
  from_ = answers[0];
}

void Browser::SetSize(int width, int height) {
  Call("Emulation.setDeviceMetricsOverride",
       {{"width", width}, {"height", height}, {"deviceScaleFactor", 1}, {"mobile", false}});
}

void Browser::SetScheme(const std::string& scheme) {
  Call("Emulation.setEmulatedMedia",
       {{"features", json::array({{{"name", "prefers-color-scheme"}, {"value", scheme}}})}});
}

void Browser::Open(const std::string& url) { Call("Page.navigate", {{"url", url}}); }

json Browser::Evaluate(const std::string& expression) {
  const json answer =
      Call("Runtime.evaluate",
           {{"expression", expression}, {"returnByValue", true}, {"awaitPromise", true}});
  if (answer.contains("exceptionDetails"))
    throw std::runtime_error(absl::StrCat(expression, ": ", answer["exceptionDetails"].dump()));
  return answer["result"].value("value", json());
}

void Browser::Await(const std::string& expression) {
  const std::string safe = absl::StrCat("(() => { try { return Boolean(", expression,
                                        "); } catch { return false; } })()");
  Until(
      [&] {
        if (Evaluate(safe) == true) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        return false;
      },
      expression);
}

void Browser::AwaitText(const std::string& selector, const std::string& part) {
  Await(absl::StrCat(TextOf(selector), ".includes(", json(part).dump(), ")"));
}

std::string Browser::Text(const std::string& selector) { return Evaluate(TextOf(selector)); }

int Browser::Count(const std::string& selector) {
  return Evaluate(absl::StrCat("document.querySelectorAll(", json(selector).dump(), ").length"));
}

void Browser::Screenshot(const std::string& path) {
  // What is pending is painted first.
  Evaluate(
      "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))");
  const std::string data =
      Call("Page.captureScreenshot", {{"format", "png"}})["data"].get<std::string>();
  std::string bytes;
  if (!absl::Base64Unescape(data, &bytes)) throw std::runtime_error("no picture");
  std::ofstream(path, std::ios::binary) << bytes;
}

json Browser::Call(const std::string& method, json parameters) {
  json command = {{"id", ++last_id_}, {"method", method}, {"params", std::move(parameters)}};
  if (!session_.empty()) command["sessionId"] = session_;
  std::string bytes = command.dump();
  bytes += '\0';
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t size = write(to_, bytes.data() + sent, bytes.size() - sent);
    if (size <= 0) throw std::runtime_error("Chromium is gone");
    sent += static_cast<size_t>(size);
  }
  while (true) {
    json message = Read();
    if (message.value("id", 0) != last_id_) {
      Note(message);
      continue;
    }
    if (message.contains("error"))
      throw std::runtime_error(absl::StrCat(method, ": ", message["error"].dump()));
    return message["result"];
  }
}

json Browser::Read() {
  const auto patience = std::chrono::duration_cast<std::chrono::milliseconds>(kPatience);
  while (true) {
    if (const size_t end = received_.find('\0'); end != std::string::npos) {
      json message = json::parse(received_.substr(0, end));
      received_.erase(0, end + 1);
      return message;
    }
    pollfd waits{from_, POLLIN, 0};
    if (poll(&waits, 1, static_cast<int>(patience.count())) <= 0)
      throw std::runtime_error("Chromium does not answer");
    char buffer[65536];
    const ssize_t size = read(from_, buffer, sizeof(buffer));
    if (size <= 0) throw std::runtime_error("Chromium is gone");
    received_.append(buffer, static_cast<size_t>(size));
  }
}

void Browser::Note(const json& event) {
  const std::string method = event.value("method", "");
  if (method == "Runtime.exceptionThrown") {
    errors_.push_back(event["params"]["exceptionDetails"].dump());
  } else if (method == "Log.entryAdded" && event["params"]["entry"]["level"] == "error") {
    errors_.push_back(event["params"]["entry"].dump());
  } else if (method == "Runtime.consoleAPICalled" && event["params"]["type"] == "error") {
    errors_.push_back(event["params"]["args"].dump());
  }
}

std::string ScreenshotFile(absl::string_view name) {
  const char* folder = std::getenv("MUSTER_SCREENSHOTS");
  const std::string where = folder == nullptr ? "/tmp/muster-screenshots" : folder;
  std::filesystem::create_directories(where);
  return absl::StrCat(where, "/", name, ".png");
}

}  // namespace muster::testing
