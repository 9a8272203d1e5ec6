#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/network.h"
#include "network/network_namespace.h"
#include "session/conntrack.h"
#include "session/fd.h"
#include "session/gateway.h"
#include "session/poke.h"
#include "session/poller.h"
#include "session/rule_table.h"

namespace berth::session {

// A gateway in the kernel, by rules of nftables and its tracking of connections: no byte of a
// session passes through this process, and whoever is connected stays so when it ends. Each agent
// of a machine has a table of its own. A port is held by a socket that nobody is heard at, so that
// none is taken from who listens there. IPv4 only.
//
// A thread hears of connections, and forgets those that were cut, which the rules refuse until
// then.
class NftablesGateway final : public Gateway {
 public:
  // Where Reach::Network is: what is sent to the address goes into that network namespace.
  struct Inside {
    std::string network_namespace;
    model::Ipv4 address;
  };
  struct Config {
    std::string tag;  // of the agent on its machine
    std::optional<Inside> inside = {};
    // What rules are not made for: IPv6, and what another agent of this machine forwards on. May be
    // nullptr.
    std::unique_ptr<Gateway> rest = {};
  };

  // The error says why it cannot be here.
  static Result<std::unique_ptr<NftablesGateway>> open(Config config, GatewayCallbacks callbacks);
  ~NftablesGateway() override;  // everything stays

  // Takes away all that an agent's gateway has left in the kernel. Not while it lives.
  static Result<void> remove_all(const std::string& tag);

  Result<void> open(const Forward& forward) override;
  void refuse_new(const std::string& id) override;
  void close(const std::string& id) override;
  void settle() override;
  std::optional<Traffic> traffic(const std::string& id) override;

 private:
  struct Target {
    model::Ipv4 address;
    std::uint16_t port = 0;
    friend auto operator<=>(const Target&, const Target&) = default;
  };
  // By what connections are told apart whose they are: what was asked for and where it leads to.
  struct Route {
    std::uint8_t protocol = 0;
    std::uint16_t port = 0;
    Target target;
    friend auto operator<=>(const Route&, const Route&) = default;
  };
  struct Place {
    model::Ipv4 address;  // 0: all of the machine
    std::uint8_t protocol = 0;
    std::uint16_t port = 0;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  // One protocol of a forward.
  struct Part {
    Place place;
    Target target;                 // on the machine
    std::optional<Target> inside;  // from there on, in the instances' network
    bool refuses = false;
    Fd hold = {};

    Route route() const { return {place.protocol, place.port, target}; }
    Place inner_place() const;
    std::optional<Route> inner_route() const;
    bool leads_as(const Part& other) const;
  };
  struct OpenForward {
    Forward forward;
    std::vector<Part> parts;
    std::uint64_t connections = 0;
    std::uint32_t open = 0;
    bool used_told = false;
    std::uint32_t open_told = 0;
  };
  // Whose connections are refused, and forgotten soon.
  struct Cut {
    std::optional<Route> inner;
    Time since;
    std::uint32_t passes = 0;  // the first tells whoever is silent, the next forget them
  };
  // One network namespace: its table and its connections.
  struct Side {
    network::NetworkNamespace where;
    std::string rules;
    RuleTable table;
    Conntrack connections;  // with the lock
    Conntrack listing;      // by the thread alone
    Poker poker;
  };

  struct Both {
    RuleTable::Changes machine;
    RuleTable::Changes inside;
  };
  class LeftReader;

  NftablesGateway(Config config, GatewayCallbacks callbacks, std::unique_ptr<Poller> poller,
                  Side machine, std::optional<Side> inside);

  static Result<Side> open_side(network::NetworkNamespace where, std::string table,
                                std::string rules);
  Result<void> start();
  Result<void> read_left();
  static Route route_of(const TrackedConnection& tracked);
  static RuleTable::Element entrance(const Part& part);
  static void put(const Part& part, Both& changes);
  static void take_away(const Part& part, Both& changes);

  // With the lock:
  Result<std::vector<Part>> make_parts(const Forward& forward);
  Result<Part> make_part(const Forward& forward, std::uint8_t protocol, const Endpoint& target);
  Result<void> add(std::vector<Part>& parts);
  void inherit(Part& part);
  void forget_cut(const Part& part);
  void end(const std::vector<Part>& parts);
  void commit(const Both& changes);
  Result<void> try_commit(const Both& changes);
  Result<void> mend();
  Result<void> lead_to_loopback(const Part& part);
  Result<void> lead_elsewhere(const Forward& forward);
  bool leads_elsewhere(const Part& part) const;
  void hear();
  void take_news(const TrackedConnection& tracked);
  OpenForward* find_by_route(const TrackedConnection& tracked);
  enum class Which { Outer, Inner };
  using CutConnections = std::vector<std::pair<Route, TrackedConnection>>;
  CutConnections find_cut(const std::vector<TrackedConnection>& all, Which which) const;
  void sweep_one(const CutConnections& found, Side& side, std::set<Route>& busy);
  void poke(const Cut& cut, const TrackedConnection& tracked, const Side& side) const;
  static void forget(const TrackedConnection& tracked, Side& side);
  std::optional<Time> tend(Time now);

  // By the thread, without the lock:
  void deliver();
  void sweep();
  void list_all();
  void tell_news();

  const std::string tag_;
  const std::optional<model::Ipv4> inside_address_;
  const std::unique_ptr<Gateway> rest_;
  const GatewayCallbacks callbacks_;
  const std::unique_ptr<Poller> poller_;

  // With the poller's lock.
  Side machine_;
  std::optional<Side> inside_;
  std::optional<Watch> events_;
  std::map<std::string, OpenForward> forwards_;
  std::map<Route, std::string> by_route_;
  std::map<Place, Part> left_;  // by an earlier life, until somebody opens it again
  std::map<Connection, std::string> connections_;
  std::map<Route, Cut> cuts_;
  std::optional<Time> sweep_at_;
  std::optional<Time> end_left_at_;
  bool leads_to_loopback_ = false;
  bool leads_elsewhere_ = false;
  std::set<std::string> changed_;  // to be told of
  bool must_sweep_ = false;
  bool must_list_ = false;
};

}  // namespace berth::session
