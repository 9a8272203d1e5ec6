#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "control/step.h"
#include "placement/ask.h"
#include "placement/cluster/cluster.h"

// What a standing plan has to know of what is asked for in addition, or no longer.
namespace berth::control {

struct Context;
struct PoolMember;

// How many instances a request has asked for, and asks for now. All else of it is the same.
struct Extent {
  std::uint32_t before = 0;
  std::uint32_t now = 0;
};

// What is asked for in addition and was not placed yet: the instances that requests ask for now and
// did not before, and those that wait of requests that somebody asks for again. However many they
// are, a step places only some of them, so that nobody else waits long.
class Additions {
 public:
  bool empty() const { return parts_.empty(); }
  void clear();

  // Also what the calls ask for that are to be planned. False: not as simple as that, so that
  // everything is to be planned.
  bool add(const Context& context, const std::map<RequestKey, Extent>& extents);
  // The next so many, in scheduling order. nullopt: some have a past, so that everything is to be
  // planned.
  std::optional<std::vector<placement::Ask>> take(const Context& context, std::size_t at_most);

 private:
  // Of a request: those from `next` on that wait, if they were asked for before, and all others.
  struct Part {
    std::int64_t priority = 0;
    std::uint32_t next = 0;
    std::uint32_t before = 0;
    std::uint32_t now = 0;
  };
  // The highest priority first.
  struct Turn {
    std::int64_t priority = 0;
    RequestKey request;

    friend bool operator<(const Turn& a, const Turn& b) {
      return a.priority != b.priority ? a.priority > b.priority : a.request < b.request;
    }
  };

  bool add(const Context& context, const RequestKey& key, const Extent& extent);

  std::map<RequestKey, Part> parts_;
  std::set<Turn> order_;
  std::set<RequestKey> asked_;  // by the calls that are to be planned
};

// Those that were asked for before and are not now, in the order of their keys. nullopt: the same.
std::optional<std::vector<model::InstanceRecord>> unasked_instances(
    const Context& context, const std::map<RequestKey, Extent>& extents);

// What an instance holds of its place; nullopt: it cannot be told.
std::optional<placement::Holding> holding_of(const Context& context,
                                             const placement::Cluster& cluster,
                                             const model::InstanceRecord& record);

// What instances of a lower priority hold of the node, that could make room.
std::vector<placement::Holding> held_by_lower(const Context& context,
                                              const placement::Cluster& cluster, std::size_t node,
                                              std::int64_t priority);

// What a pool instance holds of its node; nullopt: that is not there any more.
std::optional<placement::Holding> holding_of(const placement::Cluster& cluster,
                                             const PoolMember& member);

}  // namespace berth::control
