#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>

namespace berth::controld::api {

// How many opens of each caller wait for an answer. Bounded, so that one who asks for very many
// takes nobody else's turn. Safe to use from any thread.
class WaitingOpens {
 public:
  static constexpr std::size_t kOfOneCaller = 1'000;

  explicit WaitingOpens(std::size_t of_one_caller = kOfOneCaller) : most_(of_one_caller) {}

  // False: as many of this caller wait as may. Else `leave` has to follow.
  [[nodiscard]] bool enter(const std::string& caller) {
    const std::lock_guard lock(mutex_);
    std::size_t& count = counts_[caller];
    if (count >= most_) return false;
    ++count;
    return true;
  }

  void leave(const std::string& caller) {
    const std::lock_guard lock(mutex_);
    const auto found = counts_.find(caller);
    if (--found->second == 0) counts_.erase(found);
  }

  std::size_t most() const { return most_; }

 private:
  const std::size_t most_;
  std::mutex mutex_;
  std::map<std::string, std::size_t> counts_;
};

}  // namespace berth::controld::api
