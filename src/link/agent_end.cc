#include "link/agent_end.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <random>
#include <utility>

#include "berth/v1/agent.grpc.pb.h"
#include "link/limits.h"
#include "link/outgoing_queue.h"
#include "link/timer.h"

namespace berth::link {
namespace {

using Milliseconds = std::chrono::milliseconds;
using AgentReactor = grpc::ClientBidiReactor<v1::FromAgent, v1::ToAgent>;

std::string describe(const grpc::Status& status) {
  if (status.ok()) return "the server has ended it";
  if (!status.error_message().empty()) return status.error_message();
  return fmt::format("gRPC status {}", static_cast<int>(status.error_code()));
}

// A channel has one identity for all its connections.
std::shared_ptr<grpc::Channel> make_channel(const AgentEndConfig& config) {
  grpc::SslCredentialsOptions tls;
  tls.pem_root_certs = config.authority;
  tls.pem_private_key = config.identity.key;
  tls.pem_cert_chain = config.identity.certificate;
  grpc::ChannelArguments arguments;
  arguments.SetSslTargetNameOverride(kServerName);
  arguments.SetMaxReceiveMessageSize(kMessageBytesMax);
  arguments.SetResourceQuota(grpc::ResourceQuota("berth link").Resize(kAgentMemoryMax));
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS,
                   static_cast<int>(config.accept_timeout.count()));
  arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, 1'000);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kAgentPingMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kAgentPingTimeoutMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  return grpc::CreateCustomChannel(config.server, grpc::SslCredentials(tls), arguments);
}

// gRPC 1.51 loses the memory and the socket of a connection that comes about while its channel is
// destroyed; so a connection that is being made is given a moment.
void let_settle(grpc::Channel& channel) {
  if (channel.GetState(false) != GRPC_CHANNEL_CONNECTING) return;
  channel.WaitForStateChange(GRPC_CHANNEL_CONNECTING,
                             std::chrono::system_clock::now() + Milliseconds(500));
}

v1::FromAgent hello_of(const AgentEndConfig& config) {
  v1::FromAgent message;
  message.mutable_hello()->set_node(config.node);
  message.mutable_hello()->set_boot_id(config.boot_id);
  message.mutable_hello()->set_version(config.version);
  return message;
}

}  // namespace

// What outlives the AgentEnd as long as a callback of gRPC is under way. There is one stream at a
// time, and a next one only when gRPC is done with it; so its reactions on the reading side, which
// alone call the listener, follow each other.
class AgentEnd::State : public std::enable_shared_from_this<State> {
 public:
  State(AgentEndConfig config, AgentEndListener listener)
      : listener_(std::move(listener)), config_(std::move(config)) {}

  void connect();
  void send(std::uint64_t connection, v1::FromAgent message);
  void set_identity(trust::KeyAndCertificate identity);

  // Returns when no listener will be called any more.
  void stop();

 private:
  class Stream;

  // What the stream says in its reactions.
  bool accepted();
  void ended(const Stream& stream, const grpc::Status& status);

  Milliseconds next_pause();

  const AgentEndListener listener_;

  std::mutex mutex_;  // of all below, and of the stream's data
  std::condition_variable stream_ended_;
  AgentEndConfig config_;
  // Kept until there is a next one, and never let go of in a reaction: the last channel of a
  // process takes the threads of gRPC's callbacks with it, and waits for them.
  std::shared_ptr<grpc::Channel> channel_;
  bool has_new_identity_ = true;  // that the channel does not have
  std::unique_ptr<Stream> stream_;
  std::uint64_t last_number_ = 0;
  int failures_ = 0;      // in a row
  bool is_busy_ = false;  // there is a stream, or the rest of one
  bool stopping_ = false;
  Timer timer_;  // of the pause, or of the wait for being accepted
  std::minstd_rand random_{std::random_device{}()};
};

class AgentEnd::State::Stream final : public AgentReactor {
 public:
  // Under the state's mutex, with its channel.
  Stream(std::shared_ptr<State> state, std::uint64_t number);

  std::uint64_t number() const { return number_; }

  // All under the state's mutex.
  void begin();
  void send(v1::FromAgent message);
  void cut() { context_.TryCancel(); }
  void accept() { accepted_ = true; }
  bool is_accepted() const { return accepted_; }

 private:
  void OnReadInitialMetadataDone(bool ok) override;
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  void push(v1::FromAgent message);
  void stop_writing();

  const std::shared_ptr<State> state_;
  const std::uint64_t number_;
  const std::unique_ptr<v1::AgentLink::Stub> stub_;
  grpc::ClientContext context_;
  v1::ToAgent incoming_;

  // Guarded by the state's mutex.
  OutgoingQueue<v1::FromAgent> outgoing_;
  bool accepted_ = false;
  bool writing_ = false;
  bool closed_ = false;  // nothing is written any more
};

AgentEnd::State::Stream::Stream(std::shared_ptr<State> state, std::uint64_t number)
    : state_(std::move(state)),
      number_(number),
      stub_(v1::AgentLink::NewStub(state_->channel_)),
      outgoing_(state_->config_.queue_messages_max, state_->config_.queue_bytes_max) {}

// The hold lets others than reactions write; it is given back when reading has ended.
void AgentEnd::State::Stream::begin() {
  stub_->async()->Connect(&context_, this);
  AddHold();
  push(hello_of(state_->config_));
  StartCall();
}

void AgentEnd::State::Stream::send(v1::FromAgent message) {
  if (accepted_) push(std::move(message));
}

void AgentEnd::State::Stream::push(v1::FromAgent message) {
  if (closed_) return;
  if (!outgoing_.push(std::move(message))) return cut();
  if (!std::exchange(writing_, true)) StartWrite(&outgoing_.front());
}

void AgentEnd::State::Stream::OnReadInitialMetadataDone(bool ok) {
  if (!ok || !state_->accepted()) return stop_writing();
  state_->listener_.connected(number_);
  StartRead(&incoming_);
}

void AgentEnd::State::Stream::OnReadDone(bool ok) {
  if (!ok) return stop_writing();
  v1::ToAgent message;
  message.Swap(&incoming_);
  state_->listener_.received(number_, std::move(message));
  StartRead(&incoming_);
}

void AgentEnd::State::Stream::OnWriteDone(bool ok) {
  const std::lock_guard lock(state_->mutex_);
  writing_ = false;
  outgoing_.pop();
  if (!ok) cut();
  if (!ok || closed_ || outgoing_.empty()) return;
  writing_ = true;
  StartWrite(&outgoing_.front());
}

void AgentEnd::State::Stream::stop_writing() {
  {
    const std::lock_guard lock(state_->mutex_);
    closed_ = true;
    cut();
  }
  RemoveHold();
}

void AgentEnd::State::Stream::OnDone(const grpc::Status& status) {
  const std::shared_ptr<State> state = state_;  // `this` goes
  state->ended(*this, status);
}

void AgentEnd::State::connect() {
  std::shared_ptr<grpc::Channel> previous;  // outlives the lock
  const std::lock_guard lock(mutex_);
  if (stopping_) return;
  if (std::exchange(has_new_identity_, false)) {
    previous = std::exchange(channel_, make_channel(config_));
  } else {
    grpc::experimental::ChannelResetConnectionBackoff(channel_.get());  // the pauses are ours
  }
  is_busy_ = true;
  stream_ = std::make_unique<Stream>(shared_from_this(), ++last_number_);
  timer_.set(config_.accept_timeout, [weak = weak_from_this(), number = last_number_] {
    const auto state = weak.lock();
    if (state == nullptr) return;
    const std::lock_guard still(state->mutex_);
    const auto& stream = state->stream_;
    if (stream && stream->number() == number && !stream->is_accepted()) stream->cut();
  });
  stream_->begin();
}

bool AgentEnd::State::accepted() {
  const std::lock_guard lock(mutex_);
  if (stopping_) return false;
  timer_.stop();
  failures_ = 0;
  stream_->accept();
  return true;
}

void AgentEnd::State::ended(const Stream& stream, const grpc::Status& status) {
  bool was_connected = false;
  {
    const std::lock_guard lock(mutex_);
    was_connected = stream.is_accepted();
  }
  if (was_connected) {
    listener_.disconnected(stream.number(), describe(status));
  } else if (listener_.failed) {
    listener_.failed(describe(status));
  }
  std::unique_ptr<Stream> gone;
  {
    const std::lock_guard lock(mutex_);
    timer_.stop();
    gone = std::move(stream_);
  }
  gone.reset();
  const std::lock_guard lock(mutex_);
  is_busy_ = false;
  stream_ended_.notify_all();
  if (stopping_) return;
  timer_.set(next_pause(), [weak = weak_from_this()] {
    if (const auto state = weak.lock()) state->connect();
  });
}

// Between half and all of pause_min * 2^failures, at most pause_max: agents that lost the same
// server do not come back in the same moment.
Milliseconds AgentEnd::State::next_pause() {
  const int doublings = std::min(failures_++, 16);
  const Milliseconds most = std::min(config_.pause_max, config_.pause_min * (1 << doublings));
  return Milliseconds(
      std::uniform_int_distribution<std::int64_t>(most.count() / 2, most.count())(random_));
}

void AgentEnd::State::send(std::uint64_t connection, v1::FromAgent message) {
  const std::lock_guard lock(mutex_);
  if (stream_ && stream_->number() == connection) stream_->send(std::move(message));
}

void AgentEnd::State::set_identity(trust::KeyAndCertificate identity) {
  const std::lock_guard lock(mutex_);
  config_.identity = std::move(identity);
  has_new_identity_ = true;
}

void AgentEnd::State::stop() {
  std::shared_ptr<grpc::Channel> last;
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    timer_.stop();
    if (stream_) stream_->cut();
    stream_ended_.wait(lock, [this] { return !is_busy_; });
    last = std::move(channel_);
  }
  let_settle(*last);
}

AgentEnd::AgentEnd(AgentEndConfig config, AgentEndListener listener)
    : state_(std::make_shared<State>(std::move(config), std::move(listener))) {
  state_->connect();
}

AgentEnd::~AgentEnd() { state_->stop(); }

void AgentEnd::send(std::uint64_t connection, v1::FromAgent message) {
  state_->send(connection, std::move(message));
}

void AgentEnd::set_identity(trust::KeyAndCertificate identity) {
  state_->set_identity(std::move(identity));
}

}  // namespace berth::link
