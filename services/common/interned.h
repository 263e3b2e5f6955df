#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"
#include "services/common/mutex.h"

// Values that many rows have in common, kept once for all of them.
namespace muster {

// An immutable T that shares its memory with every equal one alive, so that equality is a
// comparison of pointers and a copy costs next to nothing. Making one hashes the T and takes a
// lock. T is a container of the standard library that Abseil can hash; an empty one takes no
// memory.
//
// One pointer in size. Thread-safe as a shared_ptr is: different objects may be used at the same
// time, even if they share a value.
template <class T>
class Interned {
 public:
  using value_type = typename T::value_type;
  using const_reference = typename T::const_reference;
  using const_iterator = typename T::const_iterator;
  using iterator = const_iterator;

  Interned() = default;
  Interned(const Interned& other) : shared_(other.shared_) {
    if (shared_ != nullptr) shared_->owners.fetch_add(1, std::memory_order_relaxed);
  }
  Interned(Interned&& other) noexcept : shared_(std::exchange(other.shared_, nullptr)) {}
  Interned& operator=(Interned other) noexcept {
    std::swap(shared_, other.shared_);
    return *this;
  }
  ~Interned() { clear(); }
  // Implicit: rows are assigned plain values.
  Interned(T value) : shared_(Pool::The().Share(std::move(value))) {}
  // From anything that a T can be made of, such as a string_view for a std::string.
  template <class From>
  requires(!std::is_same_v<From, T> && !std::is_same_v<From, Interned> &&
           (std::is_convertible_v<const From&, T> || std::is_same_v<From, absl::string_view>))
      Interned(const From& from)
      : Interned(T(from)) {}

  const T& get() const { return shared_ == nullptr ? Pool::Empty() : shared_->value; }
  operator const T&() const { return get(); }
  operator absl::string_view() const requires std::is_same_v<T, std::string> { return get(); }
  const T* operator->() const { return &get(); }
  const_iterator begin() const { return get().begin(); }
  const_iterator end() const { return get().end(); }
  size_t size() const { return get().size(); }
  bool empty() const { return shared_ == nullptr; }
  void clear() {
    Shared* const left = std::exchange(shared_, nullptr);
    if (left != nullptr && left->owners.fetch_sub(1, std::memory_order_acq_rel) == 1)
      Pool::The().Drop(left);
  }
  template <class Key>
  const auto& at(const Key& key) const {
    return get().at(key);
  }
  template <class Key>
  const_iterator find(const Key& key) const {
    return get().find(key);
  }
  template <class Key>
  bool contains(const Key& key) const {
    return get().contains(key);
  }

  bool operator==(const Interned& other) const { return shared_ == other.shared_; }
  template <class Other>
  requires(!std::is_same_v<Other, Interned>) bool operator==(const Other& other) const {
    return get() == other;
  }

  // How many different values are alive, the empty one aside.
  static size_t Alive() { return Pool::The().size(); }

 private:
  struct Shared {
    const T value;
    std::atomic<int64_t> owners = 1;

    // One more, unless the last one has gone already.
    bool Join() {
      int64_t seen = owners.load(std::memory_order_relaxed);
      while (seen != 0 && !owners.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire))
        ;
      return seen != 0;
    }
  };

  // All that are alive. It lives as long as the process: rows may be the last to go.
  class Pool {
   public:
    static Pool& The() {
      static Pool& pool = *new Pool();
      return pool;
    }
    static const T& Empty() {
      static const T& empty = *new T();
      return empty;
    }

    Shared* Share(T value) {
      if (value.empty()) return nullptr;
      MutexLock lock(mutex_);
      const auto it = entries_.find(value);
      if (it != entries_.end()) {
        if ((*it)->Join()) return *it;
        // Its last owner is about to take it out (Drop), and will find that it is not there any
        // more.
        entries_.erase(it);
      }
      return *entries_.insert(new Shared{std::move(value)}).first;
    }
    void Drop(Shared* dead) {
      {
        MutexLock lock(mutex_);
        const auto it = entries_.find(dead->value);
        if (it != entries_.end() && *it == dead) entries_.erase(it);
      }
      delete dead;
    }
    size_t size() {
      MutexLock lock(mutex_);
      return entries_.size();
    }

   private:
    struct Hash {
      using is_transparent = void;
      size_t operator()(const T& value) const { return absl::Hash<T>()(value); }
      size_t operator()(const Shared* shared) const { return (*this)(shared->value); }
    };
    struct Equal {
      using is_transparent = void;
      bool operator()(const Shared* a, const Shared* b) const { return a->value == b->value; }
      bool operator()(const Shared* a, const T& b) const { return a->value == b; }
    };

    Mutex mutex_;
    absl::flat_hash_set<Shared*, Hash, Equal> entries_ MUSTER_GUARDED_BY(mutex_);
  };

  Shared* shared_ = nullptr;
};

// A text that many rows have in common.
using Word = Interned<std::string>;

}  // namespace muster
