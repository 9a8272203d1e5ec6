#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/check.h"

namespace berth {

// Where the entries of a map are, by the hashes of their keys. The keys stay in the map, so that
// none is stored twice, and an entry is found with one look into the table and one at its key: in a
// large table each look is a cache miss. Not walked by anybody.
template <class Key, class Iterator>
class HashIndex {
 public:
  HashIndex() = default;
  HashIndex(const HashIndex&) = delete;  // it would be of the entries of another map
  HashIndex& operator=(const HashIndex&) = delete;

  // nullptr: there is none. Valid until something is added or erased.
  const Iterator* find(const Key& key) const {
    if (slots_.empty()) return nullptr;
    const Slot& slot = slots_[slot_of(key)];
    return slot.hash == kEmpty ? nullptr : &slot.entry;
  }
  const Iterator& at(const Key& key) const {
    const Iterator* found = find(key);
    CHECK(found != nullptr, "the key is in the map");
    return *found;
  }

  // Its key must not be there yet.
  void add(Iterator entry) {
    if ((used_ + 1) * 3 > slots_.size() * 2) grow();
    put({hash_of(entry->first), entry});
    ++used_;
  }

  // The key must be there.
  void erase(const Key& key) {
    std::size_t hole = slot_of(key);
    // Whoever was pushed aside goes back towards its home: nobody is looked for beyond a hole.
    for (std::size_t i = after(hole); slots_[i].hash != kEmpty; i = after(i)) {
      const std::size_t from_home = (i - home_of(slots_[i].hash)) & mask();
      const std::size_t from_hole = (i - hole) & mask();
      if (from_home < from_hole) continue;
      slots_[hole] = slots_[i];
      hole = i;
    }
    slots_[hole] = Slot{};
    --used_;
  }

  void clear() {
    slots_.clear();
    used_ = 0;
  }

  void swap(HashIndex& other) noexcept {
    slots_.swap(other.slots_);
    std::swap(used_, other.used_);
  }

 private:
  static constexpr std::uint64_t kEmpty = 0;

  struct Slot {
    std::uint64_t hash = kEmpty;
    Iterator entry;
  };

  // Spread over all bits, whatever std::hash does; never kEmpty.
  static std::uint64_t hash_of(const Key& key) {
    std::uint64_t hash = std::hash<Key>{}(key);
    hash = (hash ^ (hash >> 32)) * 0xd6e8feb86659fd93u;
    return (hash ^ (hash >> 32)) | (std::uint64_t{1} << 63);
  }

  std::size_t mask() const { return slots_.size() - 1; }
  std::size_t home_of(std::uint64_t hash) const { return hash & mask(); }
  std::size_t after(std::size_t slot) const { return (slot + 1) & mask(); }

  // Of the key, or the empty one where it would be.
  std::size_t slot_of(const Key& key) const {
    const std::uint64_t hash = hash_of(key);
    std::size_t i = home_of(hash);
    while (slots_[i].hash != kEmpty) {
      if (slots_[i].hash == hash && slots_[i].entry->first == key) return i;
      i = after(i);
    }
    return i;
  }

  void put(Slot slot) {
    std::size_t i = home_of(slot.hash);
    while (slots_[i].hash != kEmpty) i = after(i);
    slots_[i] = slot;
  }

  void grow() {
    std::vector<Slot> old(slots_.empty() ? 8 : slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.hash != kEmpty) put(slot);
    }
  }

  std::vector<Slot> slots_;  // a power of two, or none
  std::size_t used_ = 0;
};

}  // namespace berth
