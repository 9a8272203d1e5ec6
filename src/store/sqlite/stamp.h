#pragma once

#include <cstdint>

namespace berth::store {

// Tells one state of a store from every other. Written with each commit, in the same transaction.
struct Stamp {
  std::uint64_t history = 0;   // drawn when a store is begun, recovered or restored; 0: not known
  std::uint64_t succeeds = 0;  // the history whose place this one has taken; 0: none
  std::uint64_t sequence = 0;  // how many commits there were; grows by one
  std::uint64_t count = 0;     // of records
  std::uint64_t digest = 0;    // the sum of their checksums, so that each commit can keep it up

  friend bool operator==(const Stamp&, const Stamp&) = default;
};

}  // namespace berth::store
