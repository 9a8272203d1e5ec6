#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "controld/api/services.h"
#include "controld/http/server.h"
#include "controld/watch/publisher.h"
#include "store/memory/memory_store.h"

// A control plane in one process for tests: loop, hub and HTTP front, with a store in memory and
// agents that tests play themselves.
namespace berth::controld {

// A store that fails, or is slow, as long as it is told to.
class MoodyStore final : public store::Store {
 public:
  Result<void> commit_if(const std::optional<store::Fence>& fence,
                         const std::vector<store::Change>& batch) override;
  Result<std::optional<std::string>> get(std::string_view key) const override;
  Result<std::vector<store::Entry>> list(std::string_view prefix) const override;
  Result<store::Revision> revision() const override;
  Result<std::optional<std::vector<store::Commit>>> changes_since(
      store::Revision revision) const override;

  void fail(bool failing) { failing_ = failing; }
  // Somebody else writes.
  void seize(const store::Change& change);
  // Commits do not come to an end until it is let go.
  void hold() { held_ = true; }
  void let_go() {
    held_ = false;
    held_.notify_all();
  }
  // How long a commit takes that is not held.
  void take(Duration time) { takes_ = time; }
  std::size_t attempts() const { return attempts_; }
  std::size_t commits() const { return commits_; }
  // What the disk has; safe while the loop runs.
  std::map<std::string, std::string, std::less<>> contents() const;

 private:
  mutable std::mutex mutex_;
  store::MemoryDisk disk_;
  store::MemoryStore store_{disk_};
  std::atomic<bool> failing_ = false;
  std::atomic<bool> held_ = false;
  std::atomic<Duration> takes_ = Duration{};
  std::atomic<std::size_t> attempts_ = 0;
  std::atomic<std::size_t> commits_ = 0;
};

class Plane {
 public:
  struct Options {
    LoopLimits limits = {.mailbox = 100'000, .retry_commit_after = 5ms};
    bool with_https = false;
    http::Limits http = {};
    PlannerLimits planner = {};
    std::optional<store::Fence> fence = {};
  };
  Plane() : Plane(Options()) {}
  explicit Plane(Options options);
  ~Plane();

  Loop& loop() { return loop_; }
  WatchHub& hub() { return hub_; }
  EventLog& events() { return events_; }
  StreamRelay& streams() { return streams_; }
  Planner& planner() { return planner_; }
  MoodyStore& store() { return store_; }
  const api::Services& services() const { return services_; }
  const std::string& socket() const { return socket_; }
  std::uint16_t https_port() const { return http_->https_port(); }
  const ServerIdentity& identity() const { return *identity_; }

  // A node that joins, with one runtime for programs, and carries out whatever it is told at once.
  void add_node(const std::string& name);

  // Runs the query and waits for what it gives.
  template <class T>
  T ask(std::function<T(const control::Controller&)> query) {
    T result{};
    wait_for([&](const control::Controller& controller) { result = query(controller); });
    return result;
  }
  // Waits until it is so, looking after each change; a test that waits in vain fails by its
  // timeout.
  void wait_until(const std::function<bool(const control::Controller&)>& condition);

  // What was sent to agents beside commands.
  std::vector<v1::ToAgent> sent_to_agents() const;

  // What was told to agents about their pools.
  std::vector<control::PoolOutgoing> pool_commands() const;

  // One request over the unix socket, and all that comes until the server closes; head and body.
  std::string exchange(const std::string& request) const;
  std::string get(const std::string& path) const;
  std::string post(const std::string& path, const std::string& body) const;
  int connect() const;

 private:
  class FakeNode;

  void wait_for(const std::function<void(const control::Controller&)>& query);
  void send(const control::Outgoing& outgoing);
  void send_pool(const control::PoolOutgoing& outgoing);

  std::filesystem::path directory_;
  std::string socket_;
  MoodyStore store_;
  std::unique_ptr<ServerIdentity> identity_;
  std::unique_ptr<http::Server> http_;
  shell::Workers workers_{2, 1000};
  EventLog events_;
  WatchHub hub_;
  mutable std::mutex mutex_;
  std::vector<v1::ToAgent> sent_;
  std::vector<control::PoolOutgoing> pool_commands_;
  std::map<std::string, std::unique_ptr<FakeNode>> nodes_;
  StreamRelay streams_;
  Publisher publisher_{events_, hub_};
  Loop loop_;
  Planner planner_;
  api::Services services_;
  std::thread thread_;
};

// A connection to the socket at `path`; -1 if there is none.
int connect_to(const std::string& path);
// Sends it all, reads until `done` is content with what has come or the other side closes.
std::string talk(int socket, const std::string& request,
                 const std::function<bool(const std::string&)>& done);

}  // namespace berth::controld
