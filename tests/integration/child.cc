#include "tests/integration/child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>

namespace muster::testing {
namespace {

[[noreturn]] void Become(const std::vector<std::string>& command, int output) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execv(words[0], words.data());
  _exit(127);
}

int ExitCode(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Child::Child(const std::vector<std::string>& command, const std::string& output_file) {
  const int output = open(output_file.c_str(), O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0600);
  if (output < 0) throw std::runtime_error("cannot write " + output_file);
  pid_ = fork();
  if (pid_ == 0) Become(command, output);
  close(output);
  if (pid_ < 0) throw std::runtime_error("fork failed");
}

Child::~Child() { Kill(); }

int Child::Reap(bool block) {
  if (pid_ < 0) return exit_code_;
  int status = 0;
  if (waitpid(pid_, &status, block ? 0 : WNOHANG) == pid_) {
    pid_ = -1;
    exit_code_ = ExitCode(status);
  }
  return exit_code_;
}

void Child::Kill() {
  if (!running()) return;
  kill(pid_, SIGKILL);
  Reap(true);
}

int Child::Terminate() {
  if (pid_ >= 0) kill(pid_, SIGTERM);
  ended_itself_ = false;
  return Reap(true);
}

void Child::Signal(int signal) {
  if (!running()) throw std::runtime_error("the program has ended");
  if (kill(pid_, signal) != 0) throw std::runtime_error("the signal was not sent");
}

bool Child::running() {
  if (pid_ < 0) return false;
  Reap(false);
  if (pid_ < 0) ended_itself_ = true;
  return pid_ >= 0;
}

std::optional<int> Child::EndOfItsOwn() {
  running();
  return ended_itself_ ? std::optional<int>(exit_code_) : std::nullopt;
}

Finished RunProgram(const std::vector<std::string>& command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe failed");
  const pid_t pid = fork();
  if (pid == 0) Become(command, ends[1]);
  close(ends[1]);
  Finished finished;
  char buffer[4096];
  ssize_t size = 0;
  while ((size = read(ends[0], buffer, sizeof(buffer))) > 0)
    finished.output.append(buffer, static_cast<size_t>(size));
  close(ends[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  finished.exit_code = ExitCode(status);
  return finished;
}

std::string Binary(const std::string& name) {
  const char* folder = std::getenv("MUSTER_BIN");
  if (folder == nullptr)
    throw std::runtime_error("MUSTER_BIN is not set: run the tests with ctest");
  return std::string(folder) + "/" + name;
}

}  // namespace muster::testing
