#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "controld/agents/stream_relay.h"
#include "controld/api/call.h"
#include "controld/api/waiting_opens.h"
#include "controld/events/event_log.h"
#include "controld/identity/server_identity.h"
#include "controld/loop/loop.h"
#include "controld/planning/planner.h"
#include "controld/watch/watch_hub.h"
#include "shell/workers.h"

namespace berth::controld::api {

// How others reach this server, for lines that are pasted elsewhere; known once it listens.
struct Endpoints {
  std::string https;  // host:port
  std::string grpc;
};

// What the calls are made of. All of it outlives every call.
struct Services {
  Loop& loop;
  WatchHub& hub;
  EventLog& events;
  shell::Workers& workers;
  Planner& planner;
  StreamRelay& streams;
  const ServerIdentity* identity = nullptr;  // without one nobody can join
  std::string version;
  std::shared_ptr<WaitingOpens> waiting_opens = std::make_shared<WaitingOpens>();
  // Has whoever lets agents in say whether it can, from a thread of its own.
  std::function<void(const std::function<void(const std::optional<Error>&)>&)> ask_grpc =
      [](const auto& tell) { tell(std::nullopt); };
  std::atomic<std::shared_ptr<const Endpoints>> endpoints = std::make_shared<const Endpoints>();
  std::function<Result<std::string>()> back_up_store = {};  // the bytes of a store; any thread
  std::function<std::vector<std::string>()> remarks = {};  // what works, but is not as it should be
};

inline Error busy() { return {Code::Unavailable, "the control plane is too busy; try again"}; }

// Has the work done by a worker, or the call fail. Calls do not wait for each other.
void work(const Services& services, const CallPtr& call, std::function<void()> task);

// Copies something out of the controller, between two steps, and goes on with it on a worker when
// all that was seen is durable; or when the store fails: who wants to know why must see something.
template <class Copy, class Then>
void look(const Services& services, const CallPtr& call, Copy copy, Then then) {
  const auto query = [&services, call, copy = std::move(copy),
                      then = std::move(then)](const control::Controller& controller) {
    auto copied = std::make_shared<decltype(copy(controller))>(copy(controller));
    return [&services, call, copied = std::move(copied), then](const std::optional<Error>& doubt) {
      if (doubt && doubt->code == Code::Conflict) return call->fail(refusal_for(*doubt));
      work(services, call, [copied, then] { then(std::move(*copied)); });
    };
  };
  if (!services.loop.post(Loop::Reader(query))) call->fail(busy());
}

// Asks for a change that is answered by the revision that holds it.
void answer_with_revision(const Services& services, const CallPtr& call,
                          const std::function<control::Event(control::CallId)>& make);

}  // namespace berth::controld::api
