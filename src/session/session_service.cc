#include "session/session_service.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <list>
#include <optional>
#include <utility>

#include "codec/text.h"
#include "session/app_connection.h"
#include "session/protocol.h"
#include "shell/clock.h"

namespace berth::session {
namespace {

constexpr int kServiceBacklog = 16;
constexpr std::size_t kHelloMax = 16 << 10;
constexpr int kAcceptedAtOnce = 16;
constexpr Duration kBetweenPings = 1s;

Error cannot_serve(const std::filesystem::path& path) {
  const Code code = errno == EMFILE || errno == ENFILE ? Code::Exhausted : Code::Unavailable;
  return {code, fmt::format("cannot listen at {}: {}", path.string(), std::strerror(errno))};
}

Result<Fd> listen_at_path(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& name = path.native();
  if (name.size() >= sizeof address.sun_path) {
    return invalid_input(fmt::format("the path of a socket cannot be as long as {}", name));
  }
  name.copy(address.sun_path, name.size());
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.is_open()) return cannot_serve(path);
  ::unlink(name.c_str());
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::chmod(name.c_str(), 0666) != 0 || ::listen(fd.get(), kServiceBacklog) != 0) {
    return cannot_serve(path);
  }
  return fd;
}

// Takes the same time wherever they differ.
bool is_same_token(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
}

bool refuse(AppConnection& connection, std::string_view why) {
  connection.send(error_line(why));
  return false;
}

}  // namespace

// One instance: its socket, its sessions and its app. Belongs to the poller.
class SessionService::Served {
 public:
  Served(SessionService& service, model::InstanceKey key, std::string token)
      : service_(service), key_(std::move(key)), token_(std::move(token)) {}

  Result<void> start(const std::filesystem::path& path) {
    auto socket = TRY(listen_at_path(path));
    path_ = path;
    listener_.emplace(*service_.poller_, std::move(socket), [this](auto) { accept_one(); });
    if (!listener_->want(EPOLLIN)) {
      return Error{Code::Exhausted, "the kernel watches no more sockets"};
    }
    return {};
  }

  void remove_socket() { ::unlink(path_.c_str()); }

  void open(const std::string& name, std::string data) {
    const auto [at, is_new] = sessions_.try_emplace(name);
    Session& session = at->second;
    if (is_new) {
      session.data = std::move(data);
      tell_about(name, session);
    } else if (session.state == State::Closing) {
      session.next = std::move(data);
    }
  }

  void close(const std::string& name, Duration grace) {
    Session& session = sessions_[name];
    session.next.reset();
    if (session.state == State::Closing) return;
    session.state = State::Closing;
    session.close_by = shell::now() + bounded(grace);
    tell_about(name, session);
  }

  std::optional<Time> tend(Time now) {
    if (accept_again_ && *accept_again_ <= now) accept_again();
    std::optional<Time> next = accept_again_;
    for (auto each = peers_.begin(); each != peers_.end();) {
      Peer& peer = *each++;
      if (peer.hello_by && *peer.hello_by <= now) {
        drop(peer.connection);
        continue;
      }
      take_earlier(next, peer.hello_by);
      // It may be gone then, and no other: a stranger is not there for long enough to say too much.
      peer.connection.tend(now);
    }
    for (const Peer& peer : peers_) take_earlier(next, peer.connection.next());
    return next;
  }

 private:
  enum class State { Opening, Open, Closing };
  struct Session {
    State state = State::Opening;
    std::string data;
    Time close_by{};
    std::optional<std::string> next;       // it is opened again with these data when it is closed
    std::optional<std::uint32_t> clients;  // as it was last said, to this life of the service
    bool is_queued = false;
  };
  using Sessions = std::map<std::string, Session>;
  struct Peer {
    Peer(Served& served, Fd fd, Time by)
        : connection(*served.service_.poller_, std::move(fd), served.handlers_,
                     served.service_.config_.bytes_per_second),
          hello_by(by) {}

    AppConnection connection;
    std::optional<Time> hello_by;  // nullopt: it is the app
  };

  // --- Who is connected -------------------------------------------------------------------------

  void accept_one() {
    Fd fd(::accept4(listener_->fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    const bool is_short_of_memory = !fd.is_open() && errno != EAGAIN && errno != EINTR;
    if (fd.is_open()) take_in(std::move(fd));
    if (is_short_of_memory || ++accepted_ >= kAcceptedAtOnce) pause();
  }

  // Who comes and goes all the time has to wait, and so has who comes while no descriptor is left.
  void pause() {
    accepted_ = 0;
    if (!listener_->want(0)) return;
    accept_again_ = shell::now() + service_.config_.accept_pause;
    service_.alarms_.set_earlier(key_, *accept_again_);
  }
  void accept_again() {
    accept_again_.reset();
    if (!listener_->want(EPOLLIN)) pause();
  }

  // Of too many strangers the one that waits for longest goes, so that an app always gets in.
  void take_in(Fd fd) {
    const auto is_stranger = [](const Peer& peer) { return peer.hello_by.has_value(); };
    if (std::count_if(peers_.begin(), peers_.end(), is_stranger) >=
        static_cast<std::ptrdiff_t>(service_.config_.strangers_max)) {
      drop(std::find_if(peers_.begin(), peers_.end(), is_stranger)->connection);
    }
    const Time hello_by = shell::now() + service_.config_.hello_within;
    auto& peer = peers_.emplace_back(*this, std::move(fd), hello_by);
    peer.connection.allow_lines_of(kHelloMax);
    if (!peer.connection.start()) return drop(peer.connection);
    service_.alarms_.set_earlier(key_, hello_by);
  }

  void drop(const AppConnection& connection) {
    if (&connection == app_) {
      app_ = nullptr;
      say([key = key_](const auto& callbacks) { callbacks.disconnected(key); });
    }
    peers_.remove_if([&](const Peer& peer) { return &peer.connection == &connection; });
  }

  bool hear(AppConnection& connection, std::string_view line) {
    const auto said = parse_app_line(line);
    if (!said) return refuse(connection, said.error().message);
    if (&connection == app_) return hear_app(*said);
    if (said->type != AppLine::Type::Hello) return refuse(connection, "say hello first");
    if (!is_same_token(said->token, token_)) return refuse(connection, "this is not the token");
    return welcome(connection, said->closed);
  }

  // Who comes later is the app: it has lost the earlier connection, or knows why.
  bool welcome(AppConnection& connection, const std::vector<std::string>& closed) {
    if (app_ != nullptr) {
      refuse(*app_, "there is another connection");
      drop(*app_);
    }
    become_app(connection);
    for (const std::string& name : closed) {
      if (const auto at = sessions_.find(name); at != sessions_.end()) take_closed(at);
    }
    queue_.clear();
    for (auto& [name, session] : sessions_) enqueue(name, session);
    return connection.send(welcome_line(key_)) && tell_queued();
  }

  void become_app(AppConnection& connection) {
    app_ = &connection;
    connection.allow_lines_of(kLineMax);
    for (Peer& peer : peers_) {
      if (&peer.connection == app_) peer.hello_by.reset();
    }
    say([key = key_](const auto& callbacks) { callbacks.connected(key); });
  }

  // --- What the app says ------------------------------------------------------------------------

  bool hear_app(const AppLine& said) {
    switch (said.type) {
      case AppLine::Type::Hello: return app_->send(error_line("hello was said"));
      case AppLine::Type::Unknown: return app_->send(error_line("there is no such type"));
      case AppLine::Type::Ping: return hear_ping();
      default: break;
    }
    const auto at = sessions_.find(said.session);
    if (at == sessions_.end()) {
      return app_->send(error_line("there is no session " + codec::in_quotes(said.session)));
    }
    switch (said.type) {
      case AppLine::Type::Opened: take_opened(at); break;
      case AppLine::Type::Failed: take_failed(at, said.message); break;
      case AppLine::Type::Closed: take_closed(at); break;
      case AppLine::Type::Clients: take_clients(at, said.count); break;
      default: break;
    }
    return tell_queued();
  }

  bool hear_ping() {
    const Time now = shell::now();
    if (!pinged_ || now - *pinged_ >= kBetweenPings) {
      pinged_ = now;
      say([key = key_](const auto& callbacks) { callbacks.pinged(key); });
    }
    return app_->send(pong_line());
  }

  void take_opened(Sessions::iterator at) {
    if (at->second.state != State::Opening) return;
    at->second.state = State::Open;
    say_opened(at->first, "");
  }

  void take_failed(Sessions::iterator at, const std::string& message) {
    if (at->second.state != State::Opening) return take_closed(at);
    say_opened(at->first, message.empty() ? "the app did not say why" : message);
    forget(at);
  }

  void take_closed(Sessions::iterator at) {
    const std::string name = at->first;
    say([key = key_, name](const auto& callbacks) { callbacks.closed(key, name); });
    auto next = std::move(at->second.next);
    forget(at);
    if (next) open_later(name, *std::move(next));
  }

  void take_clients(Sessions::iterator at, std::uint32_t count) {
    Session& session = at->second;
    if (session.state == State::Opening || session.clients == count) return;
    session.clients = count;
    say([key = key_, name = at->first, count](const auto& callbacks) {
      callbacks.clients(key, name, count);
    });
  }

  void say_opened(const std::string& name, const std::string& problem) {
    say([key = key_, name, problem](const auto& callbacks) {
      callbacks.opened(key, name, problem);
    });
  }

  // Told when the thread has come round, without the lock: the instance may have ended by then.
  void say(News news) { service_.news_.push_back(std::move(news)); }

  // --- What the app is told ---------------------------------------------------------------------

  void forget(Sessions::iterator at) {
    std::erase(queue_, at->first);
    sessions_.erase(at);
  }

  void enqueue(const std::string& name, Session& session) {
    session.is_queued = true;
    queue_.push_back(name);
  }

  void open_later(const std::string& name, std::string data) {
    Session& session = sessions_[name];
    session.data = std::move(data);
    enqueue(name, session);
  }

  void tell_about(const std::string& name, Session& session) {
    if (app_ == nullptr || session.is_queued) return;
    enqueue(name, session);
    if (!tell_queued()) drop(*app_);
  }

  // What waits is not put in words before the app has read the rest. False: it is gone.
  bool tell_queued() {
    while (!queue_.empty() && !app_->has_unsent()) {
      const std::string name = std::move(queue_.front());
      queue_.pop_front();
      Session& session = sessions_.at(name);
      session.is_queued = false;
      if (!app_->send(line_about_session(name, session))) return false;
    }
    return true;
  }

  static std::string line_about_session(const std::string& name, const Session& session) {
    if (session.state != State::Closing) return open_line(name, session.data);
    return close_line(name, std::max(session.close_by - shell::now(), Duration::zero()));
  }

  SessionService& service_;
  const model::InstanceKey key_;
  const std::string token_;
  std::filesystem::path path_;
  const AppConnection::Handlers handlers_{
      .line = [this](auto& connection, auto line) { return hear(connection, line); },
      .sent = [this](auto& connection) { return &connection != app_ || tell_queued(); },
      .over = [this](auto& connection) { drop(connection); },
      .call_at = [this](Time at) { service_.alarms_.set_earlier(key_, at); },
  };
  std::optional<Watch> listener_;
  std::optional<Time> accept_again_;
  int accepted_ = 0;  // since the last pause
  std::list<Peer> peers_;
  AppConnection* app_ = nullptr;
  std::optional<Time> pinged_;
  Sessions sessions_;
  std::deque<std::string> queue_;  // sessions that the app is to be told about
};

Result<std::unique_ptr<SessionService>> SessionService::open(Config config,
                                                             SessionCallbacks callbacks) {
  auto poller = TRY(Poller::open());
  return std::unique_ptr<SessionService>(
      new SessionService(config, std::move(callbacks), std::move(poller)));
}

SessionService::SessionService(Config config, SessionCallbacks callbacks,
                               std::unique_ptr<Poller> poller)
    : config_(config), callbacks_(std::move(callbacks)), poller_(std::move(poller)) {
  poller_->start(
      {.tend = [this](Time now) { return tend(now); }, .deliver = [this] { deliver(); }});
}

SessionService::~SessionService() {
  poller_->stop();
  served_.clear();
}

Result<void> SessionService::serve(const model::InstanceKey& key,
                                   const std::filesystem::path& socket, std::string token) {
  if (token.empty()) return invalid_input("a session service needs a token");
  const auto lock = poller_->enter();
  if (served_.contains(key)) {
    return Error{Code::Conflict, fmt::format("{} is served already", to_string(key))};
  }
  auto made = std::make_unique<Served>(*this, key, std::move(token));
  TRY(made->start(socket));
  served_.emplace(key, std::move(made));
  return {};
}

void SessionService::end(const model::InstanceKey& key) {
  const auto lock = poller_->enter();
  const auto found = served_.find(key);
  if (found == served_.end()) return;
  found->second->remove_socket();
  served_.erase(found);
  alarms_.set(key, std::nullopt);
}

void SessionService::open(const model::InstanceKey& key, const std::string& session,
                          std::string data) {
  const auto lock = poller_->enter();
  if (Served* served = find(key)) served->open(session, std::move(data));
  if (!news_.empty()) poller_->wake();
}

void SessionService::close(const model::InstanceKey& key, const std::string& session,
                           Duration grace) {
  const auto lock = poller_->enter();
  if (Served* served = find(key)) served->close(session, grace);
  if (!news_.empty()) poller_->wake();
}

SessionService::Served* SessionService::find(const model::InstanceKey& key) {
  const auto found = served_.find(key);
  return found == served_.end() ? nullptr : found->second.get();
}

std::optional<Time> SessionService::tend(Time now) {
  for (const model::InstanceKey& key : alarms_.take_due(now)) {
    // What it asks for meanwhile is part of its answer.
    const auto next = find(key)->tend(now);
    alarms_.set(key, next);
  }
  return alarms_.next();
}

void SessionService::deliver() {
  std::vector<News> all;
  {
    const auto lock = poller_->enter();
    all.swap(news_);
  }
  for (const News& news : all) news(callbacks_);
}

}  // namespace berth::session
