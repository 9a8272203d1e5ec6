#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "link/agent_end.h"
#include "link/gate.h"
#include "link/server_end.h"
#include "trust/certificate.h"

namespace grpc {
class Channel;
class Server;
}  // namespace grpc

// For tests of the link: a unit with an authority of its own, servers and agents on loopback.
namespace berth::link::testing {

// What was told, as lines, in order. Any thread may add and wait.
class Log {
 public:
  void add(std::string line);
  std::vector<std::string> lines() const;
  std::size_t count(std::string_view line) const;

  // Whether the line comes (so many times) before a generous deadline.
  bool wait_for(std::string_view line, std::size_t times = 1) const;

 private:
  std::size_t count_locked(std::string_view line) const;

  mutable std::mutex mutex_;
  mutable std::condition_variable added_;
  std::vector<std::string> lines_;
};

// An authority, and a directory with the credentials of a server.
class Unit {
 public:
  Unit();
  ~Unit();
  Unit(const Unit&) = delete;
  Unit& operator=(const Unit&) = delete;

  const std::filesystem::path& directory() const { return directory_; }
  const std::string& authority() const { return authority_.pem().certificate; }
  trust::KeyAndCertificate identity(trust::Role role, const std::string& name) const;

  // Writes the server's credentials to a directory.
  void save_server(const std::filesystem::path& directory) const;

 private:
  trust::Authority authority_;
  std::filesystem::path directory_;
};

// A server with a ServerEnd, on a free port of loopback or the one given. Logs "connected n1",
// "disconnected n1", "n1 reported 7".
class LinkServer {
 public:
  struct Options {
    ServerEndConfig config;
    int port = 0;
    bool takes_messages = true;
    bool is_secure = true;
    std::filesystem::path directory;  // empty: the unit's
    GateConfig gate = {.host = "127.0.0.1"};
  };

  explicit LinkServer(const Unit& unit) : LinkServer(unit, Options()) {}
  LinkServer(const Unit& unit, Options options);
  ~LinkServer();

  ServerEnd& end() { return *end_; }
  const Log& log() const { return log_; }
  Gate& gate() { return *gate_; }
  int port() const { return gate_->port(); }
  std::string address() const;

  std::uint64_t last_connection() const;

 private:
  ServerEndListener listener(bool takes_messages);

  Log log_;
  mutable std::mutex mutex_;
  std::uint64_t last_connection_ = 0;
  std::unique_ptr<ServerEnd> end_;
  std::unique_ptr<Gate> gate_;
  std::unique_ptr<grpc::Server> server_;
};

// Logs "connected", "disconnected", "failed", "commanded 7"; keeps the reasons.
class LinkAgent {
 public:
  explicit LinkAgent(AgentEndConfig config);
  LinkAgent(const Unit& unit, const std::string& address, const std::string& node = "n1");

  AgentEnd& end() { return *end_; }
  const Log& log() const { return log_; }
  const Log& reasons() const { return reasons_; }

  std::uint64_t connection() const;  // the last
  void report(std::uint64_t revision, std::size_t padding = 0);

 private:
  Log log_;
  Log reasons_;
  mutable std::mutex mutex_;
  std::uint64_t connection_ = 0;
  std::unique_ptr<AgentEnd> end_;
};

AgentEndConfig agent_config(const Unit& unit, const std::string& address, const std::string& node);

// A channel to the server with this identity; an empty one: without a certificate.
std::shared_ptr<grpc::Channel> channel_to(const std::string& address, const std::string& authority,
                                          const trust::KeyAndCertificate& identity);

v1::ToAgent a_command(std::uint64_t number, std::size_t padding = 0);
v1::FromAgent a_hello(const std::string& node);
v1::FromAgent a_report(std::uint64_t revision, std::size_t padding = 0);

}  // namespace berth::link::testing
