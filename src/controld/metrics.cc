#include "controld/metrics.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

namespace berth::controld {
namespace {

void describe(std::string& out, std::string_view name, std::string_view type,
              std::string_view help) {
  out += fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
}

template <class Value>
void add(std::string& out, std::string_view name, std::string_view type, std::string_view help,
         Value value) {
  describe(out, name, type, help);
  out += fmt::format("{} {}\n", name, value);
}

void add(std::string& out, std::string_view name, std::string_view help, std::string_view label,
         const std::map<std::string, std::uint64_t>& values) {
  describe(out, name, "gauge", help);
  for (const auto& [word, value] : values) {
    out += fmt::format("{}{{{}=\"{}\"}} {}\n", name, label, word, value);
  }
}

void add(std::string& out, std::string_view name, std::string_view help,
         const Histogram& histogram) {
  describe(out, name, "histogram", help);
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < Histogram::kBounds.size(); ++i) {
    below += histogram.counts[i];
    out += fmt::format("{}_bucket{{le=\"{}\"}} {}\n", name, Histogram::kBounds[i], below);
  }
  out += fmt::format("{0}_bucket{{le=\"+Inf\"}} {1}\n{0}_sum {2}\n{0}_count {1}\n", name,
                     histogram.total, histogram.sum);
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  statm >> total >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

ClusterCounts count_nodes(const control::Controller& controller) {
  ClusterCounts counts;
  for (const auto liveness : {control::Liveness::Unknown, control::Liveness::Reachable,
                              control::Liveness::Unreachable, control::Liveness::Lost}) {
    counts.nodes[std::string(control::to_string(liveness))] = 0;
  }
  for (const auto& [id, node] : controller.nodes()) {
    ++counts.nodes[std::string(control::to_string(node.liveness))];
  }
  counts.revision = controller.durable().counters.revision;
  counts.settled = controller.settled();
  counts.held = controller.held();
  return counts;
}

ClusterCounts count(const control::Controller& controller) {
  ClusterCounts counts = count_nodes(controller);
  for (const auto& [state, word] : model::Names<model::InstanceState>::kTable) {
    counts.instances[std::string(word)] = 0;
  }
  for (const auto& [key, status] : controller.statuses()) {
    ++counts.instances[std::string(model::to_string(status.state))];
  }
  return counts;
}

std::string metrics_text(const ClusterCounts& counts, const LoopStats& loop, std::size_t watchers,
                         std::size_t streams, std::size_t connections) {
  std::string out;
  add(out, "berth_instances", "Instances by state.", "state", counts.instances);
  add(out, "berth_nodes", "Nodes by liveness.", "liveness", counts.nodes);
  add(out, "berth_revision", "gauge", "Revision of the cluster's state.", counts.revision);
  add(out, "berth_step_seconds", "Time that the controller took to decide.", loop.step_seconds);
  add(out, "berth_commit_seconds", "Time until a step was durable.", loop.commit_seconds);
  add(out, "berth_commit_failures_total", "counter", "Commits that failed and were tried again.",
      loop.commit_failures);
  add(out, "berth_mailbox_depth", "gauge", "Facts and calls that wait.", loop.mailbox_depth);
  add(out, "berth_watchers", "gauge", "Open watches.", watchers);
  add(out, "berth_streams", "gauge", "Open logs and exec sessions.", streams);
  add(out, "berth_http_connections", "gauge", "Open HTTP connections.", connections);
  add(out, "process_cpu_seconds_total", "counter", "CPU time used.", cpu_seconds());
  add(out, "process_resident_memory_bytes", "gauge", "Memory in use.", resident_bytes());
  return out;
}

}  // namespace berth::controld
