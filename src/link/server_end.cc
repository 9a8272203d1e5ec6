#include "link/server_end.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "berth/v1/agent.grpc.pb.h"
#include "link/limits.h"
#include "link/outgoing_queue.h"
#include "link/peer.h"
#include "link/timer.h"
#include "trust/certificate.h"

namespace berth::link {
namespace {

using grpc::Status;
using grpc::StatusCode;
using ServerReactor = grpc::ServerBidiReactor<v1::FromAgent, v1::ToAgent>;

std::uint64_t next_connection() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

// The node whose certificate the peer has, or why it is not let in.
struct CertifiedPeer {
  std::string node;
  Status refusal;
};

CertifiedPeer identify(const grpc::ServerContextBase& context) {
  const std::string name = common_name_of(context);
  if (name.empty()) return {"", Status(StatusCode::UNAUTHENTICATED, "a certificate is needed")};
  const auto identity = trust::parse_identity(name);
  if (!identity || identity->role != trust::Role::Node) {
    return {"", Status(StatusCode::PERMISSION_DENIED, "the certificate is not one of a node")};
  }
  return {identity->name, Status::OK};
}

}  // namespace

// Three kinds of locks, taken in this order: `order_` while a connection comes or goes in the eyes
// of the listener; a stream's `telling_` while the listener hears of it; and the innermost ones for
// data (`mutex_`), never held while a listener is called.
class ServerEnd::Service final : public v1::AgentLink::CallbackService {
 public:
  Service(ServerEndListener listener, ServerEndConfig config)
      : listener_(std::move(listener)), config_(config) {
    make_room();
  }
  ~Service() override;

  ServerReactor* Connect(grpc::CallbackServerContext* context) override;

  void send(std::uint64_t connection, v1::ToAgent message);
  void disconnect(std::uint64_t connection, const std::string& why);
  void close();

  const grpc::ResourceQuota& memory() const { return memory_; }

 private:
  class Stream;

  std::shared_ptr<Stream> find(std::uint64_t connection);

  // What streams say in their reactions.
  void joined(Stream& stream, const v1::Hello& hello);
  bool received(Stream& stream, v1::FromAgent message);
  void left(Stream& stream);
  void done(Stream& stream);

  void tell_gone(Stream& stream);
  void make_room();

  const ServerEndListener listener_;
  const ServerEndConfig config_;

  std::mutex order_;
  std::map<std::string, Stream*, std::less<>> by_node_;  // those told of; guarded by order_

  std::mutex mutex_;  // of all below
  grpc::ResourceQuota memory_{"berth link"};
  std::condition_variable all_done_;
  std::map<const Stream*, std::shared_ptr<Stream>> streams_;      // until gRPC has let go of them
  std::map<std::uint64_t, std::shared_ptr<Stream>> connections_;  // those told of
  bool closed_ = false;
};

// One stream. gRPC calls its reactions; reads follow each other, and so do writes. It lives until
// OnDone, and a little longer if somebody else holds it at that moment.
class ServerEnd::Service::Stream final : public ServerReactor,
                                         public std::enable_shared_from_this<Stream> {
 public:
  Stream(Service& service, grpc::CallbackServerContext& context, std::string node)
      : service_(service),
        context_(context),
        node_(std::move(node)),
        address_(address_of(context)),
        outgoing_(service.config_.queue_messages_max, service.config_.queue_bytes_max) {}

  const std::string& node() const { return node_; }
  const std::string& address() const { return address_; }

  void begin();
  void accept();
  void send(v1::ToAgent message);

  // Ends it with this status, at once or as soon as gRPC allows.
  void cut(const Status& status);

 private:
  friend class Service;
  enum class Told { Nothing, Connected, Gone };

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone() override;

  bool take(v1::FromAgent message);
  bool greet(const v1::Hello& hello);
  void read_next();
  void check_hello();

  Service& service_;
  grpc::CallbackServerContext& context_;
  const std::string node_;
  const std::string address_;  // gRPC forgets it when the connection breaks
  v1::FromAgent incoming_;

  std::mutex telling_;
  Told told_ = Told::Nothing;     // guarded by telling_
  std::uint64_t connection_ = 0;  // likewise; numbers are given in the order of telling

  std::mutex mutex_;  // of all below
  OutgoingQueue<v1::ToAgent> outgoing_;
  Timer hello_timer_;
  bool greeted_ = false;
  bool accepted_ = false;
  bool writing_ = false;
  std::optional<Status> end_;  // set: nothing is read or written any more
  bool finished_ = false;      // gRPC has been told so
};

void ServerEnd::Service::Stream::begin() {
  {
    const std::lock_guard lock(mutex_);
    hello_timer_.set(service_.config_.hello_timeout, [weak = weak_from_this()] {
      if (const auto stream = weak.lock()) stream->check_hello();
    });
  }
  read_next();
}

void ServerEnd::Service::Stream::check_hello() {
  {
    const std::lock_guard lock(mutex_);
    if (greeted_) return;
  }
  cut({StatusCode::DEADLINE_EXCEEDED, "no Hello came"});
}

void ServerEnd::Service::Stream::read_next() {
  const std::lock_guard lock(mutex_);
  if (!end_) StartRead(&incoming_);
}

void ServerEnd::Service::Stream::OnReadDone(bool ok) {
  if (!ok) {
    service_.left(*this);
    cut(Status::OK);
    return;
  }
  v1::FromAgent message;
  message.Swap(&incoming_);
  if (take(std::move(message))) read_next();
}

bool ServerEnd::Service::Stream::take(v1::FromAgent message) {
  bool greeted = false;
  {
    const std::lock_guard lock(mutex_);
    greeted = greeted_;
  }
  if (greeted == message.has_hello()) {
    cut({StatusCode::INVALID_ARGUMENT, "Hello must be the first message, and only that"});
    return false;
  }
  if (!greeted) return greet(message.hello());
  if (service_.received(*this, std::move(message))) return true;
  cut({StatusCode::RESOURCE_EXHAUSTED, "the message cannot be taken"});
  return false;
}

bool ServerEnd::Service::Stream::greet(const v1::Hello& hello) {
  if (hello.node() != node_) {
    cut({StatusCode::PERMISSION_DENIED, "Hello names another node than the certificate"});
    return false;
  }
  {
    const std::lock_guard lock(mutex_);
    greeted_ = true;
    hello_timer_.stop();
  }
  service_.joined(*this, hello);
  return true;
}

// The agent sees the headers of the answer, and knows that it is welcome.
void ServerEnd::Service::Stream::accept() {
  const std::lock_guard lock(mutex_);
  if (end_) return;
  accepted_ = true;
  StartSendInitialMetadata();
}

void ServerEnd::Service::Stream::send(v1::ToAgent message) {
  bool is_full = false;
  {
    const std::lock_guard lock(mutex_);
    if (end_ || !accepted_) return;
    is_full = !outgoing_.push(std::move(message));
    if (!is_full && !std::exchange(writing_, true)) StartWrite(&outgoing_.front());
  }
  if (is_full) cut({StatusCode::RESOURCE_EXHAUSTED, "the agent does not keep up"});
}

void ServerEnd::Service::Stream::OnWriteDone(bool ok) {
  const std::lock_guard lock(mutex_);
  writing_ = false;
  outgoing_.pop();
  if (!ok && !end_) end_ = Status(StatusCode::UNAVAILABLE, "the connection broke");
  if (end_) {
    if (!std::exchange(finished_, true)) Finish(*end_);
  } else if (!outgoing_.empty()) {
    writing_ = true;
    StartWrite(&outgoing_.front());
  }
}

// A write under way may never end by itself, if the peer does not read: it is cancelled, and its
// reaction finishes.
void ServerEnd::Service::Stream::cut(const Status& status) {
  const std::lock_guard lock(mutex_);
  if (end_) return;
  end_ = status;
  if (writing_) {
    context_.TryCancel();
  } else if (!std::exchange(finished_, true)) {
    Finish(status);
  }
}

void ServerEnd::Service::Stream::OnDone() {
  service_.left(*this);
  {
    const std::lock_guard lock(mutex_);
    hello_timer_.stop();
  }
  service_.done(*this);
}

ServerEnd::Service::~Service() {
  close();
  std::unique_lock lock(mutex_);
  all_done_.wait(lock, [this] { return streams_.empty(); });
}

ServerReactor* ServerEnd::Service::Connect(grpc::CallbackServerContext* context) {
  CertifiedPeer peer = identify(*context);
  const auto stream = std::make_shared<Stream>(*this, *context, std::move(peer.node));
  {
    const std::lock_guard lock(mutex_);
    streams_.emplace(stream.get(), stream);
    make_room();
    if (closed_) peer.refusal = Status(StatusCode::UNAVAILABLE, "shutting down");
  }
  if (peer.refusal.ok()) {
    stream->begin();
  } else {
    stream->cut(peer.refusal);
  }
  return stream.get();
}

std::shared_ptr<ServerEnd::Service::Stream> ServerEnd::Service::find(std::uint64_t connection) {
  const std::lock_guard lock(mutex_);
  const auto at = connections_.find(connection);
  return at == connections_.end() ? nullptr : at->second;
}

void ServerEnd::Service::send(std::uint64_t connection, v1::ToAgent message) {
  if (const auto stream = find(connection)) stream->send(std::move(message));
}

void ServerEnd::Service::disconnect(std::uint64_t connection, const std::string& why) {
  if (const auto stream = find(connection)) stream->cut({StatusCode::ABORTED, why});
}

void ServerEnd::Service::close() {
  std::map<const Stream*, std::shared_ptr<Stream>> streams;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    streams = streams_;
  }
  for (const auto& entry : streams) {
    entry.second->cut({StatusCode::UNAVAILABLE, "shutting down"});
  }
}

void ServerEnd::Service::joined(Stream& stream, const v1::Hello& hello) {
  const std::lock_guard order(order_);
  if (const auto older = by_node_.find(stream.node()); older != by_node_.end()) {
    Stream& replaced = *older->second;
    tell_gone(replaced);
    replaced.cut({StatusCode::ABORTED, "replaced by a newer connection"});
  }
  by_node_[stream.node()] = &stream;
  stream.accept();
  const std::lock_guard telling(stream.telling_);
  stream.told_ = Stream::Told::Connected;
  stream.connection_ = next_connection();
  {
    const std::lock_guard lock(mutex_);
    connections_.emplace(stream.connection_, stream.shared_from_this());
  }
  listener_.connected(stream.node(), stream.connection_, stream.address(), hello);
}

// A stream that was replaced may still get what was sent before: it is nobody's any more.
bool ServerEnd::Service::received(Stream& stream, v1::FromAgent message) {
  const std::lock_guard telling(stream.telling_);
  if (stream.told_ != Stream::Told::Connected) return false;
  return listener_.received(stream.node(), stream.connection_, std::move(message));
}

void ServerEnd::Service::left(Stream& stream) {
  const std::lock_guard order(order_);
  tell_gone(stream);
}

// Under order_.
void ServerEnd::Service::tell_gone(Stream& stream) {
  const std::lock_guard telling(stream.telling_);
  if (std::exchange(stream.told_, Stream::Told::Gone) != Stream::Told::Connected) return;
  by_node_.erase(stream.node());
  {
    const std::lock_guard lock(mutex_);
    connections_.erase(stream.connection_);
  }
  listener_.disconnected(stream.node(), stream.connection_);
}

void ServerEnd::Service::done(Stream& stream) {
  std::shared_ptr<Stream> last;  // outlives the lock
  const std::lock_guard lock(mutex_);
  const auto at = streams_.find(&stream);
  CHECK(at != streams_.end(), "a stream is done once");
  last = std::move(at->second);
  streams_.erase(at);
  make_room();
  if (streams_.empty()) all_done_.notify_all();
}

// Under mutex_.
void ServerEnd::Service::make_room() {
  memory_.Resize(kServerMemoryMax + streams_.size() * kServerMemoryPerStream);
}

ServerEnd::ServerEnd(ServerEndListener listener, ServerEndConfig config)
    : service_(std::make_unique<Service>(std::move(listener), config)) {}

ServerEnd::~ServerEnd() = default;

void ServerEnd::prepare(grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(kMessageBytesMax);
  builder.SetResourceQuota(service_->memory());
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kServerPingMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kServerPingTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kAgentPingMs / 4);
}

grpc::Service& ServerEnd::service() { return *service_; }

void ServerEnd::send(std::uint64_t connection, v1::ToAgent message) {
  service_->send(connection, std::move(message));
}

void ServerEnd::disconnect(std::uint64_t connection, const std::string& why) {
  service_->disconnect(connection, why);
}

void ServerEnd::close() { service_->close(); }

}  // namespace berth::link
