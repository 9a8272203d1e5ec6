#include "control/launcher/extents.h"

#include <algorithm>

#include "control/context.h"

namespace berth::control {
namespace {

using placement::Ask;

bool is_of(const model::InstanceKey& key, const RequestKey& request) {
  return key.item == request.first && key.subject == request.second;
}

bool is_absent(const Durable& durable, const model::SubjectId& id) {
  const auto subject = durable.subjects.find(id);
  return subject != durable.subjects.end() && !subject->second.present;
}

// What a plan of everything would know of it beside what its request says.
bool has_a_past(const Durable& durable, const model::InstanceKey& key) {
  const model::InstanceRecord& record = durable.instances.at(key);
  return record.home || record.own_runtime || durable.states.contains(key);
}

// A request of which all instances are asked for in the same way.
const model::RunRequest* find_plain(const Context& context, const RequestKey& key) {
  const Durable& durable = context.state.durable();
  const auto* asked = context.state.requests().find(key);
  const bool is_plain = asked != nullptr && asked->run->instances &&
                        !is_absent(durable, key.second) && !durable.rollouts.contains(key);
  return is_plain ? asked->run : nullptr;
}

bool has_records_from(const Durable& durable, const RequestKey& key, std::uint32_t first) {
  const auto record = durable.instances.lower_bound({key.first, key.second, first});
  return record != durable.instances.end() && is_of(record->first, key);
}

bool any_waits(const Context& context, const RequestKey& key) {
  const auto it = context.state.waiting().lower_bound({key.first, key.second, 0});
  return it != context.state.waiting().end() && is_of(*it, key);
}

// Takes what is next of one request, as long as there is room for it.
class Portion {
 public:
  Portion(const Context& context, std::size_t at_most) : context_(context), at_most_(at_most) {}

  bool is_full() const { return asks_.size() >= at_most_; }

  // That were asked for before. False: not as simple as that.
  bool take_waiting(const model::RunRequest& run, std::uint32_t& next, std::uint32_t end) {
    const RequestKey key{run.item, run.subject};
    const auto& waiting = context_.state.waiting();
    auto it = waiting.lower_bound({key.first, key.second, next});
    for (; it != waiting.end() && is_of(*it, key) && it->index < end; ++it) {
      if (is_full()) return true;
      if (has_a_past(context_.state.durable(), *it)) return false;
      take(run, it->index);
      next = it->index + 1;
    }
    next = std::max(next, end);
    return true;
  }

  bool take_new(const model::RunRequest& run, std::uint32_t& next, std::uint32_t end) {
    if (next >= end || is_full()) return true;
    if (has_records_from(context_.state.durable(), {run.item, run.subject}, next)) return false;
    for (; next < end && !is_full(); ++next) take(run, next);
    return true;
  }

  std::vector<Ask> asks() && { return std::move(asks_); }

 private:
  void take(const model::RunRequest& run, std::uint32_t index) {
    asks_.push_back(placement::ask_of(run, item_of(context_.state.durable(), run), index));
  }

  const Context& context_;
  const std::size_t at_most_;
  std::vector<Ask> asks_;
};

}  // namespace

void Additions::clear() {
  parts_.clear();
  order_.clear();
  asked_.clear();
}

bool Additions::add(const Context& context, const RequestKey& key, const Extent& extent) {
  const auto known = parts_.find(key);
  if (known != parts_.end()) {
    // What is not asked for any more is let go, and has a past if it is asked for again.
    Part& part = known->second;
    part.next = std::min(part.next, extent.now);
    part.before = std::min(part.before, extent.now);
    part.now = extent.now;
    return true;
  }
  if (extent.now <= extent.before && !any_waits(context, key)) return true;
  const auto* run = find_plain(context, key);
  if (run == nullptr) return false;
  const auto priority = placement::ask_of(*run, item_of(context.state.durable(), *run), 0).priority;
  parts_[key] = {.priority = priority, .before = extent.before, .now = extent.now};
  order_.insert({priority, key});
  return true;
}

bool Additions::add(const Context& context, const std::map<RequestKey, Extent>& extents) {
  for (const auto& [key, extent] : extents) {
    if (!add(context, key, extent)) return false;
  }
  for (const RequestKey& key : context.calls.asked().requests) {
    if (!asked_.insert(key).second || extents.contains(key)) continue;
    const auto* asked = context.state.requests().find(key);
    const std::uint32_t all = asked == nullptr ? 0 : asked->run->instances.value_or(0);
    if (!add(context, key, {.before = all, .now = all})) return false;
  }
  return true;
}

std::optional<std::vector<Ask>> Additions::take(const Context& context, std::size_t at_most) {
  Portion portion(context, at_most);
  while (!order_.empty() && !portion.is_full()) {
    const RequestKey& key = order_.begin()->request;
    Part& part = parts_.at(key);
    const auto* run = find_plain(context, key);
    const bool is_simple = run != nullptr &&
                           portion.take_waiting(*run, part.next, std::min(part.before, part.now)) &&
                           (part.next < part.before || portion.take_new(*run, part.next, part.now));
    if (!is_simple) return std::nullopt;
    if (part.next < part.now) break;
    parts_.erase(key);
    order_.erase(order_.begin());
  }
  if (empty()) asked_.clear();
  return std::move(portion).asks();
}

std::optional<std::vector<model::InstanceRecord>> unasked_instances(
    const Context& context, const std::map<RequestKey, Extent>& extents) {
  const Durable& durable = context.state.durable();
  std::vector<model::InstanceRecord> unasked;
  for (const auto& [key, extent] : extents) {
    if (extent.now >= extent.before) continue;
    auto it = durable.instances.lower_bound({key.first, key.second, extent.now});
    for (; it != durable.instances.end() && is_of(it->first, key); ++it) {
      const model::InstanceRecord& record = it->second;
      const bool was_asked_for =
          record.phase != model::Phase::Cached && record.phase != model::Phase::Erasing;
      if (record.preinstalled) return std::nullopt;
      if (was_asked_for) unasked.push_back(record);
    }
  }
  return unasked;
}

std::optional<placement::Holding> holding_of(const Context& context,
                                             const placement::Cluster& cluster,
                                             const model::InstanceRecord& record) {
  const auto* item = context.state.find<model::Item>({record.key.item, record.version});
  const auto node = cluster.find(record.place->node);
  const auto runtime = node ? cluster.find_runtime(*node, record.place->runtime) : std::nullopt;
  if (item == nullptr || !runtime) return std::nullopt;
  return cluster.holding_for({.key = record.key, .item = item}, {*node, *runtime});
}

std::optional<placement::Holding> holding_of(const placement::Cluster& cluster,
                                             const PoolMember& member) {
  const auto node = cluster.find(member.place->node);
  const auto runtime = node ? cluster.find_runtime(*node, member.place->runtime) : std::nullopt;
  if (!runtime) return std::nullopt;
  return cluster.holding_for({.key = member.key, .item = member.edition.item.get()},
                             {*node, *runtime});
}

std::vector<placement::Holding> held_by_lower(const Context& context,
                                              const placement::Cluster& cluster, std::size_t node,
                                              std::int64_t priority) {
  const model::NodeId& id = cluster.nodes()[node].id;
  std::vector<placement::Holding> holdings;
  for (const model::InstanceKey& key : context.state.instances_on(id)) {
    const auto& record = *context.state.find<model::InstanceRecord>(key);
    const bool is_lower = record.place && record.place->node == id && !record.preinstalled &&
                          record.priority < priority;
    if (!is_lower) continue;
    const auto* item = context.state.find<model::Item>({key.item, record.version});
    if (item == nullptr || model::is_pinned(*item)) continue;
    if (auto holding = holding_of(context, cluster, record)) {
      holdings.push_back(*std::move(holding));
    }
  }
  for (const PoolMember* member : context.sessions.pools().lower_on(id, priority)) {
    if (auto holding = holding_of(cluster, *member)) holdings.push_back(*std::move(holding));
  }
  return holdings;
}

}  // namespace berth::control
