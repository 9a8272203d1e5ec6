#include "control/session/gateway_forwards.h"

#include <utility>

#include "base/check.h"

namespace berth::control {

void GatewayForwards::want(const model::SessionRef& ref, const model::InstanceKey& instance,
                           std::vector<model::SessionPort> ports) {
  all_.insert_or_assign(ref, Forward{.instance = instance, .ports = std::move(ports)});
  untold_.insert(ref);
}

void GatewayForwards::end(const model::SessionRef& ref) {
  const auto found = all_.find(ref);
  if (found == all_.end() || std::exchange(found->second.ends, true)) return;
  untold_.insert(ref);
}

bool GatewayForwards::keep_behind(const model::SessionRef& ref,
                                  const std::vector<model::SessionPort>& ports) {
  const auto found = all_.find(ref);
  if (found == all_.end()) return false;
  found->second.behind = ports;
  return true;
}

const GatewayForwards::Forward* GatewayForwards::find(const model::SessionRef& ref) const {
  const auto found = all_.find(ref);
  return found == all_.end() ? nullptr : &found->second;
}

void GatewayForwards::adopt(const model::SessionRef& ref, Forward forward) {
  all_.insert_or_assign(ref, std::move(forward));
}

void GatewayForwards::opened(const model::SessionRef& ref) { all_.at(ref).is_open = true; }

GatewayForwards::Forward GatewayForwards::take(const model::SessionRef& ref) {
  auto taken = all_.extract(ref);
  CHECK(!taken.empty(), "it is known");
  untold_.erase(ref);
  return std::move(taken.mapped());
}

std::vector<model::SessionRef> GatewayForwards::listed(const std::set<model::SessionRef>& listed) {
  std::vector<model::SessionRef> closed;
  for (auto& [ref, forward] : all_) {
    if (listed.contains(ref)) {
      if (forward.ends) untold_.insert(ref);
      continue;
    }
    forward.is_open = false;
    forward.ends ? closed.push_back(ref) : void(untold_.insert(ref));
  }
  return closed;
}

void GatewayForwards::tell(Pools& pools, const model::NodeId& gateway) {
  if (untold_.empty() || !pools.can_be_told(gateway)) return;
  for (const model::SessionRef& ref : std::exchange(untold_, {})) {
    const Forward& forward = all_.at(ref);
    if (forward.ends) {
      pools.tell(gateway,
                 model::CloseSession{ref, forward.instance, {}, {"Closed", "its session is over"}});
      continue;
    }
    model::SessionSpec spec;
    spec.ref = ref;
    spec.instance = forward.instance;
    spec.ports = forward.ports;
    pools.tell(gateway, model::OpenSession{std::move(spec)});
  }
}

}  // namespace berth::control
