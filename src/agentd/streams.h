#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "berth/v1/agent.pb.h"
#include "model/ids.h"
#include "runtime/files/logs.h"
#include "runtime/runtime.h"

namespace berth::agentd {

// Gives the next lines of a log; see runtime::LogReader::read.
using ReadLog = std::function<std::vector<runtime::LogLine>(Duration wait)>;

// Where streams come from, and where they go to.
struct StreamEnds {
  std::function<Result<ReadLog>(const model::InstanceKey&, std::size_t lines)> open_log;
  std::function<Result<std::unique_ptr<runtime::ExecSession>>(
      const model::InstanceKey&, const runtime::ExecRequest&, runtime::ExecListener)>
      exec;
  std::function<void(std::uint64_t connection, v1::FromAgent)> send;
};

// Logs and exec sessions that somebody at the other end of the link looks at, each with a thread of
// its own, and not many at once. What they send waits until the other side has taken what came
// before: a log that is long, or a program that talks a lot, must not fill the queue that reports
// need too, nor anybody's memory.
//
// `end` from the other side ends a log, and a session with a terminal; of a session without one it
// ends the input, and the session when it is said again or comes with an error. All end with their
// connection. Safe to call from any thread; nothing blocks but the destructor.
class Streams {
 public:
  explicit Streams(StreamEnds ends) : ends_(std::move(ends)) {}
  ~Streams();  // nothing is sent after it

  void open_logs(std::uint64_t connection, const v1::OpenLogs& request);
  void open_exec(std::uint64_t connection, const v1::OpenExec& request);
  void receive(std::uint64_t connection, v1::StreamData piece);
  void disconnected(std::uint64_t connection);

  std::size_t open() const;

 private:
  class Stream;
  class StopListening;
  using Name = std::pair<std::uint64_t, std::uint64_t>;  // connection, stream
  using Body = std::function<void(Stream&)>;

  void open(std::shared_ptr<Stream> stream, const v1::InstanceKey& key,
            std::function<void(Stream&, const model::InstanceKey&)> body);
  void run_log(Stream& stream, const model::InstanceKey& key, const v1::OpenLogs& request) const;
  void run_exec(Stream& stream, const model::InstanceKey& key, const v1::OpenExec& request) const;
  static void pass_input(Stream& stream, runtime::ExecSession& session, std::string_view input);
  void reap();

  const StreamEnds ends_;
  mutable std::mutex mutex_;
  std::map<Name, std::shared_ptr<Stream>> streams_;
};

}  // namespace berth::agentd
