#include <algorithm>

#include "controld/api/calls.h"
#include "controld/api/messages.h"
#include "shell/clock.h"

namespace berth::controld::api {

void list_events(const Services& services, const v1::ListEventsRequest& request,
                 const CallPtr& call) {
  constexpr std::size_t kDefault = 1000;
  const std::size_t limit =
      request.limit() == 0 ? kDefault : std::min<std::size_t>(request.limit(), EventLog::kKept);
  work(services, call, [&services, request, call, limit] {
    v1::Events answer;
    const auto events =
        services.events.list({.about = request.about(), .after = request.after(), .limit = limit});
    for (const LoggedEvent& event : events) *answer.add_events() = to_message(event);
    call->answer(answer_of(std::move(answer)));
  });
}

// Looked at between two steps: what the copy does not show will come as a change, and the copy
// itself when all that it shows is durable.
void watch(const Services& services, const v1::WatchRequest& request, const CallPtr& call) {
  const auto add = [&services, request, call](const control::Controller& controller) {
    auto everything = std::make_shared<WatchHub::Everything>(WatchHub::Everything{
        .instances = instances_of(controller), .nodes = nodes_of(controller, shell::now())});
    return [&services, request, call, everything, expected = services.hub.expect()] {
      services.hub.add({.call = call, .about = request.about(), .events = request.events()},
                       std::move(*everything));
    };
  };
  if (!services.loop.post(Loop::Look(add))) call->fail(busy());
}

}  // namespace berth::controld::api
