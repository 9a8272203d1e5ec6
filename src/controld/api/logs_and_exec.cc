#include <fmt/format.h>

#include "codec/instance_name.h"
#include "controld/api/calls.h"

namespace berth::controld::api {
namespace {

bool is_asked_for(const model::InstanceRecord& record) {
  return record.phase != model::Phase::Cached && record.phase != model::Phase::Erasing;
}

std::set<model::InstanceKey> keys_of(const control::Durable& durable, const model::ItemId& item) {
  std::set<model::InstanceKey> keys;
  auto it = durable.instances.lower_bound({item, model::SubjectId{}, 0});
  for (; it != durable.instances.end() && it->first.item == item; ++it) {
    if (is_asked_for(it->second)) keys.insert(it->first);
  }
  return keys;
}

// For suggestions: one instance of each item is enough.
std::set<model::InstanceKey> all_keys(const control::Durable& durable) {
  std::set<model::InstanceKey> keys;
  for (const auto& [key, record] : durable.instances) {
    if (is_asked_for(record)) keys.insert(key);
  }
  return keys;
}

struct FoundInstance {
  model::InstanceKey key;
  std::optional<model::Place> place;
};

Result<FoundInstance> find_in_pools(const control::Controller& controller,
                                    const codec::InstanceName& name) {
  const model::InstanceKey key{name.item, name.subject.value_or(model::SubjectId()), name.index};
  const control::PoolMember* member = controller.sessions().pools().find_member(key);
  if (member == nullptr) return not_found("there is no instance " + to_string(key));
  return FoundInstance{key, member->place};
}

Result<FoundInstance> find_among_all(const control::Controller& controller,
                                     const std::string& instance) {
  const control::Durable& durable = controller.durable();
  const codec::InstanceName name = TRY(codec::parse_instance_name(instance));
  if (model::is_pool_instance({name.item, {}, 0})) return find_in_pools(controller, name);
  auto known = keys_of(durable, name.item);
  if (known.empty()) known = all_keys(durable);
  const model::InstanceKey key = TRY(codec::find_instance(instance, known));
  return FoundInstance{key, durable.instances.at(key).place};
}

Result<StreamRelay::Target> target_of(const control::Controller& controller,
                                      const std::string& instance) {
  const auto [key, place] = TRY(find_among_all(controller, instance));
  if (!place) {
    return Error{Code::Unavailable,
                 fmt::format("{} has no place; see berth why {}", to_string(key), to_string(key))};
  }
  const auto node = controller.nodes().find(place->node);
  if (node == controller.nodes().end() || !node->second.connection) {
    return Error{Code::Unavailable, fmt::format("{} is on node {}, which is not connected",
                                                to_string(key), place->node.value())};
  }
  return StreamRelay::Target{key, place->node.value(), *node->second.connection};
}

template <class Then>
void with_target(const Services& services, const std::string& instance, const CallPtr& call,
                 Then then) {
  const auto find = [instance, call,
                     then = std::move(then)](const control::Controller& controller) {
    return [call, then, target = target_of(controller, instance)](const std::optional<Error>&) {
      target ? then(*target) : call->fail(target.error());
    };
  };
  if (!services.loop.post(Loop::Reader(find))) call->fail(busy());
}

}  // namespace

void logs(const Services& services, const v1::LogsRequest& request, const CallPtr& call) {
  with_target(services, request.instance(), call,
              [&services, request, call](const StreamRelay::Target& target) {
                services.streams.open_logs(target, request, call);
              });
}

void exec(const Services& services, const v1::ExecInput& request, const CallPtr& call) {
  if (request.command().empty()) {
    return call->fail(invalid_input("the first message must name the instance and the command"));
  }
  with_target(services, request.instance(), call,
              [&services, request, call](const StreamRelay::Target& target) {
                services.streams.open_exec(target, request, call);
              });
}

}  // namespace berth::controld::api
