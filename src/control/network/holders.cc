#include "control/network/holders.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/check.h"
#include "control/network/address_pool.h"
#include "control/network/network_need.h"

namespace berth::control {
namespace {

using Keys = std::set<model::InstanceKey>;

using NetworksByBase = std::map<model::Ipv4, const model::NetworkRecord*>;

void restore_holding(Networks& networks, const NetworksByBase& by_base,
                     const model::InstanceRecord& record) {
  const auto after = by_base.upper_bound(*record.address);
  CHECK(after != by_base.begin(), "an address is of a network");
  const model::NetworkRecord& network = *std::prev(after)->second;
  CHECK(model::contains(network.subnet, *record.address), "an address is of a network");
  networks.holdings.insert_or_assign(record.key,
                                     model::InstanceNetwork{network.owner, *record.address});
  ++networks.holders[network.owner];
}

class Holders {
 public:
  Holders(Context& context, Networks& networks, const std::set<model::NodeId>& nodes, Keys& keys)
      : context_(context), networks_(networks), nodes_(nodes), keys_(keys) {}

  // What is given back comes first, so that it can be taken in the same step.
  void update() {
    forget_nodes();
    for (const model::InstanceKey& key : keys_) release_names(key);
    if (freed_) add_troubled();
    claim_names();
    for (const model::InstanceKey& key : keys_) retire(key);
    if (freed_) add_troubled();
    assign_addresses();
  }

 private:
  struct Wish {
    bool exposes = false;  // those who are connected to come first
    model::InstanceKey key;

    friend bool operator<(const Wish& a, const Wish& b) {
      if (a.exposes != b.exposes) return a.exposes;
      return a.key < b.key;
    }
  };

  const model::Item* item_of(const model::InstanceKey& key) const {
    const auto* record = context_.state.find<model::InstanceRecord>(key);
    return record == nullptr ? nullptr : networked_item(context_, *record);
  }

  void add_troubled() {
    for (const auto& [key, problem] : networks_.problems) keys_.insert(key);
  }

  void forget_nodes() {
    for (const model::NodeId& node : nodes_) {
      if (context_.state.durable().nodes.contains(node)) continue;
      freed_ |= give_back_addresses_of(context_.state, node);
    }
  }

  // --- Names.

  std::vector<Name> wished_names(const model::InstanceKey& key) const {
    const model::Item* item = item_of(key);
    return item == nullptr ? std::vector<Name>{} : names_of(*item, key);
  }

  void release_names(const model::InstanceKey& key) {
    const auto known = networks_.claimed.find(key);
    if (known == networks_.claimed.end()) return;
    const std::vector<Name> wished = wished_names(key);
    std::erase_if(known->second, [&](const Name& name) {
      if (std::ranges::find(wished, name) != wished.end()) return false;
      networks_.claims.release(name);
      freed_ = true;
      return true;
    });
    if (known->second.empty()) networks_.claimed.erase(known);
  }

  // After a start, those who have an address had their names, too.
  void claim_names() {
    for (const model::InstanceKey& key : keys_) {
      if (networks_.holdings.contains(key)) claim_names(key);
    }
    for (const model::InstanceKey& key : keys_) {
      if (!networks_.holdings.contains(key)) claim_names(key);
    }
  }

  // What is free is claimed even if something else is not: who asked first has it.
  void claim_names(const model::InstanceKey& key) {
    networks_.nameless.erase(key);
    for (const Name& name : wished_names(key)) {
      std::vector<Name>& claimed = networks_.claimed[key];
      if (std::ranges::find(claimed, name) != claimed.end()) continue;
      if (networks_.claims.claim(name)) {
        claimed.push_back(name);
      } else {
        networks_.nameless.try_emplace(key, taken(name));
      }
    }
  }

  model::Problem taken(const Name& name) const {
    return {"NameTaken", fmt::format("the name {} is taken by {}: rename one of them, or its hosts",
                                     name.text, to_string(*networks_.claims.find(name.text)))};
  }

  // --- Giving back.

  bool may_keep(const model::InstanceKey& key, const model::InstanceNetwork& holding) const {
    const auto* record = context_.state.find<model::InstanceRecord>(key);
    if (record == nullptr || !record->place || networks_.nameless.contains(key)) return false;
    const model::Item* item = networked_item(context_, *record);
    return item == nullptr || item->owner == holding.owner;
  }

  // Also those who have lost a name, by a change of their item, must stop: who has one was first.
  void retire(const model::InstanceKey& key) {
    const auto holding = networks_.holdings.find(key);
    if (holding == networks_.holdings.end()) return;
    const bool changed = may_keep(key, holding->second) ? networks_.retiring.erase(key) > 0
                                                        : networks_.retiring.insert(key).second;
    if (changed) mark(key);
    if (!networks_.retiring.contains(key)) return keep(key, holding->second.address);
    if (is_gone(key)) give_back(key);
  }

  // One that was erased and is asked for again in the same step has a new record, and keeps what it
  // had: only the record tells of it after a restart.
  void keep(const model::InstanceKey& key, const model::Ipv4& address) {
    if (context_.state.find<model::InstanceRecord>(key)->address != address)
      set_address(key, address);
  }

  bool is_gone(const model::InstanceKey& key) const {
    if (!context_.reachability.all_heard()) return false;
    if (const auto* record = context_.state.find<model::InstanceRecord>(key)) {
      if (record->place && is_present(context_.nodes, record->place->node, key)) return false;
      if (record->leaving && is_present(context_.nodes, record->leaving->place.node, key))
        return false;
    }
    const auto others = networks_.elsewhere.find(key);
    return others == networks_.elsewhere.end() ||
           std::ranges::none_of(others->second, [&](const model::NodeId& node) {
             return is_present(context_.nodes, node, key);
           });
  }

  void give_back(const model::InstanceKey& key) {
    const model::InstanceNetwork holding = networks_.holdings.at(key);
    networks_.holdings.erase(key);
    networks_.retiring.erase(key);
    give_back_address(context_.state, holding.owner, holding.address);
    if (--networks_.holders.at(holding.owner) == 0) {
      networks_.holders.erase(holding.owner);
      erase_network(context_.state, holding.owner);
    }
    set_address(key, std::nullopt);
    freed_ = true;
  }

  // --- Taking.

  void assign_addresses() {
    std::set<Wish> wishes;
    for (const model::InstanceKey& key : keys_) {
      const model::Item* item = item_of(key);
      const auto nameless = networks_.nameless.find(key);
      if (nameless != networks_.nameless.end()) {
        set_problem(key, nameless->second);
      } else if (item == nullptr || networks_.retiring.contains(key)) {
        set_problem(key, std::nullopt);
      } else {
        wishes.insert({!item->ports.empty(), key});
      }
    }
    for (const Wish& wish : wishes) set_problem(wish.key, assign_address(wish.key));
  }

  std::optional<model::Problem> assign_address(const model::InstanceKey& key) {
    const auto* record = context_.state.find<model::InstanceRecord>(key);
    const model::OwnerId& owner = networked_item(context_, *record)->owner;
    const auto* network = network_for(context_.state, owner, context_.config);
    if (network == nullptr) {
      return model::Problem{"NoFreeAddress",
                            fmt::format("all networks of {} are taken: set a larger range",
                                        model::to_string(context_.config.networks))};
    }
    const bool node_has = node_address_for(context_.state, owner, record->place->node).has_value();
    if (networks_.holdings.contains(key) && node_has) return std::nullopt;
    const auto address = node_has ? take_address(context_.state, owner) : std::nullopt;
    if (!address) {
      return model::Problem{"NoFreeAddress",
                            fmt::format("all addresses of {}, the network of {}, are taken",
                                        model::to_string(network->subnet), owner.value())};
    }
    networks_.holdings.insert_or_assign(key, model::InstanceNetwork{owner, *address});
    ++networks_.holders[owner];
    set_address(key, address);
    return std::nullopt;
  }

  void set_address(const model::InstanceKey& key, std::optional<model::Ipv4> address) {
    const auto* known = context_.state.find<model::InstanceRecord>(key);
    if (known == nullptr) return;
    model::InstanceRecord record = *known;
    record.address = address;
    context_.put(record);
  }

  // --- Problems.

  void set_problem(const model::InstanceKey& key, std::optional<model::Problem> problem) {
    const auto known = networks_.problems.find(key);
    const bool is_known = known != networks_.problems.end();
    if (problem.has_value() == is_known && (!problem || known->second == *problem)) return;
    if (problem && (!is_known || known->second.reason != problem->reason)) {
      context_.note(NoteKind::Refused, key,
                    fmt::format("{}: {}", problem->reason, problem->message));
    }
    if (problem) {
      networks_.problems.insert_or_assign(key, *std::move(problem));
    } else {
      networks_.problems.erase(known);
    }
    mark(key);
  }

  void mark(const model::InstanceKey& key) {
    context_.changes.instances.insert(key);
    if (const auto* record = context_.state.find<model::InstanceRecord>(key))
      context_.mark(*record);
  }

  Context& context_;
  Networks& networks_;
  const std::set<model::NodeId>& nodes_;  // that were marked
  Keys& keys_;
  bool freed_ = false;  // something that others may wait for
};

}  // namespace

void restore_holdings(const Durable& durable, Networks& networks) {
  NetworksByBase by_base;
  for (const auto& [owner, network] : durable.networks) {
    by_base.emplace(network.subnet.base, &network);
  }
  for (const auto& [key, record] : durable.instances) {
    if (record.address) restore_holding(networks, by_base, record);
  }
}

void update_holders(Context& context, Networks& networks, const std::set<model::NodeId>& nodes,
                    Keys& keys) {
  Holders(context, networks, nodes, keys).update();
}

}  // namespace berth::control
