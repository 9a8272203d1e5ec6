#include "client/testing/canned_server.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/check.h"

namespace berth::client::testing {
namespace {

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  CHECK(path.size() < sizeof address.sun_path, "the path of a test's socket is short");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

std::size_t length_of_body(const std::string& head) {
  const std::size_t at = head.find("Content-Length: ");
  return at == std::string::npos ? 0 : std::strtoul(head.c_str() + at + 16, nullptr, 10);
}

// The whole request, head and body; empty: the client has gone.
std::string read_request(int connection) {
  std::string text;
  char piece[4096];
  while (true) {
    const std::size_t end = text.find("\r\n\r\n");
    if (end != std::string::npos && text.size() >= end + 4 + length_of_body(text)) return text;
    const ssize_t count = ::recv(connection, piece, sizeof piece, 0);
    if (count <= 0) return "";
    text.append(piece, static_cast<std::size_t>(count));
  }
}

void send_all(int connection, const std::string& text) {
  std::size_t sent = 0;
  while (sent < text.size()) {
    const ssize_t count = ::send(connection, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) return;
    sent += static_cast<std::size_t>(count);
  }
}

}  // namespace

CannedServer::CannedServer() {
  std::string pattern = std::filesystem::temp_directory_path() / "berth-canned-XXXXXX";
  CHECK(mkdtemp(pattern.data()) != nullptr, "a temporary directory can be made");
  directory_ = pattern;
  socket_ = directory_ + "/berthd.sock";
  listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = address_of(socket_);
  CHECK(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0,
        "a socket in a new directory is free");
  CHECK(::listen(listener_, 16) == 0, "a bound socket can listen");
  thread_ = std::thread([this] { serve(); });
}

CannedServer::~CannedServer() {
  stopping_ = true;
  ::shutdown(listener_, SHUT_RDWR);
  thread_.join();
  for (const int connection : held_) ::close(connection);
  ::close(listener_);
  std::filesystem::remove_all(directory_);
}

void CannedServer::answer(const std::string& line, Canned canned) {
  const std::lock_guard lock(mutex_);
  answers_[line].push_back(std::move(canned));
}

void CannedServer::answer(const std::string& line, const std::string& json) {
  answer(line, Canned{.pieces = {json}});
}

void CannedServer::stream(const std::string& line, const std::vector<std::string>& events,
                          bool hold) {
  Canned canned{.type = "text/event-stream", .hold = hold};
  for (std::string event : events) {
    std::ranges::replace(event, '\n', ' ');
    canned.pieces.push_back("data: " + event + "\n\n");
  }
  answer(line, std::move(canned));
}

std::vector<Received> CannedServer::received() const {
  const std::lock_guard lock(mutex_);
  return received_;
}

void CannedServer::serve() {
  while (!stopping_) {
    const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection >= 0) serve_one(connection);
  }
}

Canned CannedServer::take_answer(const std::string& line) {
  const std::lock_guard lock(mutex_);
  const auto found = answers_.find(line.substr(0, line.find('?')));
  if (found == answers_.end()) {
    return {.status = 404,
            .pieces = {R"({"error":{"code":"not_found","message":"nothing at )" + line + "\"}}"}};
  }
  Canned canned = found->second.front();
  if (found->second.size() > 1) found->second.erase(found->second.begin());
  return canned;
}

void CannedServer::serve_one(int connection) {
  const std::string request = read_request(connection);
  const std::string line = request.substr(0, request.find(" HTTP/"));
  if (!request.empty()) {
    const std::lock_guard lock(mutex_);
    received_.push_back({line, request.substr(request.find("\r\n\r\n") + 4)});
  }
  const Canned canned = take_answer(line);
  send_all(connection, "HTTP/1.1 " + std::to_string(canned.status) + " Canned\r\nContent-Type: " +
                           canned.type + "\r\nConnection: close\r\n\r\n");
  for (const std::string& piece : canned.pieces) send_all(connection, piece);
  if (canned.hold) {
    held_.push_back(connection);
  } else {
    ::close(connection);
  }
}

}  // namespace berth::client::testing
