#include "control/hold/rebuild.h"

#include <algorithm>
#include <utility>

#include "control/id_pool.h"
#include "control/network/address_pool.h"
#include "control/rollout/handover.h"

namespace berth::control {
namespace {

constexpr const char* kDeploymentName = "adopted";
// Nobody runs so many of one item; who says so would have as many asked for.
constexpr std::uint32_t kIndexMax = 100'000;

// One copy of an instance, as its node was told to run it.
struct FoundCopy {
  const model::NodeId* node = nullptr;
  const model::InstanceSpec* spec = nullptr;
  bool is_up = false;
};

using Copies = std::map<model::InstanceKey, FoundCopy>;

bool is_up_there(const ObservedNode& node, const model::InstanceKey& key) {
  const auto status = node.reported.find(key);
  return status != node.reported.end() && model::is_up(status->second.state) &&
         !status->second.stopping;
}

// Of an instance in the middle of a move the copy that is up counts.
Copies copies_of(const std::map<model::NodeId, ObservedNode>& nodes) {
  Copies copies;
  for (const auto& [id, node] : nodes) {
    if (!node.orders_shown) continue;
    for (const model::InstanceSpec& spec : node.orders_shown->run) {
      if (spec.key.index >= kIndexMax) continue;
      const FoundCopy copy{&id, &spec, is_up_there(node, spec.key)};
      const auto [known, is_new] = copies.try_emplace(spec.key, copy);
      if (!is_new && copy.is_up && !known->second.is_up) known->second = copy;
    }
  }
  return copies;
}

std::uint32_t host_in(const model::Subnet& subnet, model::Ipv4 address) {
  return address.value - subnet.base.value;
}

class Rebuild {
 public:
  explicit Rebuild(Context& context) : context_(context), copies_(copies_of(context.nodes)) {}

  void run() {
    for (const auto& [key, copy] : copies_) put_item(copy.spec->item);
    put_networks();
    drop_contradicted();
    for (const auto& [key, copy] : copies_) put_instance(key, copy);
    put_requests();
    context_.network.restore(context_);
  }

 private:
  const Durable& durable() const { return context_.state.durable(); }

  // What the store says of it comes first: agents know it with all overrides applied.
  void put_item(const model::Item& item) {
    if (!durable().items.contains(model::key_of(item))) context_.state.put(item);
  }

  void put_networks() {
    for (const auto& [id, node] : context_.nodes) {
      if (!node.orders_shown || !node.orders_shown->network) continue;
      for (const model::ProviderNetwork& network : node.orders_shown->network->networks) {
        put_network(id, network);
      }
    }
  }

  void put_network(const model::NodeId& node, const model::ProviderNetwork& told) {
    if (!model::contains(told.subnet, told.node_address)) return;
    if (!networks_.contains(told.owner)) {
      for (const model::OwnerId& owner : in_the_way_of(told)) {
        if (networks_.contains(owner)) return;  // another node says otherwise
        erase_network(context_.state, owner);
      }
      networks_.insert(told.owner);
      context_.state.put(
          model::NetworkRecord{.owner = told.owner, .vxlan = told.vxlan, .subnet = told.subnet});
    }
    model::NetworkRecord network = durable().networks.at(told.owner);
    if (network.subnet != told.subnet || !take_host(network, told.node_address)) return;
    context_.state.put(network);
    context_.state.put(model::NodeAddressRecord{told.owner, node, told.node_address});
  }

  // Also what the store knows of the owner's own network.
  std::vector<model::OwnerId> in_the_way_of(const model::ProviderNetwork& told) const {
    std::vector<model::OwnerId> owners;
    for (const auto& [owner, network] : durable().networks) {
      const bool overlaps = model::contains(network.subnet, told.subnet.base) ||
                            model::contains(told.subnet, network.subnet.base);
      if (owner == told.owner || overlaps || network.vxlan == told.vxlan) owners.push_back(owner);
    }
    return owners;
  }

  bool take_host(model::NetworkRecord& network, model::Ipv4 address) {
    if (!addresses_.insert(address).second) return false;
    network.next_host = std::max(network.next_host, host_in(network.subnet, address) + 1);
    return true;
  }

  // What the store knows, but no agent was told: it keeps neither an id nor an address that
  // another has now.
  void drop_contradicted() {
    std::set<std::uint32_t> uids;
    for (const auto& [key, copy] : copies_) uids.insert(copy.spec->uid);
    std::vector<model::InstanceRecord> others;
    for (const auto& [key, record] : durable().instances) {
      if (!copies_.contains(key)) others.push_back(record);
    }
    for (model::InstanceRecord& record : others) {
      if (uids.contains(record.uid)) {
        context_.erase(record.key);
        continue;
      }
      record.address.reset();  // it gets another one
      if (record.place && is_denied_by(record.place->node)) {
        record.phase = model::Phase::Waiting;
        record.place.reset();
        record.leaving.reset();
      }
      context_.put(record);
    }
  }

  bool is_denied_by(const model::NodeId& id) const {
    const ObservedNode* node = context_.find_node(id);
    return node != nullptr && node->orders_shown;
  }

  void put_instance(const model::InstanceKey& key, const FoundCopy& copy) {
    const model::InstanceSpec& spec = *copy.spec;
    const auto* known = context_.state.find<model::InstanceRecord>(key);
    model::InstanceRecord record = known == nullptr ? model::InstanceRecord{} : *known;
    const auto gid = group_of(spec);
    const auto uid = user_of(spec);
    if (!gid || !uid) return;
    record.key = key;
    record.type = spec.item.type;
    record.version = spec.item.version;
    record.priority = spec.priority;
    record.phase = model::Phase::Placed;
    record.place = model::Place{*copy.node, spec.runtime};
    record.home.reset();
    record.image = spec.image;
    record.leaving.reset();
    record.uid = *uid;
    record.gid = *gid;
    record.address = address_of(spec);
    record.kept_for = {};
    record.data_on.insert(*copy.node);
    record.paused = spec.paused;
    context_.put(record);
    context_.statuses.await_confirmation(context_, key, context_.config.confirm_timeout);
  }

  std::optional<std::uint32_t> user_of(const model::InstanceSpec& spec) {
    const IdRange range = context_.config.uids;
    const bool fits = spec.uid >= range.first && spec.uid <= range.last;
    if (!fits || !users_.insert(spec.uid).second) return take_uid(context_.state, range);
    model::CounterRecord counters = durable().counters;
    counters.next_uid = std::max(counters.next_uid, spec.uid + 1);
    context_.state.put(counters);
    const auto& freed = durable().freed_uids;
    const auto found =
        std::ranges::find_if(freed, [&](const auto& entry) { return entry.second.id == spec.uid; });
    if (found != freed.end())
      context_.state.erase<model::FreedIdRecord>(std::uint64_t{found->first});
    return spec.uid;
  }

  std::optional<std::uint32_t> group_of(const model::InstanceSpec& spec) {
    const IdRange range = context_.config.gids;
    if (groups_.insert(spec.item.id).second && spec.gid >= range.first && spec.gid <= range.last) {
      model::CounterRecord counters = durable().counters;
      counters.next_gid = std::max(counters.next_gid, spec.gid + 1);
      context_.state.put(counters);
      context_.state.put(model::GroupRecord{spec.item.id, spec.gid});
    }
    return gid_of(context_.state, spec.item.id, range);
  }

  // Only one of a network that its node was told of, and that no other has.
  std::optional<model::Ipv4> address_of(const model::InstanceSpec& spec) {
    if (!spec.network || !networks_.contains(spec.network->owner)) return std::nullopt;
    model::NetworkRecord network = durable().networks.at(spec.network->owner);
    const bool fits = model::contains(network.subnet, spec.network->address);
    if (!fits || !take_host(network, spec.network->address)) return std::nullopt;
    context_.state.put(network);
    return spec.network->address;
  }

  // The version and the number that run; all else as the documents say that are still there.
  void put_requests() {
    std::map<RequestKey, model::RunRequest> wanted;
    for (const auto& [key, copy] : copies_) {
      if (copy.spec->item.type == model::ItemType::Component) continue;
      model::RunRequest& run = wanted[{key.item, key.subject}];
      run.item = key.item;
      run.subject = key.subject;
      run.version = copy.spec->item.version;
      run.priority = copy.spec->priority;
      run.instances = std::max(run.instances.value_or(0), key.index + 1);
    }
    const auto deployments = durable().deployments;
    for (const auto& [name, deployment] : deployments) update(deployment, wanted);
    if (wanted.empty()) return;
    model::Deployment rest{kDeploymentName, {}};
    if (const auto known = durable().deployments.find(rest.name);
        known != durable().deployments.end()) {
      rest = known->second;
    }
    for (auto& [key, run] : wanted) rest.run.push_back(std::move(run));
    context_.state.put(rest);
  }

  void update(model::Deployment deployment, std::map<RequestKey, model::RunRequest>& wanted) {
    for (model::RunRequest& run : deployment.run) {
      const RequestKey key{run.item, run.subject};
      const auto found = wanted.find(key);
      if (found == wanted.end()) continue;
      if (!means(run, found->second.version)) run.version = found->second.version;
      run.priority = found->second.priority;
      if (run.instances) run.instances = std::max(*run.instances, *found->second.instances);
      wanted.erase(found);
      context_.state.erase<model::RolloutRecord>(key);
    }
    context_.state.put(deployment);
  }

  // Left out it means the only one that there is.
  bool means(const model::RunRequest& run, const std::string& version) const {
    const auto& items = durable().items;
    const auto only = items.lower_bound({run.item, ""});
    const auto next = only == items.end() ? only : std::next(only);
    const bool is_only = next == items.end() || next->first.item != run.item;
    return run.version.empty() && is_only && only != items.end() && only->first.version == version;
  }

  Context& context_;
  const Copies copies_;
  std::set<model::OwnerId> networks_;  // as agents have them
  std::set<model::Ipv4> addresses_;    // taken
  std::set<std::uint32_t> users_;
  std::set<model::ItemId> groups_;
};

}  // namespace

std::vector<RebuiltRequest> rebuilt_requests(const std::map<model::NodeId, ObservedNode>& nodes) {
  std::map<std::pair<model::ItemKey, model::SubjectId>, RebuiltRequest> requests;
  for (const auto& [key, copy] : copies_of(nodes)) {
    const model::ItemKey item = model::key_of(copy.spec->item);
    RebuiltRequest& request = requests[{item, key.subject}];
    request.item = item;
    request.subject = key.subject;
    ++request.instances;
    request.nodes.insert(*copy.node);
  }
  std::vector<RebuiltRequest> all;
  for (auto& [key, request] : requests) all.push_back(std::move(request));
  return all;
}

Result<void> rebuild(Context& context) {
  for (const auto& [id, node] : context.nodes) {
    if (!node.connection || node.orders_shown) continue;
    return Error{Code::Unavailable,
                 id.value() + " has not said yet what it was told; try again in a moment"};
  }
  Rebuild(context).run();
  return {};
}

}  // namespace berth::control
