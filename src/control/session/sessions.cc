#include "control/session/sessions.h"

#include <fmt/format.h>

#include <algorithm>

namespace berth::control {
namespace {

std::optional<Sessions::Request> request_of(const Session& session) {
  if (session.spec.request_id.empty()) return std::nullopt;
  return Sessions::Request{session.application, session.spec.caller, session.spec.request_id};
}

}  // namespace

Error already_exists(const model::SessionKey& key) {
  return {Code::Conflict, fmt::format("a session {} is open already, by somebody else or of "
                                      "another application; choose another name",
                                      model::to_string(key))};
}

Session& Sessions::add(Session session) {
  const model::SessionKey key = session.spec.ref.key;
  if (const Session* before = find(key)) {
    session.spec.ref.incarnation = before->spec.ref.incarnation + 1;
    erase(key);
  }
  if (auto request = request_of(session)) requests_.insert_or_assign(*std::move(request), key);
  if (session.is_opening()) deadlines_.emplace(session.deadline, key);
  return all_.insert_or_assign(key, std::move(session)).first->second;
}

void Sessions::erase(const model::SessionKey& key) {
  const auto found = all_.find(key);
  if (found == all_.end()) return;
  if (const auto request = request_of(found->second)) {
    const auto known = requests_.find(*request);
    if (known != requests_.end() && known->second == key) requests_.erase(known);
  }
  deadlines_.erase({found->second.deadline, key});
  if (found->second.ended) {
    finished_.erase({*found->second.ended + found->second.keep_finished, key});
  }
  all_.erase(found);
}

Session& Sessions::rename(const model::SessionKey& from, const model::SessionKey& to) {
  Session session = std::move(all_.at(from));
  all_.erase(from);
  deadlines_.erase({session.deadline, from});
  session.spec.ref.key = to;
  session.is_named = true;
  return add(std::move(session));
}

Session* Sessions::find(const model::SessionKey& key) {
  const auto found = all_.find(key);
  return found == all_.end() ? nullptr : &found->second;
}

const Session* Sessions::find(const model::SessionKey& key) const {
  const auto found = all_.find(key);
  return found == all_.end() ? nullptr : &found->second;
}

Session* Sessions::find(const model::SessionRef& ref) {
  Session* session = find(ref.key);
  return session != nullptr && session->spec.ref == ref ? session : nullptr;
}

Session* Sessions::find(const Request& request) {
  const auto found = requests_.find(request);
  return found == requests_.end() ? nullptr : find(found->second);
}

void Sessions::set_deadline(Session& session, Time at) {
  deadlines_.erase({session.deadline, session.spec.ref.key});
  session.deadline = at;
  deadlines_.emplace(at, session.spec.ref.key);
}

std::vector<model::SessionKey> Sessions::take_overdue(Time now) {
  std::vector<model::SessionKey> due;
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const model::SessionKey key = deadlines_.begin()->second;
    deadlines_.erase(deadlines_.begin());
    const Session* session = find(key);
    if (session != nullptr && session->is_opening()) due.push_back(key);
  }
  return due;
}

void Sessions::ended(const Session& session) {
  deadlines_.erase({session.deadline, session.spec.ref.key});
  finished_.emplace(*session.ended + session.keep_finished, session.spec.ref.key);
}

std::vector<model::SessionKey> Sessions::take_finished(Time now) {
  std::vector<model::SessionKey> finished;
  while (!finished_.empty() && finished_.begin()->first <= now) {
    finished.push_back(finished_.begin()->second);
    finished_.erase(finished_.begin());
  }
  return finished;
}

Time Sessions::next() const {
  Time next = next_deadline();
  if (!finished_.empty()) next = std::min(next, finished_.begin()->first);
  return next;
}

}  // namespace berth::control
