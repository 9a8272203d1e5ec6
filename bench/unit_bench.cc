#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <stdexcept>
#include <thread>

#include "bench/bench.h"
#include "bench/clusters.h"
#include "bench/real_unit.h"
#include "codec/manifest.h"

namespace berth::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kInstances = 1'000;
constexpr int kStatuses = 500;
constexpr auto kIdle = std::chrono::seconds(10);

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

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

// Sends one status after the other, each when a watcher has seen the one before.
std::vector<double> statuses_to_watcher(const RealUnit& unit, InstantAgent& agent) {
  std::mutex mutex;
  std::condition_variable changed;
  bool synced = false;
  int seen = 0;
  bool enough = false;
  std::thread watcher([&] {
    const auto ended = client::stream<v1::WatchEvent>(
        unit.client(), {.method = client::Method::Get, .path = "/v1/watch", .body = nullptr},
        [&](const v1::WatchEvent& event) {
          const std::lock_guard lock(mutex);
          if (event.has_instance() && synced) ++seen;
          if (event.has_synced()) synced = true;
          changed.notify_all();
          return !enough;
        },
        [&] {
          const std::lock_guard lock(mutex);
          return !enough;
        });
    if (!ended) fmt::print(stderr, "watch: {}\n", ended.error().message);
  });
  const auto keys = agent.instances();
  std::vector<double> times;
  {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, std::chrono::seconds(30), [&] { return synced; });
    for (int i = 0; i < kStatuses; ++i) {
      const auto state = i / static_cast<int>(keys.size()) % 2 == 0 ? model::InstanceState::Failed
                                                                    : model::InstanceState::Active;
      const auto start = Clock::now();
      agent.report(keys[static_cast<std::size_t>(i) % keys.size()], state);
      const bool came = changed.wait_for(lock, std::chrono::seconds(10), [&] { return seen > i; });
      if (!came) break;
      times.push_back(seconds_since(start));
    }
    enough = true;
  }
  watcher.join();
  std::ranges::sort(times);
  return times;
}

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

std::vector<Row> real_unit() {
  std::vector<Row> rows;
  {
    RealUnit unit;
    InstantAgent agent(unit, "bench");
    wait_for_node(unit, "bench");
    rows.push_back({"apply", apply(unit) / kInstances * 1e6, "us per instance",
                    fmt::format("{} instances, until all are active", kInstances)});
    const std::vector<double> times = statuses_to_watcher(unit, agent);
    if (times.size() < 2) throw std::runtime_error("no status reached the watcher");
    rows.push_back({"status p50", times[times.size() / 2] * 1e6, "us", "from agent to watcher"});
    rows.push_back({"status p99", times[times.size() * 99 / 100] * 1e6, "us", ""});
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
