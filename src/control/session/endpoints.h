#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "control/session/port_book.h"
#include "control/step.h"

namespace berth::control {

// The ports at which sessions are reached, of every address. What may be held is durable before it
// is given out, and reserved ahead, so that nobody waits for that.
class Endpoints {
 public:
  void restore(const Step& step);
  // Sessions may be reached there from now on.
  void know(const Step& step, const std::string& address);

  enum class Outcome { Given, NotYet, Exhausted };
  struct Given {
    Outcome outcome = Outcome::Exhausted;
    std::vector<std::uint16_t> ports;
  };
  // So many, or none.
  Given allocate(const std::string& address, std::size_t count);
  void release(const std::string& address, std::uint16_t port);
  // Somebody else listens there.
  void set_aside(const std::string& address, std::uint16_t port);
  // An agent says that it is held. False: it was known to be held already, or is of no address
  // here.
  bool take(const std::string& address, std::uint16_t port);
  // Whoever could be heard of has said what is held.
  void settle();

  // Before the step is sealed.
  void write_down(Step& step);
  void became_durable(std::uint64_t revision);

 private:
  struct Book {
    PortBook ports;
    std::set<std::uint16_t> taken;         // since the start, while it is not settled
    std::optional<std::uint64_t> writing;  // by this revision
  };

  // nullptr: there is none. Something of it changes: it may have to be written.
  Book* touch(const std::string& address);

  std::map<std::string, Book> books_;
  std::set<std::string> touched_;  // since they were looked at
  std::set<std::string> writing_;
  bool is_settled_ = false;
};

}  // namespace berth::control
