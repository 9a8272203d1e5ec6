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

class Additions {
 public:
  explicit Additions(const Context& context) : context_(context) {}

  // False: not as simple as that.
  bool add(const RequestKey& key, std::uint32_t first) {
    const auto* asked = find(key);
    if (asked == nullptr || has_records_from(key, first)) return false;
    for (std::uint32_t index = first; index < *asked->instances; ++index) add(*asked, index);
    return true;
  }

  bool add_waiting(const RequestKey& key) {
    const auto& waiting = context_.state.waiting();
    auto it = waiting.lower_bound({key.first, key.second, 0});
    if (it == waiting.end() || !is_of(*it, key)) return true;
    const auto* asked = find(key);
    if (asked == nullptr) return false;
    for (; it != waiting.end() && is_of(*it, key); ++it) {
      if (it->index >= *asked->instances) break;  // nobody asks for it any more
      if (has_a_past(durable(), *it)) return false;
      add(*asked, it->index);
    }
    return true;
  }

  std::vector<Ask> in_scheduling_order() && {
    std::ranges::sort(requests_, placement::scheduled_before);
    return std::move(requests_);
  }

 private:
  const Durable& durable() const { return context_.state.durable(); }

  const model::RunRequest* find(const RequestKey& key) const {
    const auto* asked = context_.state.requests().find(key);
    const bool is_plain = asked != nullptr && asked->run->instances &&
                          !is_absent(durable(), key.second) && !durable().rollouts.contains(key);
    return is_plain ? asked->run : nullptr;
  }

  bool has_records_from(const RequestKey& key, std::uint32_t first) const {
    const auto record = durable().instances.lower_bound({key.first, key.second, first});
    return record != durable().instances.end() && is_of(record->first, key);
  }

  void add(const model::RunRequest& run, std::uint32_t index) {
    requests_.push_back(placement::ask_of(run, item_of(durable(), run), index));
  }

  const Context& context_;
  std::vector<Ask> requests_;
};

}  // namespace

std::optional<std::vector<Ask>> additional_requests(const Context& context,
                                                    const std::map<RequestKey, Extent>& extents) {
  Additions additions(context);
  for (const auto& [key, extent] : extents) {
    const bool is_simple = extent.now <= extent.before || additions.add(key, extent.before);
    if (!is_simple) return std::nullopt;
  }
  for (const RequestKey& key : context.calls.asked().requests) {
    if (!additions.add_waiting(key)) return std::nullopt;
  }
  return std::move(additions).in_scheduling_order();
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
  return holdings;
}

}  // namespace berth::control
