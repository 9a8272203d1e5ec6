#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/application.h"
#include "model/condition.h"
#include "model/ids.h"
#include "model/instance.h"
#include "model/network.h"
#include "model/node.h"
#include "model/protocol.h"

// What controller and agents keep on disk beside the documents of the users.
namespace berth::model {

enum class Phase {
  Placed,    // it has a place, and a command for it has been or will be sent
  Waiting,   // nothing can run it now
  Cached,    // no longer asked for; its uid and data are kept for the day it is again
  Inactive,  // asked for, but its subject is gone: it holds nothing, and comes back with it
  Erasing,   // deleted; its uid is taken until its data are gone from every node
};

template <>
struct Names<Phase> {
  static constexpr std::string_view kWhat = "phase";
  static constexpr std::array kTable{
      Word<Phase>{Phase::Placed, "placed"},   Word<Phase>{Phase::Waiting, "waiting"},
      Word<Phase>{Phase::Cached, "cached"},   Word<Phase>{Phase::Inactive, "inactive"},
      Word<Phase>{Phase::Erasing, "erasing"},
  };
};

// The place that a moving instance leaves, and what runs there until the new one is active; or, if
// it must stop first, until it has stopped. One that hands over is stopped when everything is
// prepared at its new place; then this is the place that it goes back to if the new copy fails.
struct Leaving {
  Place place;
  std::string version;
  std::uint32_t image = 0;
  bool stop_first = false;
  bool hand_over = false;
  bool empty = false;  // of one that hands over: it has stopped there

  friend bool operator==(const Leaving&, const Leaving&) = default;
};

// What the controller has decided about an instance.
struct InstanceRecord {
  InstanceKey key;
  ItemType type = ItemType::Service;
  std::string version;
  std::int64_t priority = 0;
  Phase phase = Phase::Waiting;
  std::optional<Place> place;  // exactly when placed
  std::optional<NodeId> home;  // of one that is not: where it was, and has what it stored
  std::uint32_t image = 0;
  std::optional<Leaving> leaving;
  std::optional<Place>
      own_runtime;            // of a component asked for on `all` runtimes: the one it is for
  bool preinstalled = false;  // a component that was there before anybody asked for it
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::optional<Ipv4> address;  // in the network of its owner
  Duration kept_for{};          // of a cached one: how long until it is deleted
  std::set<NodeId> data_on;     // where it has been placed, and may have left data
  bool paused = false;          // it shall stand still wherever it runs
  CommandNumber first_command;  // no earlier one was about it, but about one of its name before it
  bool awaits_room = false;     // placed, but its node was not told of it yet: nothing runs there

  friend bool operator==(const InstanceRecord&, const InstanceRecord&) = default;
};

// What runs on a node shall go elsewhere. What finds no other place stays until the deadline, or
// for good if there is none. A duration is kept, not a date: while there is no control plane
// nothing can move, so that time does not count.
struct DrainOrder {
  std::string why;
  Duration deadline{};   // what was left when it was written down; 0: none
  bool overdue = false;  // the deadline has passed

  friend bool operator==(const DrainOrder&, const DrainOrder&) = default;
};

// A node that has joined. What its runtimes say now, and its usage, are observed, never stored.
struct NodeRecord {
  NodeId id;
  NodeInfo info;
  bool cordoned = false;
  std::optional<DrainOrder> drain;  // then it is cordoned too
  std::vector<KeptCondition> conditions;
  std::vector<KeptReadiness> readiness;

  friend bool operator==(const NodeRecord&, const NodeRecord&) = default;
};

// The group id that all instances of an item share.
struct GroupRecord {
  ItemId item;
  std::uint32_t gid = 0;

  friend bool operator==(const GroupRecord&, const GroupRecord&) = default;
};

// An id given back, in the order of giving back, so that the longest-free is taken first.
struct FreedIdRecord {
  std::uint64_t sequence = 0;
  std::uint32_t id = 0;

  friend bool operator==(const FreedIdRecord&, const FreedIdRecord&) = default;
};

// The network that the instances of an owner share.
struct NetworkRecord {
  OwnerId owner;
  std::uint32_t vxlan = 0;
  Subnet subnet;
  std::uint32_t next_host = 1;  // addresses from here on have never been given away

  friend bool operator==(const NetworkRecord&, const NetworkRecord&) = default;
};

// The address that a node has in a network.
struct NodeAddressRecord {
  OwnerId owner;
  NodeId node;
  Ipv4 address;

  friend bool operator==(const NodeAddressRecord&, const NodeAddressRecord&) = default;
};

// An address given back, in the order of giving back, so that the longest-free is taken first.
struct FreedAddressRecord {
  OwnerId owner;
  std::uint64_t sequence = 0;
  Ipv4 address;

  friend bool operator==(const FreedAddressRecord&, const FreedAddressRecord&) = default;
};

// A change of an item's version for a subject, until all of its instances are well, or have gone
// back.
struct RolloutRecord {
  ItemId item;
  SubjectId subject;
  std::string from;
  std::string to;
  bool allow_partial = false;           // keep what works
  std::optional<Problem> failed;        // why `from` runs again, although `to` is asked for
  std::set<std::uint32_t> kept_back;    // the indices that failed in `to`, where what works is kept
  std::set<std::uint32_t> proven = {};  // the indices that came up in `to`: not tried again
  // The document of `to` was edited: the version stays, but what runs has to be started anew.
  bool edited = false;
  // The indices that run what the document of their version said before it was edited, or have not
  // proven yet that they run what it says now.
  std::set<std::uint32_t> outdated = {};
  // After everything has gone back: why those that are outdated are not started anew.
  std::optional<Problem> halted = {};

  friend bool operator==(const RolloutRecord&, const RolloutRecord&) = default;
};

// The last state of an instance that counts, and the node that it is from or that has gone on from
// it. The generation grows with every change of either, so that a node can tell whether what it is
// handed is newer than what it has taken before.
struct StateRecord {
  SavedState state;
  NodeId node;
  bool is_behind = false;  // that node has a newer one, which is too large to go along
  CommandNumber since;     // no earlier command was carried out with it there

  friend bool operator==(const StateRecord&, const StateRecord&) = default;
};

// Why a control plane does nothing but look until an operator has spoken.
enum class HoldReason {
  StoreLost,     // the store is new, but the unit is not
  StoreBehind,   // an agent has carried out what the store does not know of
  OtherCluster,  // an agent has carried out commands of another store of this unit
};

template <>
struct Names<HoldReason> {
  static constexpr std::string_view kWhat = "reason for a hold";
  static constexpr std::array kTable{
      Word<HoldReason>{HoldReason::StoreLost, "StoreLost"},
      Word<HoldReason>{HoldReason::StoreBehind, "StoreBehind"},
      Word<HoldReason>{HoldReason::OtherCluster, "OtherCluster"},
  };
};

// What the store of a control plane lacks, as far as its agents can show.
struct Hold {
  HoldReason reason = HoldReason::StoreLost;
  CommandNumber shown;         // the newest command that an agent has a receipt for
  std::optional<NodeId> node;  // whose that is
  CommandNumber known = {};    // the last one of that time that the store had; none: nothing of it

  friend bool operator==(const Hold&, const Hold&) = default;
};

// Who the store is, and the controller's counters. `revision` grows with every durable change and
// numbers the commands; `epoch` grows when an operator declares the store to be the truth, so that
// what agents have been told before counts as older.
struct CounterRecord {
  std::uint64_t epoch = 1;
  std::uint64_t revision = 0;
  std::uint32_t next_uid = 0;
  std::uint32_t next_gid = 0;
  std::uint64_t next_freed = 0;
  std::string cluster = {};  // drawn once, when the store was made
  std::optional<Hold> hold = {};

  friend bool operator==(const CounterRecord&, const CounterRecord&) = default;
};

// A life of the control plane, from its start to the next, that has given commands.
struct LifeRecord {
  std::uint64_t since = 0;  // the revision that it began with
  std::uint64_t life = 0;   // its number: drawn

  friend bool operator==(const LifeRecord&, const LifeRecord&) = default;
};

// The numbers of an application's pool instances are reserved ahead, so that none is used twice and
// no start waits for the disk.
struct NumberBlockRecord {
  ApplicationKey application;
  std::uint64_t reserved_to = 0;  // those below may have been used
  std::uint64_t edition = 0;      // grows when its instances have to be others

  friend bool operator==(const NumberBlockRecord&, const NumberBlockRecord&) = default;
};

// The ports of an address that sessions may hold. What is free here is held by nobody; what is held
// here may be.
struct PortBlockRecord {
  std::string address;
  std::string held;  // one bit per port, see control/session/port_bits.h

  friend bool operator==(const PortBlockRecord&, const PortBlockRecord&) = default;
};

// What an instance shall run as soon as what that needs is on the node.
struct Successor {
  InstanceSpec spec;
  CommandNumber generation;

  friend bool operator==(const Successor&, const Successor&) = default;
};

// What an agent has been told to run. `generation` is the command that last changed what runs, so
// that a run found after a restart of the agent is known to be the wanted one or not.
struct WantedRecord {
  InstanceSpec spec;
  CommandNumber generation;
  bool finished = false;  // its restart policy says that it is done
  std::optional<std::int32_t> exit_code;
  std::optional<Successor> successor;  // until then the one above is kept running

  friend bool operator==(const WantedRecord&, const WantedRecord&) = default;
};

}  // namespace berth::model
