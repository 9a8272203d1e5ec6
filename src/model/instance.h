#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "model/ids.h"
#include "model/item.h"
#include "model/names.h"
#include "model/network.h"
#include "model/node.h"

namespace berth::model {

enum class InstanceState { Activating, Active, Inactive, Failed, Paused };

template <>
struct Names<InstanceState> {
  static constexpr std::string_view kWhat = "instance state";
  static constexpr std::array kTable{
      Word<InstanceState>{InstanceState::Activating, "activating"},
      Word<InstanceState>{InstanceState::Active, "active"},
      Word<InstanceState>{InstanceState::Inactive, "inactive"},
      Word<InstanceState>{InstanceState::Failed, "failed"},
      Word<InstanceState>{InstanceState::Paused, "paused"},
  };
};

// Whether it is up: it has come up as it should, though it may stand still by order.
constexpr bool is_up(InstanceState state) {
  return state == InstanceState::Active || state == InstanceState::Paused;
}

// What a run shall do: go on, or stand still and use no processor.
enum class Pausing { Running, Paused };

// What keeps an instance from being started, as far as Berth itself decides on it.
enum class Hindrance {
  None,  // or none of these
  BeingFetched,
  RuntimeNotReady,
  StoreNotWritable,
  PortTaken,
};

template <>
struct Names<Hindrance> {
  static constexpr std::string_view kWhat = "hindrance";
  static constexpr std::array kTable{
      Word<Hindrance>{Hindrance::None, "none"},
      Word<Hindrance>{Hindrance::BeingFetched, "being-fetched"},
      Word<Hindrance>{Hindrance::RuntimeNotReady, "runtime-not-ready"},
      Word<Hindrance>{Hindrance::StoreNotWritable, "store-not-writable"},
      Word<Hindrance>{Hindrance::PortTaken, "port-taken"},
  };
};

// Why an instance is not active: one CamelCase token for other programs, a sentence for people.
struct Problem {
  std::string reason;
  std::string message;
  Hindrance hindrance = Hindrance::None;

  friend bool operator==(const Problem&, const Problem&) = default;
};

// What is measured of an instance beside cpu and ram; traffic is averaged.
struct Footprint {
  Bytes storage;
  Bytes state;
  Traffic traffic;

  friend bool operator==(const Footprint&, const Footprint&) = default;
};

// What an agent reports of one instance it runs.
struct ReportedStatus {
  InstanceKey key;
  ItemType type = ItemType::Service;
  std::string version;
  RuntimeId runtime;
  InstanceState state = InstanceState::Activating;
  Problem problem;                        // of a failed one; of one that is up a warning
  std::optional<std::int32_t> exit_code;  // of the last run that ended
  std::uint32_t restarts = 0;
  bool finished = false;      // its restart policy says that it is done
  bool stopping = false;      // no longer wanted; listed until it is really gone
  bool prepare_only = false;  // as its spec says; activating without a problem: all is prepared
  Usage usage;
  Footprint footprint;

  friend bool operator==(const ReportedStatus&, const ReportedStatus&) = default;
};

// What the controller tells the world of an instance.
struct InstanceStatus {
  InstanceKey key;
  std::string version;
  std::optional<Place> place;
  InstanceState state = InstanceState::Activating;
  Problem problem;
  bool unverified = false;  // runs, as far as we know, where nobody can vouch for it now
  std::optional<std::int32_t> exit_code;
  std::uint32_t restarts = 0;
  // The copy at `place` serves until the one here has proven itself.
  std::optional<Place> moving_to = {};
  // It has passed its health check, or has been active for as long as its item wants, or has done
  // its work; and is where it shall be.
  bool proven = false;
  bool away = false;  // its node is not heard of
  Duration since{};   // when it came into this state, as far as is known: a date since 1970

  friend bool operator==(const InstanceStatus&, const InstanceStatus&) = default;
};

// All that an agent must know to run an instance. Two equal specs are the same running thing:
// an agent restarts an instance only when its spec changes in what it runs.
struct InstanceSpec {
  InstanceKey key;
  Item item;
  std::uint32_t image = 0;
  RuntimeId runtime;
  std::int64_t priority = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::optional<InstanceNetwork> network;  // nullopt: it uses the network of its node
  bool paused = false;                     // once it is active, it shall stand still
  // Everything shall be there that it needs, but it is not started: it still runs elsewhere.
  bool prepare_only = false;
  // Of a pool instance: where its agent has the socket of the session service. "": it uses none.
  std::string session_socket = {};

  friend bool operator==(const InstanceSpec&, const InstanceSpec&) = default;
};

// The state of an instance: what it has written to its state directory. It goes with the instance
// to its next node. The generation grows each time that the controller keeps a new one.
struct SavedState {
  static constexpr Bytes kSizeMax{2 << 20};
  // In place of the digest of one that is too large to go along: its content stays where it is.
  static constexpr char kTooLarge[] = "too-large";

  InstanceKey key;
  std::uint64_t generation = 0;
  std::string digest;  // SHA-256 of the content, in hex
  std::string content;

  friend bool operator==(const SavedState&, const SavedState&) = default;
};

// By which a node remembers what an instance went on from. A number alone is not enough: a
// controller that has lost its store counts from the beginning.
std::string name_of(const SavedState& state);

// Whether going from one spec to the other needs no restart. Priority, health checks and the like
// change nothing for what runs.
bool runs_the_same(const InstanceSpec& a, const InstanceSpec& b);
bool runs_the_same(const Item& a, const Item& b);

}  // namespace berth::model
