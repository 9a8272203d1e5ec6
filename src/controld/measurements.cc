#include "controld/measurements.h"

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <string_view>

namespace berth::controld {
namespace {

using control::Controller;
using control::ObservedNode;

constexpr std::size_t kInstancesMax = 10'000;

struct Gauge {
  std::string_view name;
  std::string_view help;
};

void begin(std::string& out, const Gauge& gauge) {
  out += fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n", gauge.name, gauge.help);
}

using OfNode = std::function<std::optional<std::int64_t>(const ObservedNode&)>;
using OfInstance = std::function<std::int64_t(const model::ReportedStatus&)>;

void add_nodes(std::string& out, const Controller& controller, const Gauge& gauge,
               const OfNode& value_of) {
  begin(out, gauge);
  for (const auto& [id, node] : controller.nodes()) {
    const auto value = value_of(node);
    if (value) out += fmt::format("{}{{node=\"{}\"}} {}\n", gauge.name, id.value(), *value);
  }
}

void add_partitions(std::string& out, const Controller& controller, const Gauge& gauge,
                    Bytes model::PartitionUsage::*figure) {
  begin(out, gauge);
  for (const auto& [id, node] : controller.nodes()) {
    for (const model::PartitionUsage& partition : node.measurement.partitions) {
      out += fmt::format("{}{{node=\"{}\",partition=\"{}\"}} {}\n", gauge.name, id.value(),
                         partition.name, (partition.*figure).count());
    }
  }
}

// As other exporters have it: 1 for the status that holds.
void add_conditions(std::string& out, const Controller& controller) {
  begin(out, {"berth_node_condition", "Whether a condition of a node has this status."});
  for (const auto& [id, node] : controller.nodes()) {
    for (const control::Condition& condition : node.readiness.conditions) {
      for (const auto& [status, word] : model::Names<model::ConditionStatus>::kTable) {
        out += fmt::format(
            "berth_node_condition{{node=\"{}\",condition=\"{}\",status=\"{}\"}} {}\n", id.value(),
            model::to_string(condition.type), word, condition.status == status ? 1 : 0);
      }
    }
  }
}

void add_runtimes(std::string& out, const Controller& controller) {
  begin(out, {"berth_runtime_ready", "Whether a runtime is ready now."});
  for (const auto& [id, node] : controller.nodes()) {
    for (const model::Runtime& runtime : node.info.runtimes) {
      const bool is_ready = node.reachable() && runtime.ready == model::Readiness::Ready;
      out += fmt::format("berth_runtime_ready{{node=\"{}\",runtime=\"{}\"}} {}\n", id.value(),
                         runtime.id.value(), is_ready ? 1 : 0);
    }
  }
}

void add_instances(std::string& out, const Controller& controller, const Gauge& gauge,
                   const OfInstance& value_of) {
  begin(out, gauge);
  for (const auto& [id, node] : controller.nodes()) {
    for (const auto& [key, status] : node.reported) {
      out += fmt::format("{}{{node=\"{}\",item=\"{}\",subject=\"{}\",index=\"{}\"}} {}\n",
                         gauge.name, id.value(), key.item.value(), key.subject.value(), key.index,
                         value_of(status));
    }
  }
}

void add_alerts(std::string& out, const Controller& controller) {
  begin(out,
        {"berth_instance_alert", "1: it uses too much of its quota, by the alerts of its item."});
  const auto add = [&](const model::InstanceKey& key, const control::ResourceAlert& alert,
                       std::string_view resource) {
    if (!alert.load.is_overloaded()) return;
    out += fmt::format(
        "berth_instance_alert{{item=\"{}\",subject=\"{}\",index=\"{}\",resource=\"{}\"}} 1\n",
        key.item.value(), key.subject.value(), key.index, resource);
  };
  for (const auto& [key, alerts] : controller.alerts()) {
    add(key, alerts.cpu, "cpu");
    add(key, alerts.ram, "ram");
  }
}

void add_all_nodes(std::string& out, const Controller& controller) {
  using Value = std::optional<std::int64_t>;
  add_nodes(out, controller, {"berth_node_cpu_dmips", "Processor use of a node, averaged."},
            [](const ObservedNode& node) {
              return node.usage ? Value(node.usage->cpu.count()) : std::nullopt;
            });
  add_nodes(out, controller, {"berth_node_ram_bytes", "Memory use of a node, averaged."},
            [](const ObservedNode& node) {
              return node.usage ? Value(node.usage->ram.count()) : std::nullopt;
            });
  add_nodes(out, controller, {"berth_node_cpu_capacity_dmips", "What a node offers."},
            [](const ObservedNode& node) { return Value(node.info.capacity.cpu.count()); });
  add_nodes(out, controller, {"berth_node_ram_capacity_bytes", "What a node offers."},
            [](const ObservedNode& node) { return Value(node.info.capacity.ram.count()); });
  add_nodes(out, controller,
            {"berth_node_received_bytes_per_second", "What comes to a node, averaged."},
            [](const ObservedNode& node) { return Value(node.measurement.traffic.received); });
  add_nodes(out, controller,
            {"berth_node_sent_bytes_per_second", "What goes from a node, averaged."},
            [](const ObservedNode& node) { return Value(node.measurement.traffic.sent); });
  add_partitions(out, controller, {"berth_node_partition_size_bytes", "Size of a partition."},
                 &model::PartitionUsage::size);
  add_partitions(out, controller, {"berth_node_partition_used_bytes", "Used of a partition."},
                 &model::PartitionUsage::used);
}

void add_all_instances(std::string& out, const Controller& controller) {
  using Status = model::ReportedStatus;
  add_instances(out, controller, {"berth_instance_cpu_dmips", "Processor use, averaged."},
                [](const Status& status) { return status.usage.cpu.count(); });
  add_instances(out, controller, {"berth_instance_ram_bytes", "Memory use, averaged."},
                [](const Status& status) { return status.usage.ram.count(); });
  add_instances(out, controller, {"berth_instance_storage_bytes", "What it has stored."},
                [](const Status& status) { return status.footprint.storage.count(); });
  add_instances(out, controller, {"berth_instance_state_bytes", "The size of its state."},
                [](const Status& status) { return status.footprint.state.count(); });
  add_instances(out, controller,
                {"berth_instance_received_bytes_per_second", "What comes to it, averaged."},
                [](const Status& status) { return status.footprint.traffic.received; });
  add_instances(out, controller,
                {"berth_instance_sent_bytes_per_second", "What goes from it, averaged."},
                [](const Status& status) { return status.footprint.traffic.sent; });
}

}  // namespace

std::string measurements_text(const Controller& controller) {
  std::string out;
  add_all_nodes(out, controller);
  add_conditions(out, controller);
  add_runtimes(out, controller);
  add_alerts(out, controller);
  std::size_t instances = 0;
  for (const auto& [id, node] : controller.nodes()) instances += node.reported.size();
  if (instances <= kInstancesMax) add_all_instances(out, controller);
  return out;
}

}  // namespace berth::controld
