#pragma once

#include <ios>
#include <streambuf>
#include <string>
#include <utility>

namespace muster::testing {

// A disk that has the first page of a file, and fails at the next.
class BrokenDisk final : public std::streambuf {
 public:
  explicit BrokenDisk(std::string page) : page_(std::move(page)) {
    setg(page_.data(), page_.data(), page_.data() + page_.size());
  }

 protected:
  int_type underflow() override { throw std::ios_base::failure("the disk fails"); }

 private:
  std::string page_;
};

}  // namespace muster::testing
