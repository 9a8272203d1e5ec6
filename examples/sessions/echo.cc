// An app that offers sessions: whoever connects is greeted with the session's data, and hears what
// they say. It listens on port 7000, for TCP and UDP, and serves one session at a time.
//
//   g++ -std=c++17 -O2 -pthread -I sdk/session examples/sessions/echo.cc -o echo
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "berth_session.hpp"

class Echo {
 public:
  Echo() {
    service_.on_open = [this](const std::string& session, const std::string& data) {
      open(session, data);
    };
    service_.on_close = [this](const std::string& session, std::chrono::milliseconds) {
      close(session);
    };
  }

  void run(int tcp, int udp) {
    std::thread([this, udp] { serve_udp(udp); }).detach();
    // Whoever is told of a session may come at once: it is offered when we listen.
    service_.start();
    while (true) {
      const int connection = ::accept(tcp, nullptr, nullptr);
      if (connection >= 0) std::thread([this, connection] { serve_client(connection); }).detach();
    }
  }

 private:
  // --- What the session service says ---

  void open(const std::string& session, const std::string& data) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      session_ = session;
      greeting_ = data;
    }
    service_.opened(session);
  }

  void close(const std::string& session) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      session_.reset();
      for (const int connection : connections_) ::shutdown(connection, SHUT_RDWR);
    }
    service_.closed(session);
  }

  void tell_clients() {
    std::optional<std::string> session;
    std::size_t count = 0;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      session = session_;
      count = connections_.size();
    }
    if (session) service_.clients(*session, static_cast<unsigned>(count));
  }

  // --- What clients say ---

  void serve_client(int connection) {
    std::string greeting;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      connections_.insert(connection);
      greeting = greeting_;
    }
    tell_clients();
    char said[65536];
    bool goes_on = say(connection, greeting.data(), greeting.size());
    while (goes_on) {
      const auto size = ::recv(connection, said, sizeof said, 0);
      goes_on = size > 0 && say(connection, said, static_cast<std::size_t>(size));
    }
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      connections_.erase(connection);
      ::close(connection);
    }
    tell_clients();
  }

  static bool say(int connection, const char* bytes, std::size_t size) {
    while (size > 0) {
      const auto sent = ::send(connection, bytes, size, MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes += sent;
      size -= static_cast<std::size_t>(sent);
    }
    return true;
  }

  void serve_udp(int udp) {
    char said[65536];
    while (true) {
      sockaddr_in client{};
      socklen_t length = sizeof client;
      auto* address = reinterpret_cast<sockaddr*>(&client);
      const auto size = ::recvfrom(udp, said, sizeof said, 0, address, &length);
      if (size >= 0) ::sendto(udp, said, static_cast<std::size_t>(size), 0, address, length);
    }
  }

  std::mutex mutex_;
  std::optional<std::string> session_;
  std::string greeting_;
  std::set<int> connections_;
  berth::SessionClient service_;
};

static int bound(int type, std::uint16_t port) {
  const int fd = ::socket(AF_INET, type, 0);
  const int on = 1;
  if (type == SOCK_STREAM) ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
  std::cerr << "port " << port << " is taken\n";
  std::exit(1);
}

int main() {
  // The first process of a container is not ended by a signal that it does not know.
  std::signal(SIGTERM, [](int) { std::_Exit(0); });
  const char* given = std::getenv("BERTH_PORT_7000");
  const auto port = static_cast<std::uint16_t>(given != nullptr ? std::atoi(given) : 7000);
  const int tcp = bound(SOCK_STREAM, port);
  const int udp = bound(SOCK_DGRAM, port);
  ::listen(tcp, 128);
  Echo().run(tcp, udp);
}
