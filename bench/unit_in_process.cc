#include "bench/unit_in_process.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/check.h"
#include "bench/clusters.h"
#include "bench/must.h"
#include "codec/wire.h"
#include "controld/loop/persistence.h"

namespace berth::bench {
namespace {

constexpr control::CallId kCall = 1;
constexpr std::size_t kStatusesPerReport = 16;  // starts that are done at about the same time

using CpuClock = double (*)();

double seconds_of(clockid_t id) {
  timespec time{};
  clock_gettime(id, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}
double on_the_wall() { return seconds_of(CLOCK_MONOTONIC); }
double of_this_thread() { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }

// Adds the time until its end.
class Stopwatch {
 public:
  Stopwatch(double& seconds, CpuClock clock) : seconds_(seconds), clock_(clock), start_(clock()) {}
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch() { seconds_ += clock_() - start_; }

 private:
  double& seconds_;
  const CpuClock clock_;
  const double start_;
};

// The clock stands still: what is up counts as well at once.
control::Config without_waiting() {
  control::Config config;
  config.min_healthy = Duration{};
  return config;
}

}  // namespace

UnitInProcess::UnitInProcess(std::uint32_t nodes)
    : store_(must(store::SqliteStore::open(directory_.path() / "control.db"), "store")),
      controller_(without_waiting(), must(controld::load_or_begin(store_, {}), "store")) {
  for (std::uint32_t i = 0; i < nodes; ++i) {
    const model::NodeId node{fmt::format("node-{:03}", i)};
    connect(node);
    report_fully(node);
    deliver_all();
  }
}

void UnitInProcess::connect(const model::NodeId& node) {
  step(control::NodeConnected{node, ++agents_[node].connection});
}

void UnitInProcess::deploy(std::uint32_t instances) {
  model::RunRequest run{.item = model::ItemId{"plain"}, .instances = instances};
  apply({plain_item(), model::Deployment{"all", {run}}});
  CHECK(places_.size() == instances, "everything runs");
}

bool UnitInProcess::apply(std::vector<model::Document> documents) {
  finished_ = false;
  step(control::ApplyCall{kCall, std::move(documents), {}});
  deliver_all();
  CHECK(finished_, "everything has come to rest");
  return refused_ == 0;
}

void UnitInProcess::report_load(const model::NodeId& node, const model::Usage& system) {
  StandIn& agent = agents_.at(node);
  model::Report report = next_report(agent);
  report.usage = system;
  for (const auto& [key, status] : agent.statuses) *report.usage = *report.usage + status.usage;
  receive(node, std::move(report));
}

void UnitInProcess::step(control::Event event) {
  auto wake_at = step(std::span(&event, 1));
  while (wake_at && *wake_at <= now_) wake_at = step(std::span<const control::Event>());
}

std::optional<Time> UnitInProcess::step(std::span<const control::Event> events) {
  now_ += 1us;
  double deciding = 0;
  const control::Effects effects = [&] {
    const Stopwatch watch(deciding, of_this_thread);
    return controller_.step(now_, events);
  }();
  spent_.deciding += deciding;
  spent_.longest = std::max(spent_.longest, deciding);
  if (!effects.writes.empty()) {
    const Stopwatch watch(spent_.storing, on_the_wall);
    must(store_.commit(controld::to_changes(effects.writes)), "commit");
  }
  for (const control::Outgoing& outgoing : effects.commands) {
    commands_.emplace_back(outgoing.node, encoded(outgoing));
  }
  for (const control::Reply& reply : effects.replies) {
    finished_ |= std::holds_alternative<control::Finished>(reply.answer);
    const auto* accepted = std::get_if<control::Accepted>(&reply.answer);
    if (accepted != nullptr) refused_ = accepted->refused.size();
  }
  return effects.wake_at;
}

std::string UnitInProcess::encoded(const control::Outgoing& outgoing) {
  const Stopwatch watch(spent_.sending, of_this_thread);
  v1::ToAgent message;
  *message.mutable_command() = codec::to_wire(outgoing.command);
  return message.SerializeAsString();
}

void UnitInProcess::deliver_all() {
  while (!commands_.empty()) {
    for (const auto& [node, command] : std::exchange(commands_, {})) carry_out(command, node);
  }
}

void UnitInProcess::carry_out(const std::string& bytes, const model::NodeId& node) {
  v1::ToAgent message;
  CHECK(message.ParseFromString(bytes), "we wrote it");
  const model::Command command = must(codec::from_wire(message.command()), "command");
  StandIn& agent = agents_.at(node);
  agent.acted = command.number;
  model::Report report = next_report(agent);
  for (const model::InstanceSpec& spec : command.run) {
    const model::ReportedStatus status{.key = spec.key,
                                       .version = spec.item.version,
                                       .runtime = spec.runtime,
                                       .state = model::InstanceState::Active,
                                       .usage = {Dmips{1}, Bytes{1 << 20}}};
    agent.statuses.insert_or_assign(spec.key, status);
    places_.insert_or_assign(spec.key, node);
    report.instances.push_back(status);
    if (report.instances.size() < kStatusesPerReport) continue;
    receive(node, std::exchange(report, {}));
    report = next_report(agent);
  }
  receive(node, std::move(report));
}

model::Report UnitInProcess::next_report(StandIn& agent) const {
  return {.boot_id = "boot", .revision = agent.revision, .acted = agent.acted};
}

void UnitInProcess::report_state(const model::InstanceKey& key, model::InstanceState state) {
  const model::NodeId& node = places_.at(key);
  StandIn& agent = agents_.at(node);
  model::ReportedStatus& status = agent.statuses.at(key);
  status.state = state;
  model::Report report = next_report(agent);
  report.instances.push_back(status);
  receive(node, std::move(report));
}

void UnitInProcess::report_fully(const model::NodeId& node) {
  StandIn& agent = agents_.at(node);
  model::Report report = next_report(agent);
  report.full = true;
  report.node = plain_node();
  for (const auto& [key, status] : agent.statuses) report.instances.push_back(status);
  receive(node, std::move(report));
}

void UnitInProcess::use_more(const model::NodeId& node) {
  for (auto& [key, status] : agents_.at(node).statuses) status.usage.ram += Bytes{4096};
}

void UnitInProcess::receive(const model::NodeId& node, model::Report report) {
  if (!model::is_heartbeat(report)) report.revision = ++agents_.at(node).revision;
  v1::FromAgent message;
  *message.mutable_report() = codec::to_wire(report);
  const std::string bytes = message.SerializeAsString();
  const auto read = [&] {
    const Stopwatch watch(spent_.reading, of_this_thread);
    v1::FromAgent received;
    CHECK(received.ParseFromString(bytes), "we wrote it");
    return must(codec::from_wire(received.report()), "report");
  };
  step(control::NodeReported{node, agents_.at(node).connection, read()});
}

}  // namespace berth::bench
