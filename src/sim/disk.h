#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "base/time.h"
#include "store/memory/memory_store.h"

namespace berth::sim {

// A disk with a store on it: commits take time, fail while the disk is full, and are all there or
// not at all after a crash in the middle of one. A disk that lies says that they are safe, and they
// are not: a power cut takes back some of the last.
class Disk {
 public:
  explicit Disk(Random random) : random_(random), store_(disk_) {}

  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  const store::Store& store() const { return store_; }

  // How long the next commit takes.
  Duration latency();
  Result<void> commit(const std::vector<store::Change>& batch);
  // The process or the whole machine dies while the batch is being committed.
  void crash_in(const std::vector<store::Change>& batch);
  // The machine loses power, after its processes have died. False: something was taken back.
  bool cut_power();

  // Each record is kept or lost by the draw: of 0 %, everything is lost.
  void lose(std::uint64_t kept_percent);
  // All is as it was when it was remembered last.
  void remember() { remembered_ = entries(); }
  void fall_back() { become(remembered_); }
  std::vector<store::Entry> entries() const;
  // Nothing else is on it.
  void become(const std::vector<store::Entry>& entries);

  void fill() { full_ = true; }
  void slow_down() { slow_ = true; }
  // The next commit takes very long.
  void stall() { stalls_ = true; }
  void lie() { lies_ = true; }
  void heal();

  // Whether a power cut would take back nothing.
  bool is_safe() const { return disk_.unsynced() == 0; }
  // Becomes what the other one is.
  void copy(const Disk& other) { disk_ = other.disk_; }

 private:
  Random random_;
  std::vector<store::Entry> remembered_;
  store::MemoryDisk disk_;
  store::MemoryStore store_;
  bool full_ = false;
  bool slow_ = false;
  bool stalls_ = false;
  bool lies_ = false;
};

}  // namespace berth::sim
