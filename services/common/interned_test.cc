#include "services/common/interned.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace muster {
namespace {

using Labels = std::map<std::string, std::string>;

TEST(Interned, EqualValuesAreKeptOnce) {
  const size_t before = Interned<Labels>::Alive();
  const Interned<Labels> a(Labels{{"zone", "a"}});
  const Interned<Labels> b(Labels{{"zone", "a"}});
  const Interned<Labels> other(Labels{{"zone", "b"}});
  EXPECT_EQ(&a.get(), &b.get());
  EXPECT_EQ(a, b);
  EXPECT_FALSE(a == other);
  EXPECT_EQ(a, (Labels{{"zone", "a"}}));
  EXPECT_EQ(a->at("zone"), "a");
  EXPECT_EQ(Interned<Labels>::Alive(), before + 2);
}

TEST(Interned, TheEmptyValueIsThatOfADefault) {
  const size_t before = Interned<std::string>::Alive();
  const Interned<std::string> made(std::string{});
  const Interned<std::string> none;
  EXPECT_EQ(made, none);
  EXPECT_EQ(none.get(), "");
  EXPECT_EQ(Interned<std::string>::Alive(), before);
}

TEST(Interned, WhatNobodyHasIsForgotten) {
  const size_t before = Interned<std::string>::Alive();
  {
    Interned<std::string> a(std::string("a"));
    const Interned<std::string> copy = a;
    a = std::string("b");
    EXPECT_EQ(copy.get(), "a");
    EXPECT_EQ(a.get(), "b");
    EXPECT_EQ(Interned<std::string>::Alive(), before + 2);
    const Interned<std::string> moved = std::move(a);
    EXPECT_EQ(moved.get(), "b");
  }
  EXPECT_EQ(Interned<std::string>::Alive(), before);
}

// Each value comes and goes all the time, its last owner in one thread while another makes it anew.
TEST(Interned, ThreadsShareAndForgetTheSameValues) {
  const size_t before = Interned<std::string>::Alive();
  const auto work = [] {
    for (int i = 0; i < 20'000; ++i) {
      const std::string text = absl::StrCat("value ", i % 3);
      const Interned<std::string> a(text);
      const Interned<std::string> b(text);
      ASSERT_EQ(a, b);
      ASSERT_EQ(a.get(), text);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Interned<std::string>::Alive(), before);
}

}  // namespace
}  // namespace muster
