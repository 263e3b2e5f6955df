#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace muster::testing {

// A program that runs beside the test; killed at the latest with this object. Its stderr and stdout
// go to a file.
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
  bool running();
  // Of the program; -1 once it has ended.
  pid_t pid() const { return pid_; }

 private:
  int Reap(bool block);

  pid_t pid_ = -1;
  int exit_code_ = -1;
};

// Runs a program to its end; its output (stdout and stderr) and exit code.
struct Finished {
  int exit_code = -1;
  std::string output = {};
};
Finished RunProgram(const std::vector<std::string>& command);

// A program of this build, e.g. Binary("musterd").
std::string Binary(const std::string& name);

}  // namespace muster::testing
