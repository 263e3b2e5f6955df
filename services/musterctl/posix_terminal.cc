#include "services/musterctl/posix_terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace muster::musterctl {
namespace {

// The alternate screen, no cursor; and back, all attributes off.
constexpr absl::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[2J\x1b[H";
constexpr absl::string_view kLeave = "\x1b[0m\x1b[?25h\x1b[?1049l";

// Signals come to any thread; they are told to the one that waits, a byte each. For the process's
// life: a handler may be under way whenever.
int signal_pipe[2] = {-1, -1};

extern "C" void TellOfSignal(int signal) {
  const int error = errno;
  const char byte = static_cast<char>(signal);
  (void)!write(signal_pipe[1], &byte, 1);
  errno = error;
}

}  // namespace

bool PosixTerminal::exists() const { return isatty(out_) == 1; }

Terminal::Size PosixTerminal::size() const {
  winsize told = {};
  if (ioctl(out_, TIOCGWINSZ, &told) != 0 || told.ws_col == 0 || told.ws_row == 0) return {};
  return {told.ws_col, told.ws_row};
}

void PosixTerminal::Write(absl::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t written = write(out_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // nobody sees it any more
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

void PosixTerminal::TakeSignals() {
  if (signal_pipe[0] < 0 && pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) != 0) return;
  struct sigaction action = {};
  action.sa_handler = TellOfSignal;
  action.sa_flags = SA_RESTART;
  for (size_t i = 0; i < kSignals.size(); ++i)
    sigaction(kSignals[i], &action, &handlers_before_[i]);
}

void PosixTerminal::GiveSignalsBack() {
  if (signal_pipe[0] < 0) return;
  for (size_t i = 0; i < kSignals.size(); ++i)
    sigaction(kSignals[i], &handlers_before_[i], nullptr);
}

void PosixTerminal::Enter() {
  if (entered_) return;
  entered_ = true;
  TakeSignals();
  termios now = {};
  if (tcgetattr(in_, &now) == 0) {
    before_ = now;
    now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    now.c_cc[VMIN] = 1;
    now.c_cc[VTIME] = 0;
    tcsetattr(in_, TCSADRAIN, &now);
  }
  Write(kEnter);
}

void PosixTerminal::Leave() {
  if (!entered_) return;
  entered_ = false;
  Write(kLeave);
  if (before_) tcsetattr(in_, TCSADRAIN, &*before_);
  before_.reset();
  GiveSignalsBack();
}

std::vector<Key> PosixTerminal::Heard() {
  std::vector<Key> keys;
  char signals[64];
  const ssize_t count = read(signal_pipe[0], signals, sizeof(signals));
  for (ssize_t i = 0; i < count; ++i) {
    if (signals[i] == SIGWINCH) {
      keys.push_back(Key::kRedraw);
    } else if (signals[i] == SIGTSTP) {
      // Stopped as the shell knows it, with the terminal given back meanwhile.
      Leave();
      raise(SIGSTOP);
      Enter();
      keys.push_back(Key::kRedraw);
    } else {
      keys.push_back(Key::kQuit);
    }
  }
  return keys;
}

std::vector<Key> PosixTerminal::Await(absl::Duration patience) {
  // Without a terminal to read from there are no keys, only signals.
  pollfd sources[] = {{signal_pipe[0], POLLIN, 0}, {before_ ? in_ : -1, POLLIN, 0}};
  const auto milliseconds = static_cast<int>(absl::ToInt64Milliseconds(
      absl::Ceil(std::max(patience, absl::ZeroDuration()), absl::Milliseconds(1))));
  if (poll(sources, 2, milliseconds) <= 0) return {};
  if (sources[0].revents != 0) return Heard();
  char bytes[64];
  const ssize_t count = read(in_, bytes, sizeof(bytes));
  if (count > 0) return KeysOf(absl::string_view(bytes, static_cast<size_t>(count)));
  return count < 0 && errno == EINTR ? std::vector<Key>{} : std::vector<Key>{Key::kQuit};
}

}  // namespace muster::musterctl
