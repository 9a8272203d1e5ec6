#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "client/client.h"
#include "model/ids.h"

// Following the cluster as it changes.
namespace berth::cli {

// What the control plane has told so far.
struct Mirror {
  std::map<model::InstanceKey, v1::Instance> instances;
  std::map<std::string, v1::Node> nodes;
  bool synced = false;  // all that was there has been told

  void take(const v1::WatchEvent& event);
};

struct Watch {
  std::string about;    // "node/n1"; empty: everything
  bool events = false;  // also events
  // Only these, as `plural` has them; then what happened while the connection was gone is told as
  // well, as far as it is known.
  std::string kinds = "";
  std::function<bool(const v1::WatchEvent&)> on_event;  // after the mirror has it; false: enough
  client::Tick tick;                                    // ten times a second; false: enough
};

// Fills the mirror and tells of every change; documents are told, but not mirrored. A control plane
// that goes away after it was there is waited for, and then told from the beginning; the error is
// of one that never was.
Result<void> watch(const client::Client& client, Mirror& mirror, const Watch& watch);

// Sleeps in small steps; false: the tick said that it is enough.
bool sleep_for(Duration duration, const client::Tick& tick);

}  // namespace berth::cli
