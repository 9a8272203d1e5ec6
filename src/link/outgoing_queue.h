#pragma once

#include <cstddef>
#include <deque>
#include <utility>

namespace berth::link {

// What waits to be written to a stream, the message being written at its front. Bounded. The owner
// guards it.
template <class Message>
class OutgoingQueue {
 public:
  OutgoingQueue(std::size_t messages_max, std::size_t bytes_max)
      : messages_max_(messages_max), bytes_max_(bytes_max) {}

  // False: it is full.
  [[nodiscard]] bool push(Message message) {
    const std::size_t bytes = message.ByteSizeLong();
    if (entries_.size() >= messages_max_ || bytes > bytes_max_ - bytes_) return false;
    bytes_ += bytes;
    entries_.push_back({std::move(message), bytes});
    return true;
  }

  bool empty() const { return entries_.empty(); }

  // Stays where it is until popped.
  const Message& front() const { return entries_.front().message; }

  void pop() {
    bytes_ -= entries_.front().bytes;
    entries_.pop_front();
  }

 private:
  struct Entry {
    Message message;
    std::size_t bytes;
  };

  const std::size_t messages_max_;
  const std::size_t bytes_max_;
  std::deque<Entry> entries_;
  std::size_t bytes_ = 0;
};

}  // namespace berth::link
