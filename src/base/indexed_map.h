#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <unordered_map>
#include <utility>

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
  IndexedMap(IndexedMap&& other) noexcept = default;  // the nodes of a map do not move
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

  std::size_t size() const { return ordered_.size(); }
  bool empty() const { return ordered_.empty(); }

  iterator find(const Key& key) {
    const auto found = index_.find(std::cref(key));
    return found == index_.end() ? ordered_.end() : found->second;
  }
  const_iterator find(const Key& key) const {
    const auto found = index_.find(std::cref(key));
    return found == index_.end() ? ordered_.end() : const_iterator(found->second);
  }
  bool contains(const Key& key) const { return index_.contains(std::cref(key)); }
  Value& at(const Key& key) { return index_.at(std::cref(key))->second; }
  const Value& at(const Key& key) const { return index_.at(std::cref(key))->second; }

  Value& operator[](const Key& key) { return try_emplace(key).first->second; }

  template <class... Args>
  std::pair<iterator, bool> try_emplace(const Key& key, Args&&... args) {
    if (const auto found = index_.find(std::cref(key)); found != index_.end()) {
      return {found->second, false};
    }
    return {add(ordered_.try_emplace(key, std::forward<Args>(args)...).first), true};
  }
  template <class... Args>
  std::pair<iterator, bool> emplace(const Key& key, Args&&... args) {
    return try_emplace(key, std::forward<Args>(args)...);
  }
  template <class V>
  std::pair<iterator, bool> insert_or_assign(const Key& key, V&& value) {
    const auto found = index_.find(std::cref(key));
    if (found == index_.end()) return try_emplace(key, std::forward<V>(value));
    found->second->second = std::forward<V>(value);
    return {found->second, false};
  }

  std::size_t erase(const Key& key) {
    const auto found = index_.find(std::cref(key));
    if (found == index_.end()) return 0;
    const iterator entry = found->second;
    index_.erase(found);
    ordered_.erase(entry);
    return 1;
  }
  iterator erase(const_iterator entry) {
    index_.erase(std::cref(entry->first));
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
  // The index refers to the keys in the nodes of `ordered_`: no key is stored twice.
  using KeyRef = std::reference_wrapper<const Key>;
  struct Hash {
    std::size_t operator()(KeyRef key) const { return std::hash<Key>{}(key.get()); }
  };
  struct Equal {
    bool operator()(KeyRef a, KeyRef b) const { return a.get() == b.get(); }
  };

  iterator add(iterator entry) {
    index_.emplace(std::cref(entry->first), entry);
    return entry;
  }
  void reindex() {
    for (auto it = ordered_.begin(); it != ordered_.end(); ++it) add(it);
  }

  Ordered ordered_;
  std::unordered_map<KeyRef, iterator, Hash, Equal> index_;
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
