#include "controld/http/server.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <charconv>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <thread>

#include "controld/http/peer.h"
#include "controld/http/session.h"
#include "controld/http/waiter.h"
#include "shell/guests.h"

namespace berth::controld::http {
namespace {

using asio::awaitable;
using Local = asio::local::stream_protocol;
using Tcp = asio::ip::tcp;

Error cannot_listen(const std::string& where, const beast::error_code& error) {
  return {Code::Unavailable, fmt::format("cannot listen on {}: {}", where, error.message())};
}

Result<Tcp::endpoint> parse_endpoint(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const Error wrong = invalid_input(fmt::format("\"{}\" is no ADDRESS:PORT", text));
  if (colon == std::string::npos) return wrong;
  std::string host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  std::uint16_t port = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, failed] = std::from_chars(text.data() + colon + 1, end, port);
  beast::error_code error;
  const auto address = asio::ip::make_address(host, error);
  if (error || failed != std::errc{} || stopped != end) return wrong;
  return Tcp::endpoint(address, port);
}

// A socket that nobody listens on is left over from one who died.
Result<void> remove_leftover(asio::io_context& context, const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return {};
  if (!S_ISSOCK(status.st_mode)) {
    return Error{Code::Conflict, path + " is there already and is no socket"};
  }
  Local::socket probe(context);
  beast::error_code error;
  probe.connect(Local::endpoint(path), error);
  if (!error) return Error{Code::Conflict, "somebody listens on " + path + " already"};
  ::unlink(path.c_str());
  return {};
}

// Where connections come in, and are closed when they have to make room.
class Door {
 public:
  Door(Front& front, const shell::Guests::Limits& limits) : front_(front), guests_(limits) {}

  // One connection, as long as it lasts.
  class Guest {
   public:
    Guest(Door& door, const std::string& address, std::function<void()> close) : door_(door) {
      ++door_.front_.connections;
      const shell::Guests::Arrival arrival = door_.guests_.arrive(address);
      id_ = arrival.id;
      door_.close_.emplace(id_, std::move(close));
      if (arrival.makes_room) door_.turn_out(*arrival.makes_room);
    }
    ~Guest() {
      --door_.front_.connections;
      door_.forget(id_);
    }
    Guest(const Guest&) = delete;
    Guest& operator=(const Guest&) = delete;

    // Whether it may stay. Whoever shows nothing stays a stranger.
    bool recognise(const api::Caller& caller) const {
      return !caller.identity || door_.guests_.recognise(id_, trust::to_string(*caller.identity));
    }

   private:
    Door& door_;
    shell::Guests::Id id_ = 0;
  };

 private:
  // Its session ends by the errors that it gets; its room is free at once.
  void turn_out(shell::Guests::Id id) {
    close_.at(id)();
    forget(id);
  }

  void forget(shell::Guests::Id id) {
    guests_.leave(id);
    close_.erase(id);
  }

  Front& front_;
  shell::Guests guests_;
  std::map<shell::Guests::Id, std::function<void()>> close_;
};

awaitable<void> receive(std::unique_ptr<UnixStream> stream, std::optional<gid_t> group,
                        Front& front, Door& door) {
  const Door::Guest guest(door, "", [socket = stream.get()] { socket->close(); });
  api::Caller caller = caller_of(*stream, group);
  if (!guest.recognise(caller)) co_return;
  co_await serve(make_stream(std::move(stream)), std::move(caller), front);
}

awaitable<void> receive(std::unique_ptr<TlsStream> stream,
                        std::shared_ptr<asio::ssl::context> context, Front& front, Door& door) {
  auto& socket = beast::get_lowest_layer(*stream);
  const Door::Guest guest(door, address_of(socket), [&socket] { socket.close(); });
  beast::error_code error;
  socket.expires_after(front.limits.stranger_time);
  co_await stream->async_handshake(asio::ssl::stream_base::server, into(error));
  if (error) co_return;
  api::Caller caller = caller_of(*stream);
  if (!guest.recognise(caller)) co_return;
  co_await serve(make_stream(std::move(stream)), std::move(caller), front);
  (void)context;  // lives as long as the connection that was made with it
}

}  // namespace

class Server::Impl {
 public:
  Impl(const api::Services& services, const Config& config)
      : config_(config),
        front_{services, config.limits},
        local_door_(front_, config.limits.local),
        remote_door_(front_, config.limits.remote) {}

  Result<void> listen() {
    if (!config_.socket.empty()) TRY(listen_on_socket());
    if (!config_.https.empty()) TRY(listen_on_port());
    return {};
  }

  std::uint16_t https_port() const { return port_; }
  std::size_t connections() const { return front_.connections; }

  Result<void> set_identity(const trust::KeyAndCertificate& server, const std::string& authority) {
    auto context = TRY(tls_context(server, authority));
    asio::post(context_, [this, context = std::move(context)] { tls_ = context; });
    return {};
  }

  void start() {
    if (local_) asio::co_spawn(context_, accept_local(), asio::detached);
    if (tcp_) asio::co_spawn(context_, accept_tls(), asio::detached);
    thread_ = std::thread([this] { context_.run(); });
  }

  void stop() {
    context_.stop();
    if (thread_.joinable()) thread_.join();
    if (local_) ::unlink(config_.socket.c_str());
    local_.reset();
    tcp_.reset();
  }

 private:
  Result<void> listen_on_socket() {
    group_ = TRY(group_named(config_.socket_group));
    if (config_.socket.size() >= sizeof(sockaddr_un::sun_path)) {
      return invalid_input("the path of the socket is too long: " + config_.socket);
    }
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(config_.socket).parent_path(),
                                        ignored);
    TRY(remove_leftover(context_, config_.socket));
    beast::error_code error;
    local_.emplace(context_);
    local_->open(Local(), error);
    const mode_t before = ::umask(0177);
    if (!error) local_->bind(Local::endpoint(config_.socket), error);
    ::umask(before);
    if (error) return cannot_listen(config_.socket, error);
    if (group_) {
      const bool given = ::chown(config_.socket.c_str(), static_cast<uid_t>(-1), *group_) == 0 &&
                         ::chmod(config_.socket.c_str(), 0660) == 0;
      if (!given) {
        return Error{Code::Unavailable, fmt::format("cannot give {} to group {}", config_.socket,
                                                    config_.socket_group)};
      }
    }
    local_->listen(asio::socket_base::max_listen_connections, error);
    if (error) return cannot_listen(config_.socket, error);
    return {};
  }

  Result<void> listen_on_port() {
    const Tcp::endpoint endpoint = TRY(parse_endpoint(config_.https));
    beast::error_code error;
    tcp_.emplace(context_);
    tcp_->open(endpoint.protocol(), error);
    if (!error) tcp_->set_option(Tcp::acceptor::reuse_address(true), error);
    if (!error) tcp_->bind(endpoint, error);
    if (!error) tcp_->listen(asio::socket_base::max_listen_connections, error);
    if (error) return cannot_listen(config_.https, error);
    port_ = tcp_->local_endpoint(error).port();
    return {};
  }

  // Whoever waits is accepted when there is room again.
  awaitable<void> pause(const std::string& port, const beast::error_code& error) {
    if (error) front_.troubles.insert_or_assign(port, error.message());
    asio::steady_timer timer(context_, std::chrono::milliseconds(100));
    beast::error_code ignored;
    co_await timer.async_wait(into(ignored));
  }

  awaitable<void> accept_local() {
    while (true) {
      beast::error_code error;
      Local::socket socket(context_);
      co_await local_->async_accept(socket, into(error));
      if (error) {
        co_await pause("socket", error);
        continue;
      }
      front_.troubles.erase("socket");
      auto stream = std::make_unique<UnixStream>(std::move(socket));
      asio::co_spawn(context_, receive(std::move(stream), group_, front_, local_door_),
                     asio::detached);
    }
  }

  awaitable<void> accept_tls() {
    while (true) {
      beast::error_code error;
      Tcp::socket socket(context_);
      co_await tcp_->async_accept(socket, into(error));
      if (error || tls_ == nullptr) {
        co_await pause("https", error);
        continue;
      }
      front_.troubles.erase("https");
      socket.set_option(Tcp::no_delay(true), error);
      socket.set_option(asio::socket_base::keep_alive(true), error);
      auto stream = std::make_unique<TlsStream>(beast::tcp_stream(std::move(socket)), *tls_);
      asio::co_spawn(context_, receive(std::move(stream), tls_, front_, remote_door_),
                     asio::detached);
    }
  }

  const Config config_;
  Front front_;
  Door local_door_;
  Door remote_door_;
  std::optional<gid_t> group_;
  std::uint16_t port_ = 0;
  asio::io_context context_{1};
  std::optional<Local::acceptor> local_;
  std::optional<Tcp::acceptor> tcp_;
  std::shared_ptr<asio::ssl::context> tls_;  // of the thread of context_
  std::thread thread_;
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() { stop(); }

Result<std::unique_ptr<Server>> Server::open(const api::Services& services, const Config& config) {
  auto impl = std::make_unique<Impl>(services, config);
  TRY(impl->listen());
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

std::uint16_t Server::https_port() const { return impl_->https_port(); }
std::size_t Server::connections() const { return impl_->connections(); }
void Server::start() { impl_->start(); }
Result<void> Server::set_identity(const trust::KeyAndCertificate& server,
                                  const std::string& authority) {
  return impl_->set_identity(server, authority);
}
void Server::stop() { impl_->stop(); }

}  // namespace berth::controld::http
