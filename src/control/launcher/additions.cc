#include "control/launcher/additions.h"

#include <algorithm>

#include "control/context.h"

namespace berth::control {
namespace {

using placement::Request;

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
      if (has_a_past(durable(), *it)) return false;
      add(*asked, it->index);
    }
    return true;
  }

  std::vector<Request> in_scheduling_order() && {
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
    requests_.push_back(
        {.key = {run.item, run.subject, index}, .item = &item_of(durable(), run), .run = &run});
  }

  const Context& context_;
  std::vector<Request> requests_;
};

}  // namespace

std::optional<std::vector<Request>> additional_requests(
    const Context& context, const std::map<RequestKey, std::uint32_t>& more) {
  Additions additions(context);
  for (const auto& [key, first] : more) {
    if (!additions.add(key, first)) return std::nullopt;
  }
  for (const RequestKey& key : context.calls.asked().requests) {
    if (!additions.add_waiting(key)) return std::nullopt;
  }
  return std::move(additions).in_scheduling_order();
}

std::vector<placement::Holding> held_by_lower(const Context& context,
                                              const placement::Cluster& cluster, std::size_t node,
                                              std::int64_t priority) {
  const Durable& durable = context.state.durable();
  const model::NodeId& id = cluster.nodes()[node].id;
  std::vector<placement::Holding> holdings;
  for (const model::InstanceKey& key : context.state.instances_on(id)) {
    const model::InstanceRecord& record = durable.instances.at(key);
    const bool is_lower = record.place && record.place->node == id && !record.preinstalled &&
                          record.priority < priority;
    const auto item = durable.items.find({key.item, record.version});
    if (!is_lower || item == durable.items.end() || model::is_pinned(item->second)) continue;
    const auto runtime = cluster.find_runtime(node, record.place->runtime);
    if (!runtime) continue;
    const Request request{.key = key, .item = &item->second};
    holdings.push_back(cluster.holding_for(request, {node, *runtime}));
  }
  return holdings;
}

}  // namespace berth::control
