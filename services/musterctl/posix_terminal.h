#pragma once

#include <signal.h>
#include <termios.h>

#include <array>
#include <optional>
#include <vector>

#include "services/musterctl/commands/terminal.h"

namespace muster::musterctl {

// The process's terminal. At most one may be entered at a time: from Enter to Leave it handles the
// signals that end, stop or resize the process.
class PosixTerminal final : public Terminal {
 public:
  PosixTerminal(int in, int out) : in_(in), out_(out) {}
  ~PosixTerminal() override { PosixTerminal::Leave(); }
  PosixTerminal(const PosixTerminal&) = delete;
  PosixTerminal& operator=(const PosixTerminal&) = delete;

  // Whether the output is a terminal.
  bool exists() const;
  Size size() const override;
  void Enter() override;
  void Leave() override;
  std::vector<Key> Await(absl::Duration patience) override;

 private:
  static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};

  void Write(absl::string_view bytes) const;
  void TakeSignals();
  void GiveSignalsBack();
  // The signals received since the last call, as keys.
  std::vector<Key> Heard();

  const int in_;
  const int out_;
  bool entered_ = false;
  std::optional<termios> before_ = {};  // none: keys come from no terminal
  std::array<struct sigaction, kSignals.size()> handlers_before_ = {};
};

}  // namespace muster::musterctl
