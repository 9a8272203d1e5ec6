#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace berth::shell {

// Who is connected at a port, and who has to go when there are too many. Whoever comes is a
// stranger until it has shown who it is. Strangers get a small part of the room, and make room for
// each other: the one that has idled longest goes when another comes. So who fills the port with
// connections that say nothing only pushes out its own. Those who are known have room that no
// stranger can take, so many for each name.
//
// Plain bookkeeping, without connections. Not safe to use from several threads at once.
class Guests {
 public:
  using Id = std::uint64_t;  // grows with every arrival

  struct Limits {
    std::size_t strangers = 1024;
    std::size_t strangers_of_address = 512;
    std::size_t engaged = 256;  // strangers that are worked for at once
    std::size_t engaged_of_address = 128;
    std::size_t known = 4096;
    std::size_t known_of_name = 64;
  };

  explicit Guests(const Limits& limits) : limits_(limits) {}

  struct Arrival {
    Id id = 0;
    std::optional<Id> makes_room = {};  // must go, perhaps the one that has just come
  };
  Arrival arrive(const std::string& address);

  // A stranger that is worked for does not go for another's sake. False: too many are already, and
  // it has to wait until one of them is known or gone.
  [[nodiscard]] bool engage(Id id);

  // It has shown who it is. False: there are too many already, and it must go.
  [[nodiscard]] bool recognise(Id id, const std::string& name);

  void leave(Id id);

  std::size_t strangers() const { return strangers_; }
  std::size_t known() const { return guests_.size() - strangers_; }
  bool is_full() const { return known() >= limits_.known; }

 private:
  struct Guest {
    std::string address;
    std::optional<std::string> name;  // nullopt: a stranger
  };
  struct Strangers {
    std::set<Id> idle;
    std::set<Id> engaged;
    std::size_t count() const { return idle.size() + engaged.size(); }
  };

  std::optional<Id> idlest_of(const std::string& address) const;
  std::optional<Id> idlest_of_the_most() const;
  void forget_stranger(Id id, const Guest& guest);

  const Limits limits_;
  Id last_ = 0;
  std::map<Id, Guest> guests_;
  std::map<std::string, Strangers> by_address_;
  std::map<std::string, std::size_t> by_name_;
  std::size_t strangers_ = 0;
  std::size_t engaged_ = 0;
};

}  // namespace berth::shell
