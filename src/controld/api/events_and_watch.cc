#include <algorithm>
#include <iterator>

#include "controld/api/calls.h"
#include "controld/api/messages.h"
#include "controld/planning/desired_documents.h"
#include "controld/watch/topics.h"
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

namespace {

Result<WatchHub::Watcher> watcher_for(const v1::WatchRequest& request, const CallPtr& call) {
  WatchHub::Watcher watcher{.call = call, .about = request.about()};
  if (!request.kinds().empty()) watcher.topics = TRY(parse_topics(request.kinds()));
  if (request.events()) watcher.topics.emplace(kEventsTopic);
  if (request.after() != 0) watcher.after = request.after();
  watcher.told_revisions = watcher.after || !request.kinds().empty();
  return watcher;
}

// All that there is of what it wants to hear of.
WatchHub::Everything everything_for(const WatchHub::Watcher& watcher,
                                    const control::Controller& controller) {
  WatchHub::Everything everything;
  if (watcher.after) return everything;
  if (watcher.topics.contains(kInstancesTopic)) everything.instances = instances_of(controller);
  if (watcher.topics.contains(kNodesTopic)) everything.nodes = nodes_of(controller, shell::now());
  for (const model::DocumentKind& kind : model::document_kinds()) {
    if (!watcher.topics.contains(kind.plural)) continue;
    std::ranges::move(documents_of(controller.durable(), kind),
                      std::back_inserter(everything.documents));
  }
  return everything;
}

// What is durable nowhere is told at once, and so a copy of it must be taken just before the
// watcher is added.
void add_sessions(const WatchHub::Watcher& watcher, const control::Controller& controller,
                  WatchHub::Everything& everything) {
  if (watcher.after) return;
  if (watcher.topics.contains(kSessionsTopic)) everything.sessions = controller.session_statuses();
  if (watcher.topics.contains(kPoolsTopic)) everything.pools = pools_of(controller);
}

bool is_about_sessions_only(const WatchHub::Watcher& watcher) {
  return std::ranges::all_of(watcher.topics, [](const std::string& topic) {
    return topic == kSessionsTopic || topic == kPoolsTopic;
  });
}

}  // namespace

// Looked at between two steps: what the copy does not show will come as a change, and the copy
// itself when all that it shows is durable. Who watches never sees what is not.
void watch(const Services& services, const v1::WatchRequest& request, const CallPtr& call) {
  const auto watcher = watcher_for(request, call);
  if (!watcher) return call->fail(watcher.error());
  const auto add = [&services, watcher = *watcher](const control::Controller& controller) {
    auto everything = std::make_shared<WatchHub::Everything>(everything_for(watcher, controller));
    return [&services, watcher, everything, expected = services.hub.expect(),
            &controller](const std::optional<Error>& doubt) {
      if (doubt && !is_about_sessions_only(watcher)) {
        return watcher.call->fail(refusal_for(*doubt));
      }
      add_sessions(watcher, controller, *everything);
      services.hub.add(watcher, std::move(*everything));
    };
  };
  if (!services.loop.post(Loop::Reader(add))) call->fail(busy());
}

}  // namespace berth::controld::api
