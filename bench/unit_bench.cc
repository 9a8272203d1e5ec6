#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>

#include "bench/bench.h"
#include "bench/clusters.h"
#include "bench/real_unit.h"
#include "codec/manifest.h"

namespace berth::bench {
namespace {

constexpr std::uint32_t kInstances = 1'000;
constexpr int kUnitStatuses = 500;
constexpr int kAgents = 100;
constexpr int kCallers = 8;
constexpr int kAppliesOfCaller = 200;
constexpr auto kIdle = std::chrono::seconds(10);

v1::ApplyRequest request_for(std::uint32_t instances) {
  v1::ApplyRequest request;
  auto& file = *request.add_files();
  file.set_name("bench.yaml");
  model::RunRequest run{.item = model::ItemId{"plain"}, .instances = instances};
  file.set_text(codec::to_json(plain_item()) + "\n---\n" +
                codec::to_json(model::Deployment{"all", {run}}));
  request.set_wait(true);
  return request;
}

// Until every instance has been reported active.
double apply(const RealUnit& unit) {
  const v1::ApplyRequest request = request_for(kInstances);
  bool finished = false;
  const auto start = Clock::now();
  const auto done = client::stream<v1::ApplyEvent>(
      unit.client(), {.method = client::Method::Post, .path = "/v1/apply", .body = &request},
      [&](const v1::ApplyEvent& event) { return !(finished = event.has_finished()); });
  const double seconds = seconds_since(start);
  if (!done || !finished) {
    throw std::runtime_error("apply: " + (done ? "not finished" : done.error().message));
  }
  return seconds;
}

// Each caller asks for a node configuration of its own, again and again, and waits until that is
// durable: applies per second.
double applies_of_callers(const RealUnit& unit, int count) {
  std::atomic<bool> failed = false;
  const auto ask = [&](int caller) {
    const client::Client client = unit.client();
    for (int i = 0; i < kAppliesOfCaller && !failed; ++i) {
      model::NodeConfig config;
      config.name = fmt::format("caller-{}", caller);
      config.node = model::NodeId(config.name);
      config.priority = i;
      v1::ApplyRequest request;
      auto& file = *request.add_files();
      file.set_name("bench.yaml");
      file.set_text(codec::to_json(config));
      const auto done = client::stream<v1::ApplyEvent>(
          client, {.method = client::Method::Post, .path = "/v1/apply", .body = &request},
          [](const v1::ApplyEvent& event) { return !event.has_accepted(); });
      if (!done) failed = true;
    }
  };
  const auto start = Clock::now();
  std::vector<std::thread> callers;
  for (int i = 0; i < count; ++i) callers.emplace_back(ask, i);
  for (std::thread& caller : callers) caller.join();
  if (failed) throw std::runtime_error("an apply of many at once failed");
  return count * kAppliesOfCaller / seconds_since(start);
}

// A watcher of the control plane, on a thread of its own, that counts what it is looking for.
class Watcher {
 public:
  using IsAwaited = std::function<bool(const v1::WatchEvent& event)>;

  Watcher(const RealUnit& unit, IsAwaited is_awaited)
      : is_awaited_(std::move(is_awaited)), thread_([this, &unit] { watch(unit); }) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(30), [&] { return synced_; });
  }
  ~Watcher() {
    {
      const std::lock_guard lock(mutex_);
      enough_ = true;
    }
    thread_.join();
  }

  // Seconds from the cause until it has seen one more; nullopt: it has not come.
  std::optional<double> time(const std::function<void()>& cause) {
    std::unique_lock lock(mutex_);
    const std::uint64_t before = seen_;
    const auto start = Clock::now();
    cause();
    const bool came =
        changed_.wait_for(lock, std::chrono::seconds(10), [&] { return seen_ > before; });
    return came ? std::optional(seconds_since(start)) : std::nullopt;
  }

 private:
  void watch(const RealUnit& unit) {
    const auto go_on = [this] {
      const std::lock_guard lock(mutex_);
      return !enough_;
    };
    const auto ended = client::stream<v1::WatchEvent>(
        unit.client(), {.method = client::Method::Get, .path = "/v1/watch", .body = nullptr},
        [&](const v1::WatchEvent& event) {
          {
            const std::lock_guard lock(mutex_);
            if (synced_ && is_awaited_(event)) ++seen_;
            if (event.has_synced()) synced_ = true;
          }
          changed_.notify_all();
          return go_on();
        },
        go_on);
    if (!ended) fmt::print(stderr, "watch: {}\n", ended.error().message);
  }

  const IsAwaited is_awaited_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool synced_ = false;
  bool enough_ = false;
  std::uint64_t seen_ = 0;
  std::thread thread_;
};

void add_times(std::vector<Row>& rows, const std::string& what, std::vector<double> times,
               const std::string& remark) {
  if (times.size() < 2) throw std::runtime_error(what + ": nothing reached the watcher");
  std::ranges::sort(times);
  rows.push_back({what + " p50", times[times.size() / 2] * 1e6, "us", remark});
  rows.push_back({what + " p99", times[times.size() * 99 / 100] * 1e6, "us", ""});
}

// Sends one status after the other, each when a watcher has seen the one before.
std::vector<double> statuses_to_watcher(const RealUnit& unit, InstantAgent& agent) {
  Watcher watcher(unit, [](const v1::WatchEvent& event) { return event.has_instance(); });
  const auto keys = agent.instances();
  std::vector<double> times;
  for (int i = 0; i < kUnitStatuses; ++i) {
    const auto state = i / static_cast<int>(keys.size()) % 2 == 0 ? model::InstanceState::Failed
                                                                  : model::InstanceState::Active;
    const auto& key = keys[static_cast<std::size_t>(i) % keys.size()];
    const auto time = watcher.time([&] { agent.report(key, state); });
    if (!time) break;
    times.push_back(*time);
  }
  return times;
}

// All agents of a site, which say that they are there as real ones do.
class Site {
 public:
  Site(const RealUnit& unit, int size) {
    for (int i = 0; i < size; ++i) {
      agents_.push_back(std::make_unique<InstantAgent>(unit, fmt::format("site-{}", i)));
    }
    heart_ = std::thread([this] { beat(); });
  }
  ~Site() {
    stopped_ = true;
    heart_.join();
  }

  InstantAgent& agent(std::size_t number) { return *agents_[number % agents_.size()]; }

 private:
  void beat() {
    for (std::size_t i = 0; !stopped_; ++i) {
      agent(i).beat();
      std::this_thread::sleep_for(std::chrono::milliseconds(2'000) / agents_.size());
    }
  }

  std::vector<std::unique_ptr<InstantAgent>> agents_;
  std::atomic<bool> stopped_ = false;
  std::thread heart_;
};

void wait_for_node(const RealUnit& unit, const std::string& name) {
  for (int i = 0; i < 1'000; ++i) {
    const auto nodes = client::call<v1::Nodes>(
        unit.client(), {.method = client::Method::Get, .path = "/v1/nodes", .body = nullptr});
    if (nodes && std::ranges::any_of(nodes->nodes(), [&](const v1::Node& node) {
          return node.name() == name && node.liveness() == "reachable";
        })) {
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  throw std::runtime_error(name + " does not connect");
}

void add_idle_rows(std::vector<Row>& rows, const std::string& who, pid_t pid) {
  const Footprint before = footprint_of(pid);
  std::this_thread::sleep_for(kIdle);
  const Footprint after = footprint_of(pid);
  const double seconds = std::chrono::duration<double>(kIdle).count();
  rows.push_back({"idle " + who, after.anonymous_mib, "MiB anonymous", ""});
  rows.push_back({"", after.resident_mib, "MiB resident", ""});
  rows.push_back({"", (after.cpu_seconds - before.cpu_seconds) / seconds * 100, "% of a core", ""});
  rows.push_back({"", after.written_bytes - before.written_bytes, "bytes written", ""});
}

}  // namespace

std::vector<Row> readiness_to_view() {
  RealUnit unit;
  Site site(unit, kAgents);
  for (int i = 0; i < kAgents; ++i) wait_for_node(unit, fmt::format("site-{}", i));
  std::string awaited;
  const auto is_it = [&](const v1::WatchEvent& event) {
    return event.has_node() && event.node().runtimes_size() > 0 &&
           event.node().runtimes(0).ready() == awaited;
  };
  std::vector<double> times;
  Watcher watcher(unit, is_it);
  for (const auto readiness : {model::Readiness::NotReady, model::Readiness::Ready}) {
    for (std::size_t i = 0; i < kAgents; ++i) {
      const auto time = watcher.time([&] {
        awaited = model::to_string(readiness);
        site.agent(i).report(readiness);
      });
      if (time) times.push_back(*time);
    }
  }
  std::vector<Row> rows;
  add_times(rows, "readiness", std::move(times),
            fmt::format("{} agents, from a change to the control plane's view", kAgents));
  return rows;
}

std::vector<Row> many_callers() {
  const RealUnit unit;
  applies_of_callers(unit, kCallers);  // the first time is another
  const char* remark = "each waits until its own is durable";
  return {{"one caller", applies_of_callers(unit, 1), "applies per second", remark},
          {fmt::format("{} callers", kCallers), applies_of_callers(unit, kCallers),
           "applies per second", remark}};
}

std::vector<Row> real_unit() {
  std::vector<Row> rows;
  {
    RealUnit unit;
    InstantAgent agent(unit, "bench");
    wait_for_node(unit, "bench");
    rows.push_back({"apply", apply(unit) / kInstances * 1e6, "us per instance",
                    fmt::format("{} instances, until all are active", kInstances)});
    add_times(rows, "status", statuses_to_watcher(unit, agent), "from agent to watcher");
  }
  RealUnit unit;
  const auto agent = unit.start_agent("idle");
  wait_for_node(unit, "idle");
  std::this_thread::sleep_for(std::chrono::seconds(3));
  add_idle_rows(rows, "berthd", unit.control_pid());
  add_idle_rows(rows, "berth-agent", agent->pid());
  return rows;
}

}  // namespace berth::bench
