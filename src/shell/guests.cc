#include "shell/guests.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace berth::shell {

Guests::Arrival Guests::arrive(const std::string& address) {
  Arrival arrival{.id = ++last_};
  guests_.emplace(arrival.id, Guest{address, std::nullopt});
  Strangers& neighbours = by_address_[address];
  neighbours.idle.insert(arrival.id);
  ++strangers_;
  if (is_full()) {
    arrival.makes_room = arrival.id;
  } else if (neighbours.count() > limits_.strangers_of_address) {
    arrival.makes_room = idlest_of(address);
  } else if (strangers_ > limits_.strangers) {
    arrival.makes_room = idlest_of_the_most();
  }
  return arrival;
}

std::optional<Guests::Id> Guests::idlest_of(const std::string& address) const {
  const std::set<Id>& idle = by_address_.at(address).idle;
  return idle.empty() ? std::nullopt : std::optional(*idle.begin());
}

// Of addresses that have equally many, the one that has waited longest. Who has come just now is
// idle, so there is one.
std::optional<Guests::Id> Guests::idlest_of_the_most() const {
  const auto most = std::ranges::max_element(by_address_, {}, [](const auto& entry) {
    const std::set<Id>& idle = entry.second.idle;
    return std::pair(idle.size(), idle.empty() ? Id{0} : ~*idle.begin());
  });
  return idlest_of(most->first);
}

bool Guests::engage(Id id) {
  const auto guest = guests_.find(id);
  if (guest == guests_.end() || guest->second.name) return false;
  Strangers& neighbours = by_address_.at(guest->second.address);
  if (neighbours.engaged.contains(id)) return true;
  const bool has_room =
      engaged_ < limits_.engaged && neighbours.engaged.size() < limits_.engaged_of_address;
  if (!has_room) return false;
  neighbours.idle.erase(id);
  neighbours.engaged.insert(id);
  ++engaged_;
  return true;
}

bool Guests::recognise(Id id, const std::string& name) {
  const auto guest = guests_.find(id);
  if (guest == guests_.end()) return false;
  if (guest->second.name) return true;
  const auto namesakes = by_name_.find(name);
  const std::size_t count = namesakes == by_name_.end() ? 0 : namesakes->second;
  if (count >= limits_.known_of_name || is_full()) return false;
  forget_stranger(id, guest->second);
  guest->second.name = name;
  by_name_[name] = count + 1;
  return true;
}

void Guests::leave(Id id) {
  const auto guest = guests_.find(id);
  if (guest == guests_.end()) return;
  if (!guest->second.name) {
    forget_stranger(id, guest->second);
  } else if (--by_name_.at(*guest->second.name) == 0) {
    by_name_.erase(*guest->second.name);
  }
  guests_.erase(guest);
}

void Guests::forget_stranger(Id id, const Guest& guest) {
  const auto neighbours = by_address_.find(guest.address);
  CHECK(neighbours != by_address_.end(), "a stranger has an address");
  neighbours->second.idle.erase(id);
  engaged_ -= neighbours->second.engaged.erase(id);
  if (neighbours->second.count() == 0) by_address_.erase(neighbours);
  --strangers_;
}

}  // namespace berth::shell
