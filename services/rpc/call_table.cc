#include "services/rpc/call_table.h"

#include <algorithm>
#include <utility>

#include "services/common/deadline.h"
#include "services/rpc/limits.h"

namespace muster::rpc {
namespace {

// Rounded up: no call expires early.
int64_t TickOf(absl::Time time) {
  const int64_t micros = absl::ToInt64Microseconds(time - absl::UnixEpoch());
  const int64_t size = absl::ToInt64Microseconds(kDeadlineTick);
  return micros / size + 1;
}

absl::Time TimeOf(int64_t tick) { return absl::UnixEpoch() + tick * kDeadlineTick; }

}  // namespace

CallTable::CallTable() : thread_([this] { Run(); }) {}

CallTable::~CallTable() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
    wake_.Signal();
  }
  thread_.join();
}

void CallTable::Add(OpenCall* call, absl::Time deadline) {
  const int64_t tick = TickOf(deadline);
  MutexLock lock(mutex_);
  OpenCall*& first = ticks_[tick];
  call->tick_ = tick;
  call->listed_ = true;
  call->previous_ = nullptr;
  call->next_ = first;
  if (first != nullptr) first->previous_ = call;
  first = call;
  if (tick < planned_) wake_.Signal();
}

void CallTable::Remove(OpenCall* call) {
  MutexLock lock(mutex_);
  if (call->listed_) Unlink(call);
}

void CallTable::Unlink(OpenCall* call) {
  call->listed_ = false;
  if (call->next_ != nullptr) call->next_->previous_ = call->previous_;
  if (call->previous_ != nullptr) {
    call->previous_->next_ = call->next_;
  } else if (call->next_ != nullptr) {
    ticks_[call->tick_] = call->next_;
  } else {
    ticks_.erase(call->tick_);
  }
}

void CallTable::ExpireAllFrom(absl::Time time, absl::Status status) {
  MutexLock lock(mutex_);
  end_ = time;
  end_status_ = std::move(status);
  wake_.Signal();
}

CallTable::Expired CallTable::TakeExpired(absl::Time now) {
  Expired expired;
  while (!ticks_.empty() && (now >= end_ || TimeOf(ticks_.begin()->first) <= now)) {
    OpenCall* call = ticks_.begin()->second;
    Unlink(call);
    if (auto held = call->weak_from_this().lock()) expired.push_back(std::move(held));
  }
  return expired;
}

void CallTable::WaitForNext(absl::Time now) {
  absl::Time next = end_;
  planned_ = INT64_MAX;
  if (!ticks_.empty()) {
    planned_ = ticks_.begin()->first;
    next = std::min(next, TimeOf(planned_));
  }
  if (next == absl::InfiniteFuture() || next <= now) {
    wake_.Wait(mutex_);
  } else {
    wake_.WaitFor(mutex_, next - now);
  }
}

void CallTable::Run() {
  for (;;) {
    Expired expired;
    absl::Status status;
    {
      MutexLock lock(mutex_);
      if (stop_) return;
      const absl::Time now = NowForDeadlines();
      expired = TakeExpired(now);
      if (expired.empty()) {
        WaitForNext(now);
        continue;
      }
      status = now >= end_
                   ? end_status_
                   : absl::DeadlineExceededError("The call was not answered before its deadline.");
    }
    for (const auto& call : expired) call->Expire(status);
  }
}

}  // namespace muster::rpc
