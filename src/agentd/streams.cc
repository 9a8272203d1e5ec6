#include "agentd/streams.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <optional>
#include <utility>

#include "codec/wire.h"
#include "link/stream_window.h"
#include "shell/clock.h"
#include "shell/mailbox.h"

namespace berth::agentd {
namespace {

constexpr std::size_t kStreamsMax = 32;
constexpr std::size_t kInputsMax = 256;
constexpr Duration kPausePerPiece = 8ms;  // where nobody counts: about 4 MiB a second
constexpr Duration kLogWait = 300ms;
constexpr Duration kInputWait = 300ms;
constexpr std::size_t kCommandBytesMax = 128u << 10;

// Reasons are tokens.
std::string_view reason_of(Code code) {
  switch (code) {
    case Code::InvalidInput: return "InvalidInput";
    case Code::NotFound: return "NotFound";
    case Code::Exhausted: return "Exhausted";
    default: return "Unavailable";
  }
}

v1::Problem problem_of(const Error& error) {
  v1::Problem problem;
  problem.set_reason(std::string(reason_of(error.code)));
  problem.set_message(error.message);
  return problem;
}

runtime::ExecRequest request_of(const v1::OpenExec& message) {
  const auto size = [](std::uint32_t told, std::uint16_t otherwise) {
    return told == 0 ? otherwise : static_cast<std::uint16_t>(std::min(told, 1000u));
  };
  runtime::ExecRequest request;
  request.command.assign(message.command().begin(), message.command().end());
  request.terminal = message.terminal();
  request.rows = size(message.rows(), 24);
  request.columns = size(message.columns(), 80);
  return request;
}

Result<void> check_command(const v1::OpenExec& message) {
  std::size_t bytes = 0;
  for (const std::string& word : message.command()) bytes += word.size() + 1;
  if (message.command().empty()) return invalid_input("no command to run");
  if (bytes > kCommandBytesMax) return invalid_input("the command is too long");
  return {};
}

}  // namespace

// One stream, its thread and what came for it.
class Streams::Stream {
 public:
  enum class EndMeans { Everything, Input };

  Stream(Name name, EndMeans end_means, std::size_t window, const StreamEnds& ends)
      : name_(name),
        end_means_(end_means),
        ends_(ends),
        is_counted_(window > 0),
        input_(kInputsMax),
        room_(window) {}

  const Name& name() const { return name_; }

  void run(std::function<void(Stream&)> body) {
    thread_ = std::thread([this, body = std::move(body)] {
      body(*this);
      close();
      done_ = true;
    });
  }
  void join() {
    if (thread_.joinable()) thread_.join();
  }
  bool is_done() const { return done_; }

  // From the other side. Much more input than was granted ends the stream.
  void put(v1::StreamData piece) {
    const bool is_over = piece.end() && end_means_ == EndMeans::Everything;
    if (is_over || piece.has_error()) stop_listening();
    untaken_ += piece.data().size();
    if (untaken_ <= link::kInputBytesMax && input_.post(std::move(piece))) return;
    send_error({Code::Exhausted, "more input came than the program takes; wait for credit"});
    close();
  }
  void grant(std::size_t bytes) {
    {
      const std::lock_guard lock(mutex_);
      room_ += std::min(bytes, link::kOutputWindow);
    }
    room_changed_.notify_all();
  }
  bool has_input() const { return !input_.empty(); }
  std::vector<v1::StreamData> take_input() { return input_.take(std::nullopt); }

  // Nobody listens any more, or nothing follows.
  void close() {
    stop_listening();
    input_.close();
  }
  bool is_closed() const { return input_.closed(); }

  // What is said from now on is dropped, but for how it ended.
  void stop_listening() {
    {
      const std::lock_guard lock(mutex_);
      is_listened_to_ = false;
    }
    room_changed_.notify_all();
  }
  bool is_listened_to() const {
    const std::lock_guard lock(mutex_);
    return is_listened_to_;
  }

  // In pieces, and not faster than they are taken: who produces too fast waits here.
  void send_data(std::string_view data, bool from_stderr) {
    while (!data.empty()) {
      const std::string_view part = data.substr(0, link::kPieceBytes);
      data.remove_prefix(part.size());
      if (!use_room(link::cost_of_piece(part.size()))) return;
      v1::StreamData piece;
      piece.set_data(std::string(part));
      piece.set_from_stderr(from_stderr);
      send(std::move(piece));
    }
  }
  // The program has taken so much of its input.
  void grant_input(std::size_t bytes) {
    untaken_ -= bytes;
    input_taken_ += bytes;
    if (input_taken_ < link::kInputGrant) return;
    v1::StreamData piece;
    piece.set_credit(static_cast<std::uint32_t>(std::exchange(input_taken_, 0)));
    send(std::move(piece));
  }
  void send_end() {
    v1::StreamData piece;
    piece.set_end(true);
    send(std::move(piece));
  }
  void send_error(const Error& error) {
    v1::StreamData piece;
    *piece.mutable_error() = problem_of(error);
    send(std::move(piece));
  }
  void send_exit_code(std::int32_t code) {
    v1::StreamData piece;
    piece.set_exit_code(code);
    send(std::move(piece));
  }

 private:
  void send(v1::StreamData piece) {
    if (is_closed()) return;
    piece.set_stream(name_.second);
    v1::FromAgent message;
    *message.mutable_stream() = std::move(piece);
    ends_.send(name_.first, std::move(message));
  }

  // Waits for it. False: nobody listens.
  bool use_room(std::size_t cost) {
    if (!is_counted_) return !input_.wait_for_close(shell::now() + kPausePerPiece);
    std::unique_lock lock(mutex_);
    room_changed_.wait(lock, [&] { return !is_listened_to_ || room_ >= cost; });
    if (!is_listened_to_) return false;
    room_ -= cost;
    return true;
  }

  const Name name_;
  const EndMeans end_means_;
  const StreamEnds& ends_;
  const bool is_counted_;
  shell::Mailbox<v1::StreamData> input_;
  std::atomic<std::size_t> untaken_ = 0;  // bytes of input
  std::size_t input_taken_ = 0;           // and not yet granted; of the stream's thread
  std::atomic<bool> done_ = false;
  std::thread thread_;

  mutable std::mutex mutex_;  // of all below
  std::condition_variable room_changed_;
  std::size_t room_;  // what may still be sent
  bool is_listened_to_ = true;
};

Streams::~Streams() {
  for (const auto& [name, stream] : streams_) stream->close();
  for (const auto& [name, stream] : streams_) stream->join();
}

void Streams::open_logs(std::uint64_t connection, const v1::OpenLogs& request) {
  const Name name{connection, request.stream()};
  open(std::make_shared<Stream>(name, Stream::EndMeans::Everything, request.window(), ends_),
       request.key(), [this, request](Stream& stream, const model::InstanceKey& key) {
         run_log(stream, key, request);
       });
}

void Streams::open_exec(std::uint64_t connection, const v1::OpenExec& request) {
  const Name name{connection, request.stream()};
  const auto end_means =
      request.terminal() ? Stream::EndMeans::Everything : Stream::EndMeans::Input;
  open(std::make_shared<Stream>(name, end_means, request.window(), ends_), request.key(),
       [this, request](Stream& stream, const model::InstanceKey& key) {
         run_exec(stream, key, request);
       });
}

void Streams::open(std::shared_ptr<Stream> stream, const v1::InstanceKey& key,
                   std::function<void(Stream&, const model::InstanceKey&)> body) {
  const std::lock_guard lock(mutex_);
  reap();
  if (streams_.contains(stream->name())) return;  // said twice
  const auto known = codec::from_wire(key);
  if (!known) return stream->send_error(known.error());
  if (streams_.size() >= kStreamsMax) {
    return stream->send_error({Code::Exhausted, "too many logs and sessions are open on the node"});
  }
  streams_.emplace(stream->name(), stream);
  stream->run([key = *known, body = std::move(body)](Stream& self) { body(self, key); });
}

void Streams::receive(std::uint64_t connection, v1::StreamData piece) {
  const std::lock_guard lock(mutex_);
  reap();
  const auto found = streams_.find({connection, piece.stream()});
  if (found == streams_.end()) return;
  piece.credit() > 0 ? found->second->grant(piece.credit()) : found->second->put(std::move(piece));
}

void Streams::disconnected(std::uint64_t connection) {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, stream] : streams_) {
    if (name.first == connection) stream->close();
  }
  reap();
}

std::size_t Streams::open() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::count_if(streams_.begin(), streams_.end(),
                    [](const auto& entry) { return !entry.second->is_done(); }));
}

// Threads that have ended are joined by the next who comes by.
void Streams::reap() {
  std::erase_if(streams_, [](const auto& entry) {
    if (!entry.second->is_done()) return false;
    entry.second->join();
    return true;
  });
}

void Streams::run_log(Stream& stream, const model::InstanceKey& key,
                      const v1::OpenLogs& request) const {
  const std::size_t lines = request.tail() == 0 ? runtime::LogReader::kAllLines : request.tail();
  const auto read = ends_.open_log(key, lines);
  if (!read) return stream.send_error(read.error());
  // The only thing that can come for a log is its end.
  const auto is_over = [&stream] { return stream.is_closed() || stream.has_input(); };
  while (!is_over()) {
    const std::vector<runtime::LogLine> found = (*read)(request.follow() ? kLogWait : Duration{});
    if (found.empty() && !request.follow()) break;
    std::string text;
    bool from_stderr = false;
    for (const runtime::LogLine& line : found) {
      if (line.from_stderr != from_stderr) stream.send_data(std::exchange(text, {}), from_stderr);
      from_stderr = line.from_stderr;
      text += line.text;
      if (!line.is_partial) text += '\n';
    }
    stream.send_data(text, from_stderr);
  }
  stream.send_end();
  malloc_trim(0);  // a long log took a lot, and this program lives for years
}

// A session waits for its output to be taken, also when it is to go.
class Streams::StopListening {
 public:
  explicit StopListening(Stream& stream) : stream_(stream) {}
  ~StopListening() { stream_.stop_listening(); }
  StopListening(const StopListening&) = delete;
  StopListening& operator=(const StopListening&) = delete;

 private:
  Stream& stream_;
};

// Waits for a program that is slow to read. One that no longer reads may still have something to
// say.
void Streams::pass_input(Stream& stream, runtime::ExecSession& session, std::string_view input) {
  const std::size_t size = input.size();
  while (!input.empty() && stream.is_listened_to()) {
    const auto taken = session.write(input, kInputWait);
    if (!taken) break;
    input.remove_prefix(*taken);
  }
  stream.grant_input(size);
}

void Streams::run_exec(Stream& stream, const model::InstanceKey& key,
                       const v1::OpenExec& request) const {
  if (const auto checked = check_command(request); !checked) {
    return stream.send_error(checked.error());
  }
  runtime::ExecListener listener;
  listener.output = [&stream](std::string_view output, bool from_stderr) {
    stream.send_data(output, from_stderr);
  };
  listener.ended = [&stream](std::int32_t exit_code) {
    stream.send_exit_code(exit_code);
    stream.close();
  };
  const auto session = ends_.exec(key, request_of(request), std::move(listener));
  if (!session) return stream.send_error(session.error());
  const StopListening before_the_session_goes(stream);
  bool input_ended = false;
  while (!stream.is_closed()) {
    for (const v1::StreamData& piece : stream.take_input()) {
      if (piece.rows() > 0 && piece.columns() > 0) {
        (*session)->resize(static_cast<std::uint16_t>(std::min(piece.rows(), 1000u)),
                           static_cast<std::uint16_t>(std::min(piece.columns(), 1000u)));
      }
      if (!piece.data().empty()) pass_input(stream, **session, piece.data());
      if (!piece.end()) continue;
      if (request.terminal() || piece.has_error() || input_ended) return;
      (*session)->close_input();
      input_ended = true;
    }
  }
}

}  // namespace berth::agentd
