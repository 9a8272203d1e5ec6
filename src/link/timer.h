#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace grpc {
class Alarm;
}  // namespace grpc

namespace berth::link {

// Calls back once, on a thread of gRPC, by the monotonic clock. What is called must hold what it
// needs: it can be under way while the timer is stopped or destroyed.
class Timer {
 public:
  Timer();
  ~Timer();

  // Replaces what was set before.
  void set(std::chrono::milliseconds after, std::function<void()> then);
  void stop();

 private:
  std::unique_ptr<grpc::Alarm> alarm_;
};

}  // namespace berth::link
