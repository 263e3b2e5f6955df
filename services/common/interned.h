#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"
#include "services/common/mutex.h"

// What many rows have alike, kept once for all of them.
namespace muster {

// An immutable T that shares its memory with every equal one alive, so that equality is a comparison
// of pointers and a copy costs next to nothing. Making one hashes the T and takes a lock. T is a
// container of the standard library that Abseil can hash; an empty one takes no memory.
//
// Thread-safe as a shared_ptr is: objects apart may be used at the same time, whatever they share.
template <class T>
class Interned {
 public:
  using value_type = typename T::value_type;
  using const_reference = typename T::const_reference;
  using const_iterator = typename T::const_iterator;
  using iterator = const_iterator;

  Interned() = default;
  // Implicit: rows are assigned plain values.
  Interned(T value) : value_(Pool::The().Share(std::move(value))) {}
  // What a T is made of: a text of a string.
  template <class From>
  requires(!std::is_same_v<From, T> && !std::is_same_v<From, Interned> &&
           std::is_constructible_v<T, const From&>) Interned(const From& from)
      : Interned(T(from)) {}

  const T& get() const { return value_ == nullptr ? Pool::Empty() : *value_; }
  operator const T&() const { return get(); }
  operator absl::string_view() const requires std::is_same_v<T, std::string> { return get(); }
  const T* operator->() const { return &get(); }
  const_iterator begin() const { return get().begin(); }
  const_iterator end() const { return get().end(); }
  size_t size() const { return get().size(); }
  bool empty() const { return value_ == nullptr; }
  void clear() { value_.reset(); }
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

  bool operator==(const Interned& other) const { return value_ == other.value_; }
  template <class Other>
  requires(!std::is_same_v<Other, Interned>) bool operator==(const Other& other) const {
    return get() == other;
  }

  // How many different values are alive, the empty one aside.
  static size_t Alive() { return Pool::The().size(); }

 private:
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

    std::shared_ptr<const T> Share(T value) {
      if (value.empty()) return nullptr;
      MutexLock lock(mutex_);
      const auto it = entries_.find(value);
      if (it != entries_.end()) {
        if (std::shared_ptr<const T> shared = it->shared.lock()) return shared;
        // Its last owner is about to take it out (Drop), and finds that it is not there any more.
        entries_.erase(it);
      }
      const T* own = new T(std::move(value));
      std::shared_ptr<const T> shared(own, [](const T* dead) { The().Drop(dead); });
      entries_.insert({own, shared});
      return shared;
    }
    size_t size() {
      MutexLock lock(mutex_);
      return entries_.size();
    }

   private:
    struct Entry {
      const T* value = nullptr;
      std::weak_ptr<const T> shared = {};
    };
    struct Hash {
      using is_transparent = void;
      size_t operator()(const T& value) const { return absl::Hash<T>()(value); }
      size_t operator()(const Entry& entry) const { return (*this)(*entry.value); }
    };
    struct Equal {
      using is_transparent = void;
      bool operator()(const Entry& a, const Entry& b) const { return *a.value == *b.value; }
      bool operator()(const Entry& a, const T& b) const { return *a.value == b; }
    };

    void Drop(const T* dead) {
      {
        MutexLock lock(mutex_);
        const auto it = entries_.find(*dead);
        if (it != entries_.end() && it->value == dead) entries_.erase(it);
      }
      delete dead;
    }

    Mutex mutex_;
    absl::flat_hash_set<Entry, Hash, Equal> entries_ MUSTER_GUARDED_BY(mutex_);
  };

  std::shared_ptr<const T> value_;
};

// A text that many rows have alike.
using Word = Interned<std::string>;

}  // namespace muster
