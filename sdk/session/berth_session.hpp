// Sessions for apps: one header, C++17, POSIX, nothing else. How it is meant:
// docs/howto/offer-sessions.md
//
//   berth::SessionClient client;
//   client.on_open = [&](const std::string& session, const std::string& data) { ...;
//   client.opened(session); }; client.on_close = [&](const std::string& session,
//   std::chrono::milliseconds grace) { ...; client.closed(session); }; client.start();
#ifndef BERTH_SESSION_HPP
#define BERTH_SESSION_HPP

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace berth {
namespace session_detail {

// --- As much JSON as the lines of the session service need -------------------------------------

inline std::string quoted(std::string_view text) {
  static const char* const digits = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += "\\u00";
      out += digits[byte >> 4];
      out += digits[byte & 15];
    } else {
      out += c;
    }
  }
  return out + '"';
}

// Reads one object: texts as they are meant, numbers and words as they are written. What is nested
// is passed over. Throws std::invalid_argument for what is not JSON.
class LineReader {
 public:
  explicit LineReader(std::string_view line) : rest_(line) {}

  std::map<std::string, std::string> read() {
    std::map<std::string, std::string> fields;
    expect('{');
    if (take('}')) return fields;
    do {
      skip_space();
      std::string name = text();
      expect(':');
      fields[std::move(name)] = value(0);
    } while (take(','));
    expect('}');
    return fields;
  }

 private:
  static void fail() { throw std::invalid_argument("not a line of the session service"); }

  void skip_space() {
    while (!rest_.empty() && std::strchr(" \t\r\n", rest_.front()) != nullptr)
      rest_.remove_prefix(1);
  }
  char next() {
    if (rest_.empty()) fail();
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }
  bool take(char c) {
    skip_space();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail();
  }

  std::string value(int depth) {
    skip_space();
    if (rest_.empty() || depth > 16) fail();
    if (rest_.front() == '"') return text();
    if (take('[')) return nested(']', depth);
    if (take('{')) return nested('}', depth);
    const auto size = std::min(rest_.find_first_of(",]} \t\r\n"), rest_.size());
    std::string word(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return word;
  }

  std::string nested(char end, int depth) {
    if (take(end)) return {};
    do {
      value(depth + 1);
      if (end == '}') {
        expect(':');
        value(depth + 1);
      }
    } while (take(','));
    expect(end);
    return {};
  }

  std::string text() {
    if (next() != '"') fail();
    std::string out;
    while (true) {
      const char c = next();
      if (c == '"') return out;
      if (c != '\\') {
        out += c;
        continue;
      }
      const char escaped = next();
      static const std::string_view names = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
      if (escaped == 'u') {
        append_point(out, point());
      } else if (const auto at = names.find(escaped); at != std::string_view::npos) {
        out += meant[at];
      } else {
        fail();
      }
    }
  }

  unsigned four_digits() {
    unsigned value = 0;
    for (int i = 0; i < 4; ++i) {
      static const std::string_view digits = "0123456789abcdef";
      const auto digit = digits.find(static_cast<char>(next() | 0x20));
      if (digit == std::string_view::npos) fail();
      value = value * 16 + static_cast<unsigned>(digit);
    }
    return value;
  }
  unsigned point() {
    const unsigned first = four_digits();
    if (first < 0xD800 || first >= 0xDC00) return first;
    if (next() != '\\' || next() != 'u') fail();
    return 0x10000 + ((first - 0xD800) << 10) + (four_digits() - 0xDC00);
  }
  static void append_point(std::string& out, unsigned point) {
    const auto add = [&out](unsigned byte) { out += static_cast<char>(byte); };
    if (point < 0x80) return add(point);
    if (point < 0x800) {
      add(0xC0 | point >> 6);
    } else if (point < 0x10000) {
      add(0xE0 | point >> 12);
      add(0x80 | (point >> 6 & 0x3F));
    } else {
      add(0xF0 | point >> 18);
      add(0x80 | (point >> 12 & 0x3F));
      add(0x80 | (point >> 6 & 0x3F));
    }
    add(0x80 | (point & 0x3F));
  }

  std::string_view rest_;
};

inline std::string from_base64(std::string_view text) {
  static const std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    const auto digit = digits.find(c);
    if (digit == std::string_view::npos) throw std::invalid_argument("not base64");
    bits = (bits << 6 | static_cast<unsigned>(digit)) & 0xFFFF;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xFF);
  }
  return bytes;
}

}  // namespace session_detail

// The connection with the session service of the node, kept up by a thread of its own, which also
// calls `on_open` and `on_close`. Everything may be called from any thread, also from the
// callbacks. What is reported while there is no connection is not lost.
class SessionClient {
 public:
  // Told once for each session. Answer with `opened` or `failed`, at once or later; an exception is
  // a failure. The data are those that the session was opened with, byte for byte.
  std::function<void(const std::string& session, const std::string& data)> on_open;
  // Answer with `closed` within the grace: the instance is ended otherwise.
  std::function<void(const std::string& session, std::chrono::milliseconds grace)> on_close;
  // Says that the app is alive. 0: the app calls `ping` itself, as often as its health period says.
  std::chrono::milliseconds ping_every{3000};

  // From BERTH_SESSION_SOCKET and BERTH_SESSION_TOKEN: what the node's agent has set.
  SessionClient()
      : SessionClient(variable("BERTH_SESSION_SOCKET"), variable("BERTH_SESSION_TOKEN")) {}
  SessionClient(std::string socket, std::string token)
      : socket_(std::move(socket)), token_(std::move(token)) {}
  SessionClient(const SessionClient&) = delete;
  SessionClient& operator=(const SessionClient&) = delete;
  ~SessionClient() { stop(); }

  // False: the app was not started with sessions, and there is nothing to do.
  bool is_offered() const { return !socket_.empty(); }

  // Set the callbacks before.
  void start() {
    if (is_offered() && !thread_.joinable()) thread_ = std::thread([this] { run(); });
  }

  // Not from a callback.
  void stop() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
      if (fd_ >= 0) ::shutdown(fd_, SHUT_RDWR);
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  void opened(const std::string& session) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto known = sessions_.find(session);
    if (known == sessions_.end()) return;
    known->second.is_open = true;
    send("opened", session);
  }

  void failed(const std::string& session, const std::string& message) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (sessions_.erase(session) == 0) return;
    send("failed", session, ",\"message\":" + session_detail::quoted(message));
  }

  // As told, or because the app has ended it.
  void closed(const std::string& session) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (sessions_.erase(session) == 0) return;
    if (!send("closed", session)) closed_meanwhile_.push_back(session);
  }

  // How many use the session now.
  void clients(const std::string& session, unsigned count) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto known = sessions_.find(session);
    if (known == sessions_.end()) return;
    known->second.clients = count;
    send_clients(session, count);
  }

  void ping() {
    const std::lock_guard<std::mutex> lock(mutex_);
    send_line("{\"type\":\"ping\"}\n");
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Fields = std::map<std::string, std::string>;
  struct Session {
    bool is_open = false;
    bool is_closing = false;
    std::optional<unsigned> clients;
  };

  static std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
  }

  // --- The thread -------------------------------------------------------------------------------

  void run() {
    auto wait = std::chrono::milliseconds(50);
    while (!is_stopping()) {
      if (connect()) {
        listen();
        disconnect();
        if (was_welcome_) wait = std::chrono::milliseconds(50);
      }
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait_for(lock, wait, [this] { return stopping_; });
      wait = std::min(wait * 2, std::chrono::milliseconds(2000));
    }
  }

  bool is_stopping() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return stopping_;
  }

  bool connect() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (socket_.size() >= sizeof address.sun_path) return false;
    socket_.copy(address.sun_path, socket_.size());
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return false;
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      ::close(fd);
      return false;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    fd_ = fd;
    was_welcome_ = false;
    closed_told_ = closed_meanwhile_.size();
    if (stopping_) ::shutdown(fd_, SHUT_RDWR);
    write(hello());  // if it fails, there is nothing to hear either
    return true;
  }

  // Says what has ended meanwhile, so that it is not opened again.
  std::string hello() const {
    std::string line =
        "{\"type\":\"hello\",\"token\":" + session_detail::quoted(token_) + ",\"closed\":[";
    for (const std::string& session : closed_meanwhile_) {
      if (line.back() != '[') line += ',';
      line += session_detail::quoted(session);
    }
    return line + "]}\n";
  }

  void disconnect() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ::close(fd_);
    fd_ = -1;
    is_welcome_ = false;
  }

  void listen() {
    std::string received;
    auto next_ping = Clock::now() + ping_every;
    while (true) {
      pollfd waiting{fd_, POLLIN, 0};
      const int ready = ::poll(&waiting, 1, ping_every.count() > 0 ? wait_until(next_ping) : -1);
      if (ready < 0 && errno != EINTR) return;
      if (ping_every.count() > 0 && Clock::now() >= next_ping) {
        ping();
        next_ping = Clock::now() + ping_every;
      }
      if (ready > 0 && !receive(received)) return;
    }
  }

  static int wait_until(Clock::time_point then) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(then - Clock::now());
    return static_cast<int>(std::max<long long>(left.count() + 1, 0));
  }

  bool receive(std::string& received) {
    char chunk[16384];
    const auto size = ::recv(fd_, chunk, sizeof chunk, 0);
    if (size < 0 && errno == EINTR) return true;
    if (size <= 0) return false;
    received.append(chunk, static_cast<std::size_t>(size));
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = received.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      if (!hear(std::string_view(received).substr(begin, end - begin))) return false;
    }
    received.erase(0, begin);
    return true;
  }

  bool hear(std::string_view line) {
    Fields fields;
    try {
      fields = session_detail::LineReader(line).read();
      const std::string& type = fields["type"];
      if (type == "welcome" && !hear_welcome()) return false;
      if (type == "open") hear_open(fields["session"], session_detail::from_base64(fields["data"]));
      if (type == "close") hear_close(fields["session"], std::atoll(fields["graceMs"].c_str()));
    } catch (const std::invalid_argument&) {
      return false;
    }
    return true;
  }

  // False: something has ended since hello; it is said with another one.
  bool hear_welcome() {
    const std::lock_guard<std::mutex> lock(mutex_);
    was_welcome_ = true;
    if (closed_meanwhile_.size() > closed_told_) return false;
    is_welcome_ = true;
    closed_meanwhile_.clear();
    return true;
  }

  void hear_open(const std::string& session, const std::string& data) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto [known, is_new] = sessions_.try_emplace(session);
      // Told again after a new connection: who asks knows nothing of it any more.
      if (!is_new && known->second.is_open) {
        send("opened", session);
        if (known->second.clients) send_clients(session, *known->second.clients);
      }
      if (!is_new) return;
    }
    try {
      if (on_open) on_open(session, data);
    } catch (const std::exception& problem) {
      failed(session, problem.what());
    }
  }

  void hear_close(const std::string& session, long long grace_ms) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto known = sessions_.find(session);
      if (known == sessions_.end()) {
        send("closed", session);
        return;
      }
      if (std::exchange(known->second.is_closing, true)) return;
    }
    if (on_close) {
      on_close(session, std::chrono::milliseconds(grace_ms));
    } else {
      closed(session);
    }
  }

  // --- Sending, with the lock -------------------------------------------------------------------

  bool send(const char* type, const std::string& session, const std::string& more = "") {
    return send_line(std::string("{\"type\":\"") + type +
                     "\",\"session\":" + session_detail::quoted(session) + more + "}\n");
  }
  void send_clients(const std::string& session, unsigned count) {
    send("clients", session, ",\"count\":" + std::to_string(count));
  }

  // False: there is nobody to say it to.
  bool send_line(const std::string& line) { return is_welcome_ && write(line); }

  bool write(std::string_view rest) {
    while (!rest.empty()) {
      const auto sent = ::send(fd_, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) return false;
      rest.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  const std::string socket_;
  const std::string token_;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  int fd_ = -1;
  bool is_welcome_ = false;   // on this connection, now
  bool was_welcome_ = false;  // on the last one
  std::map<std::string, Session> sessions_;
  std::vector<std::string> closed_meanwhile_;
  std::size_t closed_told_ = 0;  // of them with hello
};

}  // namespace berth

#endif  // BERTH_SESSION_HPP
