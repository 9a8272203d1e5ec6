#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/result.h"
#include "control/session/session.h"

namespace berth::control {

// Somebody else has the name.
Error already_exists(const model::SessionKey& key);

// All sessions that are known, by name, by what they were asked for with, and by when something
// about them is due. Those that are over are kept for a while.
class Sessions {
 public:
  // Who asks again with the same words gets the same session.
  struct Request {
    model::ApplicationKey application;
    std::string caller;
    std::string id;

    friend auto operator<=>(const Request&, const Request&) = default;
  };

  // One that is over makes way for a new one of its name.
  Session& add(Session session);
  void erase(const model::SessionKey& key);
  // The same session under another name.
  Session& rename(const model::SessionKey& from, const model::SessionKey& to);

  Session* find(const model::SessionKey& key);
  const Session* find(const model::SessionKey& key) const;
  // Of this incarnation; nullptr: it is another by now.
  Session* find(const model::SessionRef& ref);
  Session* find(const Request& request);
  const std::map<model::SessionKey, Session>& all() const { return all_; }
  // A name that nobody has, for one that has none of its own yet.
  model::SessionKey unused_name(const std::string& ns) {
    return {ns, "~" + std::to_string(++unnamed_)};
  }

  void set_deadline(Session& session, Time at);
  // Nothing has to be done about it at its deadline any more.
  void opened(const Session& session) {
    deadlines_.erase({session.deadline, session.spec.ref.key});
  }
  // Those that are due and have not been available.
  std::vector<model::SessionKey> take_overdue(Time now);
  // It is over: it goes after a while.
  void ended(const Session& session);
  std::vector<model::SessionKey> take_finished(Time now);
  Time next() const;
  Time next_deadline() const { return deadlines_.empty() ? kNever : deadlines_.begin()->first; }

 private:
  using Due = std::set<std::pair<Time, model::SessionKey>>;

  std::map<model::SessionKey, Session> all_;
  std::map<Request, model::SessionKey> requests_;
  Due deadlines_;
  Due finished_;
  std::uint64_t unnamed_ = 0;
};

}  // namespace berth::control
