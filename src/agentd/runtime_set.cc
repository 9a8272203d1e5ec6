#include "agentd/runtime_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace berth::agentd {
namespace {

bool is_made_alike(const RuntimeConfig& one, const RuntimeConfig& other) {
  return one.type == other.type && one.program == other.program;
}

// Installed components are there for good, so that theirs are kept.
bool is_idle(OrderedRuntime& runtime) {
  if (runtime.kind() == model::RuntimeKind::Component) return false;
  const auto runs = runtime.runtime().list();
  return runs && runs->empty();
}

}  // namespace

RuntimeSet::Change RuntimeSet::offer(const std::vector<RuntimeConfig>& wanted, const Make& make) {
  drop_idle();
  Change change;
  const std::lock_guard lock(mutex_);
  for (Entry& entry : entries_) entry.is_offered = false;
  for (const RuntimeConfig& config : wanted) {
    Entry* entry = find_entry(config.name);
    if (entry != nullptr && !is_made_alike(entry->config, config)) {
      change.refused.push_back(
          fmt::format("runtime {} is there already with another type or program, and stays as it "
                      "is: remove it, wait until nothing runs on it, and add it again; or restart "
                      "the agent",
                      config.name));
    }
    if (entry == nullptr) {
      entries_.push_back({config, make(config)});
      entry = &entries_.back();
    }
    entry->is_offered = true;
    change.offered.push_back({config, entry->runtime});
  }
  return change;
}

RuntimeSet::Entry* RuntimeSet::find_entry(const std::string& name) {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.config.name == name; });
  return found == entries_.end() ? nullptr : &*found;
}

std::vector<RuntimeRef> RuntimeSet::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<RuntimeRef> all;
  for (const Entry& entry : entries_) all.push_back(entry.runtime);
  return all;
}

RuntimeRef RuntimeSet::find(const model::RuntimeId& id) const {
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_) {
    if (entry.runtime->id() == id) return entry.runtime;
  }
  return nullptr;
}

// Whoever works with one has it: then it is not idle, and its turn comes later. It ends without the
// lock, for it may wait for a thread of its own.
void RuntimeSet::drop_idle() {
  std::vector<RuntimeRef> idle;
  {
    const std::lock_guard lock(mutex_);
    for (const Entry& entry : entries_) {
      if (!entry.is_offered) idle.push_back(entry.runtime);
    }
  }
  std::erase_if(idle, [](const RuntimeRef& runtime) { return !is_idle(*runtime); });
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [&](const Entry& entry) {
    constexpr long kOnlyOurs = 2;  // the entry's and that in the list of idle ones
    return !entry.is_offered && entry.runtime.use_count() == kOnlyOurs &&
           std::find(idle.begin(), idle.end(), entry.runtime) != idle.end();
  });
}

}  // namespace berth::agentd
