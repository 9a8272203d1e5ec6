#include "sim/clones.h"

#include <fmt/format.h>

namespace berth::sim {

Clones::Clones(Stage& stage, Random random, Network& network, Checker& watch)
    : stage_(stage), random_(random), network_(network), watch_(watch) {}

void Clones::add(const AgentHost& original) {
  const model::NodeId& node = original.machine().node();
  if (present_.contains(node)) return;
  ++stage_.counts.clones;
  const model::NodeId link(fmt::format("{}-clone-{}", node.value(), hosts_.size() + 1));
  network_.add_clone(node, link);
  auto host = std::make_unique<AgentHost>(stage_, random_.fork(), original, link, network_, blind_);
  present_.emplace(node, host.get());
  cloned_.insert(node);
  watch_.agent_strayed(node);
  hosts_.emplace(link, std::move(host)).first->second->start();
}

void Clones::remove(const model::NodeId& node) {
  const auto found = present_.extract(node);
  if (!found) return;
  found.mapped()->remove();
  watch_.agent_strayed(node);
}

void Clones::remove_all() {
  while (!present_.empty()) remove(model::NodeId(present_.begin()->first));
}

void Clones::measure() {
  for (const auto& [node, host] : present_) host->machine().measure();
}

AgentHost* Clones::find(const model::NodeId& link) {
  const auto found = hosts_.find(link);
  return found == hosts_.end() ? nullptr : found->second.get();
}

}  // namespace berth::sim
