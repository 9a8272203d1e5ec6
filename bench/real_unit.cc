#include "bench/real_unit.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "base/time.h"
#include "bench/clusters.h"
#include "bench/must.h"
#include "codec/wire.h"
#include "trust/join.h"

namespace berth::bench {
namespace {

namespace fs = std::filesystem;

fs::path own_directory() { return fs::read_symlink("/proc/self/exe").parent_path(); }

void wait_until(const char* what, const std::function<bool()>& holds) {
  for (int i = 0; i < 3'000; ++i) {
    if (holds()) return;
    std::this_thread::sleep_for(10ms);
  }
  throw std::runtime_error(fmt::format("waited 30 s for {}", what));
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The number after "name:" in the files of /proc.
double number_after(const std::string& text, const std::string& name) {
  const auto at = text.find(name + ":");
  return at == std::string::npos ? 0 : std::stod(text.substr(at + name.size() + 1));
}

double cpu_seconds_of(pid_t pid) {
  const std::string stat = text_of(fmt::format("/proc/{}/stat", pid));
  std::istringstream fields(stat.substr(stat.rfind(')') + 2));
  std::string skipped;
  for (int i = 3; i < 14; ++i) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace

Program::Program(const std::string& name, std::vector<std::string> arguments, const fs::path& log) {
  const std::string path = own_directory() / name;
  std::vector<char*> argv{const_cast<char*>(path.c_str())};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  const int failed = posix_spawn(&pid_, path.c_str(), &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) throw std::runtime_error(fmt::format("{} could not be started", path));
}

Program::~Program() {
  kill(pid_, SIGTERM);
  waitpid(pid_, nullptr, 0);
}

Footprint footprint_of(pid_t pid) {
  const std::string memory = text_of(fmt::format("/proc/{}/smaps_rollup", pid));
  const std::string io = text_of(fmt::format("/proc/{}/io", pid));
  return {.anonymous_mib = number_after(memory, "Anonymous") / 1024,
          .resident_mib = number_after(memory, "Rss") / 1024,
          .cpu_seconds = cpu_seconds_of(pid),
          .written_bytes = number_after(io, "write_bytes")};
}

void RealUnit::start_control(const std::string& grpc, const std::string& https) {
  control_ = std::make_unique<Program>(
      "berthd",
      std::vector<std::string>{"--state-dir", directory() / "control", "--socket",
                               directory() / "berthd.sock", "--listen-grpc", grpc, "--listen-https",
                               https, "--min-healthy", "0s"},
      directory() / "berthd.log");
}

double RealUnit::restart() {
  control_.reset();
  const auto start = std::chrono::steady_clock::now();
  start_control(grpc_, https_);
  for (int i = 0; i < 30'000; ++i) {
    const auto nodes = client::call<v1::Nodes>(
        client(), {.method = client::Method::Get, .path = "/v1/nodes", .body = nullptr});
    if (nodes) {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    std::this_thread::sleep_for(1ms);
  }
  throw std::runtime_error("berthd does not answer after its restart");
}

RealUnit::RealUnit() {
  fs::permissions(directory(), fs::perms{0711});
  start_control("127.0.0.1:0", "127.0.0.1:0");
  const fs::path endpoints = directory() / "control" / "endpoints.json";
  wait_until("berthd to listen", [&] { return fs::exists(endpoints); });
  const auto json = nlohmann::json::parse(text_of(endpoints));
  grpc_ = json.at("grpc");
  https_ = json.at("https");
}

client::Client RealUnit::client() const {
  return client::Client(client::UnixSocket{directory() / "berthd.sock"});
}

std::string RealUnit::token_for(const std::string& role, const std::string& name) const {
  v1::CreateJoinTokenRequest request;
  request.set_role(role);
  request.set_name(name);
  return must(client::call<v1::JoinToken>(
                  client(),
                  {.method = client::Method::Post, .path = "/v1/join-tokens", .body = &request}),
              "join token")
      .token();
}

trust::Credentials RealUnit::join(const std::string& role, const std::string& name) const {
  const trust::Token token = must(trust::parse_token(token_for(role, name)), "token");
  const std::string key = trust::make_key();
  const trust::Joined joined = must(trust::join(https_, token, name, key, 10s), "join");
  return {.own = {key, joined.certificate}, .authority = joined.authority};
}

link::AgentEndConfig RealUnit::link_for(const std::string& node) const {
  const trust::Credentials credentials = join("node", node);
  return {.server = grpc_,
          .node = node,
          .boot_id = "bench",
          .version = "bench",
          .authority = credentials.authority,
          .identity = credentials.own};
}

void RealUnit::wait_for_nodes(int count) const {
  const auto is_reachable = [](const v1::Node& node) { return node.liveness() == "reachable"; };
  wait_until("the agents", [&] {
    const auto nodes = client::call<v1::Nodes>(
        client(), {.method = client::Method::Get, .path = "/v1/nodes", .body = nullptr});
    return nodes && std::ranges::count_if(nodes->nodes(), is_reachable) == count;
  });
}

std::unique_ptr<Program> RealUnit::start_agent(const std::string& node,
                                               const std::string& runtimes) const {
  const std::string state = directory() / ("agent-" + node);
  const fs::path log = directory() / ("agent-" + node + ".log");
  {
    const Program join("berth-agent",
                       {"join", "https://" + https_, token_for("node", node), "--name", node,
                        "--state-dir", state},
                       log);
    waitpid(join.pid(), nullptr, 0);
  }
  return std::make_unique<Program>(
      "berth-agent",
      std::vector<std::string>{"--state-dir", state, "--runtimes", runtimes, "--network", "off",
                               "--images-dir", directory(), "--stop-instances-on-exit", "true",
                               // Others may use this machine too.
                               "--capacity-cpu", "1000000", "--capacity-ram", "1Ti"},
      log);
}

InstantAgent::InstantAgent(const RealUnit& unit, const std::string& node) : node_(plain_node()) {
  link::AgentEndListener listener{
      .connected = [this](std::uint64_t connection) { connected(connection); },
      .disconnected = [](std::uint64_t, const std::string&) {},
      .received = [this](std::uint64_t connection,
                         const v1::ToAgent& message) { carry_out(connection, message); }};
  const std::lock_guard lock(mutex_);
  end_ = std::make_unique<link::AgentEnd>(unit.link_for(node), std::move(listener));
}

void InstantAgent::connected(std::uint64_t connection) {
  const std::lock_guard lock(mutex_);
  connection_ = connection;
  pool_.connected();
  send_full();
}

void InstantAgent::carry_out(std::uint64_t connection, const v1::ToAgent& message) {
  const std::lock_guard lock(mutex_);
  if (connection != connection_) return;
  if (message.has_pool_command()) return carry_out(message.pool_command());
  if (!message.has_command()) return;
  const model::Command command = must(codec::from_wire(message.command()), "command");
  acted_ = std::max(acted_, command.number);
  if (!command.base) statuses_.clear();
  for (const model::InstanceKey& key : command.stop) statuses_.erase(key);
  std::vector<model::ReportedStatus> started;
  for (const model::InstanceSpec& spec : command.run) {
    started.push_back({.key = spec.key,
                       .version = spec.item.version,
                       .runtime = spec.runtime,
                       .state = model::InstanceState::Active});
    statuses_[spec.key] = started.back();
  }
  if (!command.base || !command.stop.empty()) return send_full();
  if (started.empty()) return send({.boot_id = "bench", .revision = revision_, .acted = acted_});
  model::Report report{.boot_id = "bench", .revision = ++revision_, .acted = acted_};
  report.instances = std::move(started);
  send(std::move(report));
}

void InstantAgent::carry_out(const v1::PoolCommand& message) {
  model::Report report{.boot_id = "bench", .revision = ++revision_, .acted = acted_};
  report.pool = pool_.answer(must(codec::from_wire(message), "pool command"));
  send(std::move(report));
}

void InstantAgent::send_full() {
  model::Report report{.boot_id = "bench", .revision = ++revision_, .acted = acted_};
  report.full = true;
  report.node = node_;
  for (const auto& [key, status] : statuses_) report.instances.push_back(status);
  report.pool = pool_.all();
  send(std::move(report));
}

void InstantAgent::report(const model::InstanceKey& key, model::InstanceState state) {
  const std::lock_guard lock(mutex_);
  model::ReportedStatus& status = statuses_.at(key);
  status.state = state;
  model::Report report{.boot_id = "bench", .revision = ++revision_, .acted = acted_};
  report.instances.push_back(status);
  send(std::move(report));
}

void InstantAgent::report(model::Readiness readiness) {
  const std::lock_guard lock(mutex_);
  node_.runtimes.front().ready = readiness;
  model::Report report{.boot_id = "bench", .revision = ++revision_, .acted = acted_};
  report.node = node_;
  send(std::move(report));
}

void InstantAgent::beat() {
  const std::lock_guard lock(mutex_);
  send({.boot_id = "bench", .revision = revision_, .acted = acted_});
}

void InstantAgent::send(model::Report report) {
  v1::FromAgent message;
  *message.mutable_report() = codec::to_wire(report);
  if (end_) end_->send(connection_, std::move(message));
}

std::vector<model::InstanceKey> InstantAgent::instances() const {
  const std::lock_guard lock(mutex_);
  std::vector<model::InstanceKey> keys;
  for (const auto& [key, status] : statuses_) keys.push_back(key);
  return keys;
}

}  // namespace berth::bench
