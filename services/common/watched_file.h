#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "services/common/log.h"
#include "services/common/mutex.h"
#include "services/common/read_file.h"
#include "services/common/status_macros.h"
#include "services/common/stopper.h"

namespace muster {

// How often a watched file has changed.
struct FileReloads {
  int64_t taken = 0;         // how often its contents were put to use, the first time included
  int64_t refused = 0;       // how often it changed into something that cannot be used
  bool refused_now = false;  // it cannot be used as it is now, and its last usable contents count
};

// A T made of a file's text, made anew whenever the file changes. The file is read every
// `interval`. New contents count once two looks have found the same, and if `parse` takes them;
// until then the last usable ones do. Thread-safe.
template <class T>
class WatchedFile {
 public:
  struct Options {
    std::string path = {};
    std::string what = {};  // for the log: `policy`
    absl::Duration interval = absl::Seconds(1);
    // Makes a T of the file's text; nullopt: the file cannot be read.
    std::function<absl::StatusOr<std::shared_ptr<const T>>(const std::optional<std::string>& text)>
        parse = {};
    // For the log: names the T that counts now.
    std::function<std::string(const T&)> name = {};
  };

  // Errors of `parse`.
  static absl::StatusOr<std::unique_ptr<WatchedFile>> Create(Options options) {
    std::unique_ptr<WatchedFile> made(new WatchedFile(std::move(options)));
    RETURN_IF_ERROR(made->Reload());
    made->thread_ = std::thread([raw = made.get()] { raw->Run(); });
    return made;
  }
  ~WatchedFile() { Stop(); }

  // Never null.
  std::shared_ptr<const T> current() const {
    MutexLock lock(mutex_);
    return current_;
  }
  FileReloads reloads() const {
    MutexLock lock(mutex_);
    return reloads_;
  }
  // Sets what is called after a new T has begun to count, on the thread that looked. To be set
  // once.
  void OnChange(std::function<void()> changed) {
    MutexLock lock(mutex_);
    changed_ = std::move(changed);
  }

  // The file is not looked at any more, and OnChange's function not called. Idempotent.
  void Stop() {
    stopper_.Stop();
    if (thread_.joinable()) thread_.join();
  }
  // Looks now, and takes or refuses what is there at once. Errors of `parse`.
  absl::Status Reload() { return Look(false); }
  // The look that is made every `interval`. Errors of `parse`.
  absl::Status Look() { return Look(true); }

 private:
  explicit WatchedFile(Options options) : options_(std::move(options)) {}

  absl::Status Look(bool patient);
  absl::Status Take(const std::optional<std::string>& text);
  void Run();

  const Options options_;
  Mutex looking_;
  std::optional<std::string> seen_ MUSTER_GUARDED_BY(looking_);    // when last looked
  std::optional<std::string> judged_ MUSTER_GUARDED_BY(looking_);  // that was taken or refused last
  absl::Status said_ MUSTER_GUARDED_BY(looking_);                  // of judged_
  mutable Mutex mutex_;
  std::shared_ptr<const T> current_ MUSTER_GUARDED_BY(mutex_);
  FileReloads reloads_ MUSTER_GUARDED_BY(mutex_);
  std::function<void()> changed_ MUSTER_GUARDED_BY(mutex_);
  Stopper stopper_;
  std::thread thread_;
};

template <class T>
absl::Status WatchedFile<T>::Look(bool patient) {
  std::function<void()> changed;
  {
    MutexLock looking(looking_);
    const std::optional<std::string> text = ReadFile(options_.path);
    const bool settled = text == seen_;
    seen_ = text;
    // It may be half written.
    if (patient && !settled) return said_;
    const bool is_first = current() == nullptr;
    if (!is_first && text == judged_) return said_;
    judged_ = text;
    said_ = Take(text);
    if (!said_.ok() || is_first) return said_;
    MutexLock lock(mutex_);
    changed = changed_;
  }
  if (changed) changed();
  return absl::OkStatus();
}

template <class T>
absl::Status WatchedFile<T>::Take(const std::optional<std::string>& text) {
  absl::StatusOr<std::shared_ptr<const T>> made = options_.parse(text);
  MutexLock lock(mutex_);
  reloads_.refused_now = !made.ok();
  if (!made.ok()) {
    ++reloads_.refused;
    return made.status();
  }
  ++reloads_.taken;
  current_ = *std::move(made);
  return absl::OkStatus();
}

template <class T>
void WatchedFile<T>::Run() {
  while (stopper_.Sleep(options_.interval)) {
    const FileReloads before = reloads();
    const absl::Status status = Look();
    const FileReloads now = reloads();
    if (now.refused > before.refused) {
      log::Error(absl::StrCat("the new ", options_.what, " is not used, and the last stays"),
                 {{"error", status}});
    } else if (now.taken > before.taken) {
      log::Info(absl::StrCat("a new ", options_.what, " counts from now on"),
                {{"name", options_.name(*current())}});
    }
  }
}

}  // namespace muster
