#include "control/session/pool_orders.h"

#include <algorithm>
#include <utility>

namespace berth::control {
namespace {

constexpr std::size_t kOrdersPerCommand = 200;
constexpr std::size_t kBytesPerCommand = 1 << 20;

std::size_t size_of(const model::PoolOrder& order) {
  const auto* open = std::get_if<model::OpenSession>(&order);
  return open == nullptr ? 0 : open->session.data.size();
}

// None is larger than what a message may be.
std::vector<std::vector<model::PoolOrder>> in_parts(std::vector<model::PoolOrder> orders) {
  std::vector<std::vector<model::PoolOrder>> parts;
  std::size_t bytes = 0;
  for (model::PoolOrder& order : orders) {
    bytes += size_of(order);
    const bool is_full =
        !parts.empty() && (parts.back().size() >= kOrdersPerCommand || bytes > kBytesPerCommand);
    if (parts.empty() || is_full) {
      parts.emplace_back();
      bytes = size_of(order);
    }
    parts.back().push_back(std::move(order));
  }
  return parts;
}

}  // namespace

void PoolOrders::begin(const model::NodeId& node, ConnectionId connection) {
  Told& told = nodes_[node];
  if (told.connection == connection) return;
  told = Told{.connection = connection};
  overdue_.set(node, std::nullopt);
}

void PoolOrders::tell(const model::NodeId& node, model::PoolOrder order) {
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return;
  found->second.orders.push_back(std::move(order));
  changed_.insert(node);
}

void PoolOrders::acted(Time now, const model::NodeId& node, std::uint64_t number) {
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return;
  Told& told = found->second;
  while (!told.in_flight.empty() && told.in_flight.front().number <= number) {
    told.in_flight.pop_front();
    told.waiting_since = now;
  }
  if (told.in_flight.empty()) overdue_.set(node, std::nullopt);
}

bool PoolOrders::is_in_step(const model::NodeId& node) const {
  const auto found = nodes_.find(node);
  return found != nodes_.end() && found->second.in_flight.empty() && found->second.orders.empty();
}

void PoolOrders::send(Step& step) {
  for (const model::NodeId& node : std::exchange(changed_, {})) {
    const auto found = nodes_.find(node);
    if (found == nodes_.end()) continue;
    Told& told = found->second;
    if (told.in_flight.empty()) told.waiting_since = step.now;
    for (std::vector<model::PoolOrder>& part : in_parts(std::exchange(told.orders, {}))) {
      told.in_flight.push_back({.epoch = step.state.durable().counters.epoch,
                                .life = step.config.life,
                                .number = ++told.last,
                                .orders = std::move(part)});
      step.effects.pool_commands.push_back({node, told.connection, told.in_flight.back()});
    }
    overdue_.set_earlier(node, told.waiting_since + step.config.resend_after);
  }
  for (const model::NodeId& node : overdue_.take_due(step.now)) {
    Told& told = nodes_.at(node);
    if (step.now >= told.waiting_since + step.config.resend_after) send_again(step, node, told);
    overdue_.set(node, told.waiting_since + step.config.resend_after);
  }
}

void PoolOrders::send_again(Step& step, const model::NodeId& node, Told& told) {
  told.waiting_since = step.now;
  for (const model::PoolCommand& command : told.in_flight) {
    step.effects.pool_commands.push_back({node, told.connection, command});
  }
}

}  // namespace berth::control
