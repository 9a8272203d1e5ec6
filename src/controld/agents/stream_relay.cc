#include "controld/agents/stream_relay.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "codec/wire.h"
#include "link/stream_window.h"

namespace berth::controld {
namespace {

const Error kTooMany{Code::Exhausted, "too many logs and exec sessions are open; close some"};

bool ends_stream(const v1::StreamData& piece) {
  return piece.end() || piece.has_error() || piece.has_exit_code();
}

v1::Output output_of(const v1::StreamData& piece) {
  v1::Output output;
  output.set_data(piece.data());
  output.set_from_stderr(piece.from_stderr());
  if (piece.has_exit_code()) output.set_exit_code(piece.exit_code());
  if (piece.has_error()) *output.mutable_error() = piece.error();
  output.set_input_credit(piece.credit());
  return output;
}

Error error_of(const v1::Problem& problem) {
  const Code code = problem.reason() == "NotFound"       ? Code::NotFound
                    : problem.reason() == "InvalidInput" ? Code::InvalidInput
                    : problem.reason() == "Exhausted"    ? Code::Exhausted
                                                         : Code::Unavailable;
  return {code, problem.message().empty() ? problem.reason() : problem.message()};
}

}  // namespace

void StreamRelay::open_logs(const Target& target, const v1::LogsRequest& request,
                            const api::CallPtr& call) {
  const std::uint64_t id = add(target, call);
  if (id == 0) return call->fail(kTooMany);
  v1::ToAgent message;
  v1::OpenLogs& open = *message.mutable_open_logs();
  open.set_stream(id);
  *open.mutable_key() = codec::to_wire(target.key);
  open.set_tail(request.tail());
  open.set_follow(request.follow());
  open.set_window(link::kOutputWindow);
  call->when_taken([this, id](std::size_t cost) { taken(id, cost); });
  send_(target.connection, std::move(message));
  call->when_over([this, id] { call_is_over(id); });
}

void StreamRelay::open_exec(const Target& target, const v1::ExecInput& request,
                            const api::CallPtr& call) {
  const std::uint64_t id = add(target, call);
  if (id == 0) return call->fail(kTooMany);
  v1::ToAgent message;
  v1::OpenExec& open = *message.mutable_open_exec();
  open.set_stream(id);
  *open.mutable_key() = codec::to_wire(target.key);
  *open.mutable_command() = request.command();
  open.set_terminal(request.terminal());
  open.set_rows(request.rows());
  open.set_columns(request.columns());
  open.set_window(link::kOutputWindow);
  call->when_taken([this, id](std::size_t cost) { taken(id, cost); });
  send_(target.connection, std::move(message));
  call->when_input([this, id, connection = target.connection](const api::Message* message_in) {
    input(id, connection, static_cast<const v1::ExecInput*>(message_in));
  });
  call->when_over([this, id] { call_is_over(id); });
}

void StreamRelay::input(std::uint64_t id, std::uint64_t connection, const v1::ExecInput* input) {
  v1::ToAgent message;
  v1::StreamData& piece = *message.mutable_stream();
  piece.set_stream(id);
  if (input == nullptr) {
    piece.set_end(true);
  } else {
    piece.set_data(input->data());
    piece.set_end(input->end());
    piece.set_rows(input->rows());
    piece.set_columns(input->columns());
  }
  send_(connection, std::move(message));
}

std::uint64_t StreamRelay::add(const Target& target, const api::CallPtr& call) {
  const std::lock_guard lock(mutex_);
  if (streams_.size() >= kOpenMax) return 0;
  streams_.emplace(++last_id_, Stream{call, target.connection, target.node, 0});
  return last_id_;
}

void StreamRelay::received(std::uint64_t connection, const v1::StreamData& piece) {
  api::CallPtr call;
  {
    const std::lock_guard lock(mutex_);
    const auto stream = streams_.find(piece.stream());
    if (stream == streams_.end() || stream->second.connection != connection) return;
    call = stream->second.call;
    if (ends_stream(piece)) streams_.erase(stream);
  }
  if (piece.has_error()) return call->fail(error_of(piece.error()));
  const std::size_t size = piece.data().size();
  const bool has_something = size > 0 || piece.has_exit_code() || piece.credit() > 0;
  const std::size_t cost = size > 0 ? link::cost_of_piece(size) : 0;
  if (has_something) call->send(api::answer_of(output_of(piece)), cost);
  if (ends_stream(piece)) call->finish();
}

// Grants the agent what the caller has taken.
void StreamRelay::taken(std::uint64_t id, std::size_t cost) {
  std::uint64_t connection = 0;
  v1::ToAgent message;
  {
    const std::lock_guard lock(mutex_);
    const auto found = streams_.find(id);
    if (found == streams_.end()) return;
    Stream& stream = found->second;
    stream.taken += cost;
    if (stream.taken < link::kOutputGrant) return;
    connection = stream.connection;
    message.mutable_stream()->set_stream(id);
    message.mutable_stream()->set_credit(
        static_cast<std::uint32_t>(std::exchange(stream.taken, 0)));
  }
  send_(connection, std::move(message));
}

void StreamRelay::disconnected(std::uint64_t connection) {
  std::vector<Stream> broken;
  {
    const std::lock_guard lock(mutex_);
    for (auto it = streams_.begin(); it != streams_.end();) {
      if (it->second.connection != connection) {
        ++it;
        continue;
      }
      broken.push_back(std::move(it->second));
      it = streams_.erase(it);
    }
  }
  for (const Stream& stream : broken) {
    stream.call->fail(
        {Code::Unavailable, fmt::format("the connection to node {} broke", stream.node)});
  }
}

// The agent is told unless it was the one who ended it.
void StreamRelay::call_is_over(std::uint64_t id) {
  std::uint64_t connection = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto stream = streams_.find(id);
    if (stream == streams_.end()) return;
    connection = stream->second.connection;
    streams_.erase(stream);
  }
  // More than the end of input: whoever wanted to see what runs there has gone.
  v1::ToAgent message;
  message.mutable_stream()->set_stream(id);
  message.mutable_stream()->set_end(true);
  message.mutable_stream()->mutable_error()->set_reason("CallerGone");
  send_(connection, std::move(message));
}

void StreamRelay::close() {
  std::map<std::uint64_t, Stream> streams;
  {
    const std::lock_guard lock(mutex_);
    streams.swap(streams_);
  }
  for (const auto& [id, stream] : streams) {
    stream.call->fail({Code::Unavailable, "the control plane is stopping"});
  }
}

std::size_t StreamRelay::open() const {
  const std::lock_guard lock(mutex_);
  return streams_.size();
}

}  // namespace berth::controld
