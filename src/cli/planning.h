#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/console.h"
#include "model/manifest.h"
#include "placement/plan.h"

namespace CLI {
class App;
}  // namespace CLI

// What the verbs that plan have in common: their flags, and the documents they plan from.
namespace berth::cli {

struct PlanningFlags {
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

// The documents of the files. Prints what is wrong with them to standard error, all at once; an
// error says how much that was.
Result<model::Manifest> load_documents(const std::vector<std::string>& files, Console& console);

}  // namespace berth::cli
