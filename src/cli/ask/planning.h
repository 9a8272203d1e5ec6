#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/ask/connection.h"
#include "cli/ask/manifest_names.h"
#include "cli/show/console.h"
#include "codec/manifest.h"
#include "model/manifest.h"
#include "placement/moment.h"
#include "placement/plan.h"

namespace CLI {
class App;
}  // namespace CLI

// What the verbs that plan have in common: their flags, and the documents they plan from.
namespace berth::cli {

struct PlanningFlags {
  ConnectionFlags connection;
  bool offline = false;
  bool replan = false;
  bool rebalance = false;
  bool full = false;
  std::vector<std::string> files;
};

// Whether words after `-f FILE` may be files too: not where a verb has arguments of its own.
enum class MoreFiles { Follow, DoNotFollow };

void declare_planning_flags(CLI::App& verb, PlanningFlags& flags, MoreFiles more);

// What the flags ask for, or why they cannot be had. Flags that contradict each other come first.
Result<placement::Mode> mode_of(const PlanningFlags& flags);

// What is planned from.
struct World {
  model::Manifest documents;
  std::uint64_t revision = 0;                  // of the control plane; 0: offline
  std::optional<model::Manifest> before = {};  // what the control plane has; nullopt: offline
  placement::Moment moment = {};
};

// What the engine sees. Points into the world.
inline placement::Snapshot snapshot_of(const World& world) {
  return placement::snapshot_of(world.documents, world.moment, world.before);
}

// An error of one who could also plan from files: if nobody answers, it says so.
Error or_offline(Error error);

// The documents of the files, laid over those of the control plane unless --offline: one of the
// same kind and name replaces. Prints what is wrong with them to standard error, all at once; an
// error says how much that was.
Result<World> load_world(const PlanningFlags& flags, Console& console);

// The documents of the control plane without these, which must be there.
Result<World> load_world_without(const std::set<DocumentName>& documents,
                                 const ConnectionFlags& connection, Console& console);

// Prints what is wrong with a manifest to standard error; the error of one that cannot be used says
// how much that is, and then `consequence`.
Result<model::Manifest> accept_parsed(codec::ParsedManifest parsed, std::string_view consequence,
                                      Console& console);

}  // namespace berth::cli
