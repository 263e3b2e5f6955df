#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace muster::testing {

// A program that runs beside the test. The destructor kills it if it still runs. Its stdout and
// stderr go to a file.
class Child {
 public:
  // `command[0]` is the program's path. Throws when it cannot be started.
  Child(const std::vector<std::string>& command, const std::string& output_file);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Sends SIGKILL and waits for the end.
  void Kill();
  // Sends SIGTERM, waits for the end, returns the exit code (128 + signal when a signal ended it).
  int Terminate();
  // Throws if it has ended: a signal to the process -1 would reach every program of the machine.
  void Signal(int signal);
  bool running();
  // The exit code (as Terminate's) of one that ended though neither Kill nor Terminate was called
  // while it ran. Terminate, which tells its code, settles that.
  std::optional<int> EndOfItsOwn();
  // -1 once its end was seen.
  pid_t pid() const { return pid_; }

 private:
  int Reap(bool block);

  pid_t pid_ = -1;
  int exit_code_ = -1;
  bool ended_itself_ = false;
};

struct Finished {
  int exit_code = -1;
  std::string output = {};  // stdout and stderr
};
// Runs a program and waits for its end.
Finished RunProgram(const std::vector<std::string>& command);

// A program of this build, e.g. Binary("musterd").
std::string Binary(const std::string& name);

}  // namespace muster::testing
