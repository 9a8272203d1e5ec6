#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "berth/v1/agent.pb.h"
#include "berth/v1/api.pb.h"
#include "controld/api/call.h"
#include "model/ids.h"

namespace berth::controld {

// Logs and exec sessions: carries pieces between callers of the API and agents, by the number of
// the stream. An agent may send on as the caller takes what came; see link/stream_window.h. When
// one side goes away, the other is told and the stream forgotten. Safe to call from any thread.
class StreamRelay {
 public:
  static constexpr std::size_t kOpenMax = 1000;

  using Send = std::function<void(std::uint64_t connection, v1::ToAgent message)>;

  explicit StreamRelay(Send send) : send_(std::move(send)) {}

  // Where the instance is.
  struct Target {
    model::InstanceKey key;
    std::string node;
    std::uint64_t connection = 0;
  };

  void open_logs(const Target& target, const v1::LogsRequest& request, const api::CallPtr& call);
  void open_exec(const Target& target, const v1::ExecInput& request, const api::CallPtr& call);

  // From an agent. Pieces of streams that are not this connection's are ignored.
  void received(std::uint64_t connection, const v1::StreamData& piece);
  void disconnected(std::uint64_t connection);

  // Ends all of them.
  void close();

  std::size_t open() const;

 private:
  struct Stream {
    api::CallPtr call;
    std::uint64_t connection = 0;
    std::string node;
    std::size_t taken = 0;  // by the caller, and not yet granted to the agent
  };

  // 0: there are too many.
  std::uint64_t add(const Target& target, const api::CallPtr& call);
  void input(std::uint64_t id, std::uint64_t connection, const v1::ExecInput* input);
  void taken(std::uint64_t id, std::size_t cost);
  void call_is_over(std::uint64_t id);

  const Send send_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, Stream> streams_;
  std::uint64_t last_id_ = 0;
};

}  // namespace berth::controld
