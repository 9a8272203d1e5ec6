#pragma once

#include <initializer_list>
#include <map>
#include <utility>

#include "base/hash_index.h"

namespace berth {

// A map that is walked in the order of its keys, as std::map, and finds a key in constant time, as
// std::unordered_map. For tables that are asked for single entries all the time and are large: the
// lookups of an ordered map are one cache miss per level. Nothing can be told from the order of
// hashes, since it is never walked in that order.
template <class Key, class Value>
class IndexedMap {
  using Ordered = std::map<Key, Value>;

 public:
  using key_type = Key;
  using mapped_type = Value;
  using value_type = typename Ordered::value_type;
  using iterator = typename Ordered::iterator;
  using const_iterator = typename Ordered::const_iterator;

  IndexedMap() = default;
  IndexedMap(std::initializer_list<value_type> entries) : ordered_(entries) { reindex(); }
  IndexedMap(const IndexedMap& other) : ordered_(other.ordered_) { reindex(); }
  IndexedMap(IndexedMap&& other) noexcept {  // the nodes of a map do not move
    ordered_.swap(other.ordered_);
    index_.swap(other.index_);
  }
  IndexedMap& operator=(IndexedMap other) noexcept {
    ordered_.swap(other.ordered_);
    index_.swap(other.index_);
    return *this;
  }
  ~IndexedMap() = default;

  iterator begin() { return ordered_.begin(); }
  iterator end() { return ordered_.end(); }
  const_iterator begin() const { return ordered_.begin(); }
  const_iterator end() const { return ordered_.end(); }
  const_iterator lower_bound(const Key& key) const { return ordered_.lower_bound(key); }
  const_iterator upper_bound(const Key& key) const { return ordered_.upper_bound(key); }

  std::size_t size() const { return ordered_.size(); }
  bool empty() const { return ordered_.empty(); }

  iterator find(const Key& key) {
    const iterator* found = index_.find(key);
    return found == nullptr ? ordered_.end() : *found;
  }
  const_iterator find(const Key& key) const {
    const iterator* found = index_.find(key);
    return found == nullptr ? ordered_.end() : const_iterator(*found);
  }
  bool contains(const Key& key) const { return index_.find(key) != nullptr; }
  Value& at(const Key& key) { return index_.at(key)->second; }
  const Value& at(const Key& key) const { return index_.at(key)->second; }

  Value& operator[](const Key& key) { return try_emplace(key).first->second; }

  template <class... Args>
  std::pair<iterator, bool> try_emplace(const Key& key, Args&&... args) {
    if (const iterator* found = index_.find(key)) return {*found, false};
    return {add(ordered_.try_emplace(key, std::forward<Args>(args)...).first), true};
  }
  template <class... Args>
  std::pair<iterator, bool> emplace(const Key& key, Args&&... args) {
    return try_emplace(key, std::forward<Args>(args)...);
  }
  // Without a search, if it comes right before `hint`.
  iterator emplace_hint(const_iterator hint, const Key& key) {
    if (const iterator* found = index_.find(key)) return *found;
    return add(ordered_.try_emplace(hint, key));
  }
  template <class V>
  std::pair<iterator, bool> insert_or_assign(const Key& key, V&& value) {
    const iterator* found = index_.find(key);
    if (found == nullptr) return try_emplace(key, std::forward<V>(value));
    (*found)->second = std::forward<V>(value);
    return {*found, false};
  }

  std::size_t erase(const Key& key) {
    const iterator* found = index_.find(key);
    if (found == nullptr) return 0;
    erase(const_iterator(*found));
    return 1;
  }
  iterator erase(const_iterator entry) {
    index_.erase(entry->first);
    return ordered_.erase(entry);
  }
  void clear() {
    index_.clear();
    ordered_.clear();
  }

  friend bool operator==(const IndexedMap& a, const IndexedMap& b) {
    return a.ordered_ == b.ordered_;
  }

 private:
  iterator add(iterator entry) {
    index_.add(entry);
    return entry;
  }
  void reindex() {
    for (auto it = ordered_.begin(); it != ordered_.end(); ++it) add(it);
  }

  Ordered ordered_;
  HashIndex<Key, iterator> index_;
};

template <class Key, class Value, class Predicate>
std::size_t erase_if(IndexedMap<Key, Value>& map, Predicate predicate) {
  std::size_t erased = 0;
  for (auto it = map.begin(); it != map.end();) {
    if (predicate(*it)) {
      it = map.erase(it);
      ++erased;
    } else {
      ++it;
    }
  }
  return erased;
}

}  // namespace berth
