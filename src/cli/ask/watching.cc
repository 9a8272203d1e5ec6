#include "cli/ask/watching.h"

#include <algorithm>
#include <thread>

#include "cli/ask/objects.h"
#include "client/path.h"

namespace berth::cli {

void Mirror::take(const v1::WatchEvent& event) {
  if (event.has_instance()) {
    const model::InstanceKey key = key_of(event.instance().key());
    instances[key] = event.instance();
    if (event.instance().gone()) instances.erase(key);
  } else if (event.has_node()) {
    nodes[event.node().name()] = event.node();
    if (event.node().gone()) nodes.erase(event.node().name());
  } else if (event.what_case() == v1::WatchEvent::kSynced) {
    synced = true;
  }
}

bool sleep_for(Duration duration, const client::Tick& tick) {
  constexpr Duration kStep = 100ms;
  for (; duration > Duration{}; duration -= kStep) {
    if (tick && !tick()) return false;
    std::this_thread::sleep_for(std::min(duration, kStep));
  }
  return true;
}

Result<void> watch(const client::Client& client, Mirror& mirror, const Watch& watch) {
  std::uint64_t seen = 0;  // the last revision
  bool was_there = false;
  bool enough = false;
  const client::Tick tick = [&] {
    enough = enough || (watch.tick && !watch.tick());
    return !enough;
  };
  while (true) {
    if (seen == 0) mirror = {};
    const client::Request request{
        .path =
            client::with_query("/v1/watch", {{"about", watch.about},
                                             {"events", watch.events ? "true" : ""},
                                             {"kinds", watch.kinds},
                                             {"after", seen == 0 ? "" : std::to_string(seen)}})};
    const auto take = [&](const v1::WatchEvent& event) {
      was_there = true;
      if (event.has_revision()) seen = event.revision();
      mirror.take(event);
      enough = enough || !watch.on_event(event);
      return !enough;
    };
    const Result<void> ended = client::stream<v1::WatchEvent>(client, request, take, tick);
    if (enough) return {};
    const bool is_too_old = seen != 0 && !ended && ended.error().code == Code::Conflict;
    if (is_too_old) {
      seen = 0;
      continue;
    }
    const bool may_come_back = ended || ended.error().code == Code::Unavailable;
    if (!may_come_back || (!ended && !was_there)) return ended;
    if (!sleep_for(1s, tick)) return {};
  }
}

}  // namespace berth::cli
