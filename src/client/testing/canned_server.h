#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

// A control plane for tests that says what it was told to say.
namespace berth::client::testing {

struct Canned {
  int status = 200;
  std::string type = "application/json";
  std::vector<std::string> pieces;  // of the body, sent one by one
  bool hold = false;                // keep the connection open afterwards, until the server goes
};

struct Received {
  std::string line;  // "GET /v1/nodes"
  std::string body;
};

// Serves HTTP/1.1 on a unix socket in a new directory, one connection after another on a thread of
// its own. What it has no answer for is 404 in the API's form of errors.
class CannedServer {
 public:
  CannedServer();
  ~CannedServer();
  CannedServer(const CannedServer&) = delete;
  CannedServer& operator=(const CannedServer&) = delete;

  // The answer to "GET /v1/nodes", with whatever query; a second one for the same is for the second
  // request, the last one for all further ones.
  void answer(const std::string& line, Canned canned);
  void answer(const std::string& line, const std::string& json);
  // As server-sent events.
  void stream(const std::string& line, const std::vector<std::string>& events, bool hold = false);

  const std::string& socket() const { return socket_; }
  std::vector<Received> received() const;

 private:
  void serve();
  void serve_one(int connection);
  Canned take_answer(const std::string& line);

  std::string directory_;
  std::string socket_;
  int listener_ = -1;
  std::atomic<bool> stopping_ = false;
  mutable std::mutex mutex_;
  std::map<std::string, std::vector<Canned>> answers_;
  std::vector<Received> received_;
  std::vector<int> held_;
  std::thread thread_;
};

}  // namespace berth::client::testing
