#include "controld/testing/plane.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <future>
#include <thread>

#include "base/check.h"

namespace berth::controld {

Result<void> MoodyStore::commit_if(const std::optional<store::Fence>& fence,
                                   const std::vector<store::Change>& batch) {
  const Duration takes = takes_;
  ++attempts_;
  held_.wait(true);
  std::this_thread::sleep_for(takes);
  if (failing_) return Error{Code::Exhausted, "no space left on device"};
  const std::lock_guard lock(mutex_);
  TRY(store_.commit_if(fence, batch));
  ++commits_;
  return {};
}

Result<std::optional<std::string>> MoodyStore::get(std::string_view key) const {
  const std::lock_guard lock(mutex_);
  return store_.get(key);
}

Result<store::Revision> MoodyStore::revision() const {
  const std::lock_guard lock(mutex_);
  return store_.revision();
}

Result<std::optional<std::vector<store::Commit>>> MoodyStore::changes_since(
    store::Revision revision) const {
  const std::lock_guard lock(mutex_);
  return store_.changes_since(revision);
}

Result<std::vector<store::Entry>> MoodyStore::list(std::string_view prefix) const {
  const std::lock_guard lock(mutex_);
  return store_.list(prefix);
}

void MoodyStore::seize(const store::Change& change) {
  const std::lock_guard lock(mutex_);
  CHECK(store_.commit({change}).has_value(), "nobody can write");
}

std::map<std::string, std::string, std::less<>> MoodyStore::contents() const {
  const std::lock_guard lock(mutex_);
  return disk_.contents();
}

// Answers each command with a report that everything is as it should be.
class Plane::FakeNode {
 public:
  explicit FakeNode(std::string name) : name_(std::move(name)) {}

  model::Report full() {
    model::Report report = begin();
    report.full = true;
    report.node.emplace();
    report.node->type = "test";
    report.node->capacity = {Dmips(10'000), Bytes(1 << 30)};
    report.node->runtimes.push_back(
        {.id = model::RuntimeId("process"), .type = model::RuntimeType::Process});
    for (const auto& [key, status] : statuses_) report.instances.push_back(status);
    report.pool.emplace();
    report.pool->acted = pool_acted_;
    for (const auto& [key, instance] : pool_) report.pool->instances.push_back(instance);
    for (const auto& [ref, session] : sessions_) report.pool->sessions.push_back(session);
    return report;
  }

  model::Report answer(const model::PoolCommand& command) {
    model::Report report = begin();
    report.pool.emplace();
    report.pool->acted = pool_acted_ = command.number;
    for (const model::PoolOrder& order : command.orders) {
      std::visit([&](const auto& told) { obey(told, *report.pool); }, order);
    }
    return report;
  }

  model::Report answer(const model::Command& command) {
    acted_ = command.number;
    for (const auto& key : command.stop) statuses_.erase(key);
    for (const auto& spec : command.run) {
      statuses_[spec.key] = {
          .key = spec.key,
          .type = spec.item.type,
          .version = spec.item.version,
          .runtime = spec.runtime,
          .state = spec.paused ? model::InstanceState::Paused : model::InstanceState::Active};
    }
    return full();
  }

 private:
  void obey(const model::StartPoolInstance& start, model::PoolReport& report) {
    model::ReportedPoolInstance& instance = pool_[start.spec.key];
    instance.key = start.spec.key;
    instance.item = start.spec.item.id.value();
    instance.version = start.spec.item.version;
    instance.edition = start.edition;
    instance.runtime = start.spec.runtime;
    instance.uid = start.spec.uid;
    instance.state = model::PoolInstanceState::Running;
    report.instances.push_back(instance);
  }
  void obey(const model::StopPoolInstance& stop, model::PoolReport& report) {
    auto node = pool_.extract(stop.key);
    if (node.empty()) return;
    node.mapped().state = model::PoolInstanceState::Gone;
    report.instances.push_back(node.mapped());
  }
  void obey(const model::SetPoolPausing& set, model::PoolReport& report) {
    model::ReportedPoolInstance& instance = pool_.at(set.key);
    instance.state = set.pausing == model::Pausing::Paused ? model::PoolInstanceState::Paused
                                                           : model::PoolInstanceState::Running;
    report.instances.push_back(instance);
  }
  void obey(const model::OpenSession& open, model::PoolReport& report) {
    model::ReportedSession& session = sessions_[open.session.ref];
    session.session = open.session;
    session.state = model::SessionState::Available;
    report.sessions.push_back(session);
  }
  void obey(const model::CloseSession& close, model::PoolReport& report) {
    auto node = sessions_.extract(close.ref);
    if (node.empty()) return;
    node.mapped().state = model::SessionState::Closed;
    node.mapped().reason = close.reason;
    report.sessions.push_back(node.mapped());
  }

  model::Report begin() {
    model::Report report;
    report.boot_id = "boot";
    report.revision = ++revision_;
    report.acted = acted_;
    return report;
  }

  std::string name_;
  std::uint64_t revision_ = 0;
  model::CommandNumber acted_;
  std::map<model::InstanceKey, model::ReportedStatus> statuses_;
  std::uint64_t pool_acted_ = 0;
  std::map<model::InstanceKey, model::ReportedPoolInstance> pool_;
  std::map<model::SessionRef, model::ReportedSession> sessions_;
};

namespace {

std::filesystem::path make_directory() {
  std::string pattern = (std::filesystem::temp_directory_path() / "berth-plane-XXXXXX").string();
  CHECK(mkdtemp(pattern.data()) != nullptr, "no temporary directory");
  return pattern;
}

std::unique_ptr<ServerIdentity> make_identity(const std::filesystem::path& directory) {
  auto identity = ServerIdentity::open(directory, {"localhost", "127.0.0.1"},
                                       std::chrono::system_clock::now(), std::chrono::hours(1000));
  CHECK(identity.has_value(), "no identity");
  return std::move(*identity);
}

}  // namespace

Plane::Plane(Options options)
    : directory_(make_directory()),
      socket_((directory_ / "berthd.sock").string()),
      identity_(options.with_https ? make_identity(directory_) : nullptr),
      streams_([this](std::uint64_t, v1::ToAgent message) {
        const std::lock_guard lock(mutex_);
        sent_.push_back(std::move(message));
      }),
      loop_(store_, {.node_lost_grace = 60s, .settle_time = 0s, .min_healthy = 0s}, {},
            {.send = [this](const control::Outgoing& outgoing) { send(outgoing); },
             .send_pool = [this](const control::PoolOutgoing& outgoing) { send_pool(outgoing); },
             .tell_sessions =
                 [this](const auto& controller, const auto& effects) {
                   publisher_.tell_sessions(controller, effects);
                 },
             .stepped =
                 [this](const auto& controller, const auto& effects) {
                   return publisher_.stepped(controller, effects);
                 }},
            options.limits, options.fence),
      planner_(loop_, options.planner),
      services_{.loop = loop_,
                .hub = hub_,
                .events = events_,
                .workers = workers_,
                .planner = planner_,
                .streams = streams_,
                .identity = identity_.get(),
                .version = "test"} {
  auto server = http::Server::open(services_, {.socket = socket_,
                                               .https = options.with_https ? "127.0.0.1:0" : "",
                                               .limits = options.http});
  CHECK(server.has_value(), "no server");
  http_ = std::move(*server);
  if (identity_) {
    services_.endpoints = std::make_shared<const api::Endpoints>(api::Endpoints{
        .https = "127.0.0.1:" + std::to_string(http_->https_port()), .grpc = "127.0.0.1:1"});
    CHECK(http_->set_identity(identity_->server(), identity_->authority().pem().certificate)
              .has_value(),
          "no certificate");
  }
  thread_ = std::thread([this] { loop_.run(); });
  http_->start();
}

Plane::~Plane() {
  loop_.stop();
  store_.let_go();
  thread_.join();
  planner_.stop();
  hub_.stop();
  workers_.stop();
  streams_.close();
  http_->stop();
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

void Plane::send(const control::Outgoing& outgoing) {
  const std::lock_guard lock(mutex_);
  const auto node = nodes_.find(outgoing.node.value());
  if (node == nodes_.end()) return;
  // What was decided leaves although the loop is stopping, and takes no answer any more.
  (void)loop_.post(control::NodeReported{outgoing.node, outgoing.connection,
                                         node->second->answer(outgoing.command)});
}

void Plane::send_pool(const control::PoolOutgoing& outgoing) {
  const std::lock_guard lock(mutex_);
  pool_commands_.push_back(outgoing);
  const auto node = nodes_.find(outgoing.node.value());
  if (node == nodes_.end()) return;
  (void)loop_.post(control::NodeReported{outgoing.node, outgoing.connection,
                                         node->second->answer(outgoing.command)});
}

std::vector<control::PoolOutgoing> Plane::pool_commands() const {
  const std::lock_guard lock(mutex_);
  return pool_commands_;
}

void Plane::add_node(const std::string& name) {
  std::vector<control::Event> events;
  {
    const std::lock_guard lock(mutex_);
    auto& node = nodes_[name] = std::make_unique<FakeNode>(name);
    const control::ConnectionId connection = nodes_.size();
    events.emplace_back(control::NodeConnected{model::NodeId(name), connection});
    events.emplace_back(control::NodeReported{model::NodeId(name), connection, node->full()});
  }
  for (control::Event& event : events) CHECK(loop_.post(std::move(event)), "the mailbox is full");
  wait_until([&](const control::Controller& controller) {
    const auto known = controller.nodes().find(model::NodeId(name));
    return known != controller.nodes().end() && known->second.reachable();
  });
}

void Plane::wait_for(const std::function<void(const control::Controller&)>& query) {
  std::promise<void> done;
  CHECK(loop_.post(Loop::Query([&](const control::Controller& controller) {
    query(controller);
    done.set_value();
  })),
        "the mailbox is full");
  done.get_future().wait();
}

void Plane::wait_until(const std::function<bool(const control::Controller&)>& condition) {
  while (!ask<bool>(condition)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

std::vector<v1::ToAgent> Plane::sent_to_agents() const {
  const std::lock_guard lock(mutex_);
  return sent_;
}

int connect_to(const std::string& path) {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    return socket;
  }
  ::close(socket);
  return -1;
}

std::string talk(int socket, const std::string& request,
                 const std::function<bool(const std::string&)>& done) {
  std::string_view rest = request;
  while (!rest.empty()) {
    const ssize_t sent = ::send(socket, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent <= 0) break;  // what was answered can still be read
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
  std::string answer;
  char buffer[4096];
  while (!done(answer)) {
    const ssize_t count = ::recv(socket, buffer, sizeof buffer, 0);
    if (count <= 0) break;
    answer.append(buffer, static_cast<std::size_t>(count));
  }
  return answer;
}

int Plane::connect() const { return connect_to(socket_); }

std::string Plane::exchange(const std::string& request) const {
  const int socket = connect();
  CHECK(socket >= 0, "nobody listens");
  const std::string answer = talk(socket, request, [](const std::string&) { return false; });
  ::close(socket);
  return answer;
}

std::string Plane::get(const std::string& path) const {
  return exchange("GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
}

std::string Plane::post(const std::string& path, const std::string& body) const {
  return exchange("POST " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: " +
                  std::to_string(body.size()) + "\r\n\r\n" + body);
}

}  // namespace berth::controld
