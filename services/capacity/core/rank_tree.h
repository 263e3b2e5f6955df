#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ext/pb_ds/assoc_container.hpp>
#include <functional>
#include <utility>

namespace muster::capacity {

// How a RankTree sums up its nodes: the policy that the standard library's tree asks for.
template <class Sum>
struct SumPolicy {
  template <class ConstNode, class Node, class Compare, class Allocator>
  class Update {
   public:
    using metadata_type = Sum;

    void operator()(Node node, ConstNode end) const {
      Sum sum = (*node)->second;
      for (const ConstNode child : {ConstNode(node.get_l_child()), ConstNode(node.get_r_child())}) {
        if (child != end) sum += child.get_metadata();
      }
      const_cast<Sum&>(node.get_metadata()) = sum;
    }

    Sum Total() const { return SumOf(node_begin()); }

    template <class Key>
    Sum Before(const Key& key) const {
      Sum sum = {};
      for (ConstNode node = node_begin(); node != node_end();) {
        if ((*node)->first < key) {
          sum += (*node)->second;
          sum += SumOf(node.get_l_child());
          node = node.get_r_child();
        } else {
          node = node.get_l_child();
        }
      }
      return sum;
    }

    // The first entry up to which, itself included, the sum of `size` is more than `nth`.
    template <class Key, class Size>
    const std::pair<const Key, Sum>* At(int64_t nth, const Size& size) const {
      for (ConstNode node = node_begin(); node != node_end();) {
        const int64_t before = size(SumOf(node.get_l_child()));
        if (nth < before) {
          node = node.get_l_child();
          continue;
        }
        nth -= before + size((*node)->second);
        if (nth < 0) return &**node;
        node = node.get_r_child();
      }
      return nullptr;
    }

   protected:
    virtual ~Update() = default;

   private:
    virtual ConstNode node_begin() const = 0;
    virtual ConstNode node_end() const = 0;

    Sum SumOf(ConstNode node) const {
      return node == node_end() ? Sum{} : Sum(node.get_metadata());
    }
  };
};

// An ordered map that knows the sum of its values before any key. Every operation costs O(log n).
// Sum: default is zero, has operator+= and operator==.
template <class Key, class Sum>
class RankTree {
 public:
  using Entry = std::pair<const Key, Sum>;

  RankTree() = default;
  RankTree(const RankTree&) = default;
  RankTree(RankTree&& other) noexcept { tree_.swap(other.tree_); }
  RankTree& operator=(RankTree other) noexcept {
    tree_.swap(other.tree_);
    return *this;
  }
  ~RankTree() = default;

  // There must be no such key.
  void Insert(const Key& key, const Sum& value) { tree_.insert({key, value}); }
  void Erase(const Key& key) { tree_.erase(key); }
  // Null: there is none.
  const Sum* Find(const Key& key) const {
    const auto it = tree_.find(key);
    return it == tree_.end() ? nullptr : &it->second;
  }
  // The first entry after `after` (null: from the start). Null: there is none.
  const Entry* First(const Key* after = nullptr) const {
    const auto it = after == nullptr ? tree_.begin() : tree_.upper_bound(*after);
    return it == tree_.end() ? nullptr : &*it;
  }
  // The first entry up to which, itself included, the sum of `size` (int64_t, of a Sum) is more
  // than `nth`. Null: there is none.
  template <class Size>
  const Entry* At(int64_t nth, const Size& size) const {
    return tree_.template At<Key>(nth, size);
  }

  Sum Total() const { return tree_.Total(); }
  // Of all entries before `key`, whether it is there or not.
  Sum Before(const Key& key) const { return tree_.Before(key); }

  auto begin() const { return tree_.begin(); }
  auto end() const { return tree_.end(); }
  bool empty() const { return tree_.empty(); }
  size_t size() const { return tree_.size(); }

  bool operator==(const RankTree& other) const {
    return size() == other.size() && std::equal(begin(), end(), other.begin());
  }

 private:
  __gnu_pbds::tree<Key, Sum, std::less<Key>, __gnu_pbds::rb_tree_tag,
                   SumPolicy<Sum>::template Update>
      tree_;
};

}  // namespace muster::capacity
