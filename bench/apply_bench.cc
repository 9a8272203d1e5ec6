#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>

#include "bench/bench.h"
#include "bench/clusters.h"
#include "bench/real_unit.h"
#include "codec/manifest.h"

namespace berth::bench {
namespace {

bool answers(const RealUnit& unit) {
  return client::call<v1::Nodes>(
             unit.client(), {.method = client::Method::Get, .path = "/v1/nodes", .body = nullptr})
      .has_value();
}

using Agents = std::vector<std::unique_ptr<InstantAgent>>;

// Somebody else, who asks again and again, while the agents go on talking.
class Bystander {
 public:
  Bystander(const RealUnit& unit, const Agents& agents)
      : thread_([this, &unit, &agents] { ask(unit, agents); }) {}
  ~Bystander() { stop(); }

  // The longest that an answer has taken.
  double stop() {
    stops_ = true;
    if (thread_.joinable()) thread_.join();
    return longest_;
  }

 private:
  void ask(const RealUnit& unit, const Agents& agents) {
    auto last_beat = Clock::now();
    while (!stops_) {
      const auto start = Clock::now();
      if (answers(unit)) longest_ = std::max(longest_, seconds_since(start));
      if (seconds_since(last_beat) > 1) {
        for (const auto& agent : agents) agent->beat();
        last_beat = Clock::now();
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  std::atomic<bool> stops_ = false;
  double longest_ = 0;
  std::thread thread_;
};

// A real control plane, and agents that carry out commands at once.
class Applied {
 public:
  explicit Applied(int agents) {
    for (int i = 0; i < agents; ++i) {
      agents_.push_back(std::make_unique<InstantAgent>(unit_, fmt::format("node-{}", i)));
    }
    unit_.wait_for_nodes(agents);
  }

  RealUnit& unit() { return unit_; }
  const Agents& agents() const { return agents_; }

  // A deployment of its own; until it is durable, or until all of it is active.
  enum class Until { Durable, Active };
  void ask(const std::string& name, std::uint32_t instances, Until until,
           const std::string& label = "") {
    model::RunRequest run{
        .item = model::ItemId{"plain"}, .subject = model::SubjectId{name}, .instances = instances};
    if (!label.empty()) run.labels = {label};
    v1::ApplyRequest request;
    auto& file = *request.add_files();
    file.set_name("bench.yaml");
    file.set_text(codec::to_json(model::Deployment{name, {run}}));
    if (!has_item_) file.set_text(codec::to_json(plain_item()) + "\n---\n" + file.text());
    request.set_wait(until == Until::Active);
    const auto done = client::stream<v1::ApplyEvent>(
        unit_.client(), {.method = client::Method::Post, .path = "/v1/apply", .body = &request},
        [&](const v1::ApplyEvent& event) {
          return until == Until::Active ? !event.has_finished() : !event.has_accepted();
        });
    if (!done) throw std::runtime_error("apply: " + done.error().message);
    has_item_ = true;
  }

  // Each a deployment of so many instances: seconds for one.
  double time(const std::string& name, int times, std::uint32_t instances) {
    const auto start = Clock::now();
    for (int i = 0; i < times; ++i) ask(fmt::format("{}-{}", name, i), instances, Until::Durable);
    return seconds_since(start) / times;
  }

 private:
  RealUnit unit_;
  Agents agents_;
  bool has_item_ = false;
};

// Nobody else shall wait for it, nor after a restart.
void add_a_crowd(std::vector<Row>& rows) {
  constexpr std::uint32_t kCount = 80'000;
  Applied applied(16);
  applied.ask("few", 100, Applied::Until::Active);
  Bystander bystander(applied.unit(), applied.agents());
  const auto start = Clock::now();
  applied.ask("nowhere", kCount, Applied::Until::Durable, "moon");
  const double seconds = seconds_since(start);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  rows.push_back({"80,000 that fit nowhere", seconds, "s until it is durable",
                  fmt::format("{:.0f} ms the longest answer to others", bystander.stop() * 1e3)});
  const double up = applied.unit().restart();
  Bystander later(applied.unit(), applied.agents());
  std::this_thread::sleep_for(std::chrono::seconds(10));
  rows.push_back({"  after a restart", up, "s until it answers",
                  fmt::format("{:.0f} ms the longest answer after that", later.stop() * 1e3)});
}

}  // namespace

std::vector<Row> durable_applies() {
  constexpr int kAgents = 16;
  constexpr std::uint32_t kMany = 10'000;
  std::vector<Row> rows;
  Applied applied(kAgents);
  applied.ask("few", 100, Applied::Until::Active);
  const pid_t berthd = applied.unit().control_pid();
  const double before = footprint_of(berthd).anonymous_mib;
  const double few = applied.time("single-a", 500, 1);
  rows.push_back({"one more, 100 on record", 1 / few, "applies per second", ""});
  applied.ask("many", kMany, Applied::Until::Active);
  const double after = footprint_of(berthd).anonymous_mib;
  const double many = applied.time("single-b", 500, 1);
  rows.push_back({"one more, 10,000 on record", 1 / many, "applies per second",
                  fmt::format("{:.2f} x the time", many / few)});
  const double batch = applied.time("batch", 100, 100);
  rows.push_back(
      {"batches of 100", 100 / batch, "instances per second", "accepted, placed and durable"});
  rows.push_back({"memory of berthd", (after - before) * 1024 / kMany, "KiB per instance",
                  fmt::format("{:.0f} MiB anonymous by now", footprint_of(berthd).anonymous_mib)});
  rows.push_back({"start", applied.unit().restart() * 1e3, "ms until it answers",
                  "with 21,100 instances on record"});
  add_a_crowd(rows);
  return rows;
}

}  // namespace berth::bench
