#include "controld/watch/publisher.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "shell/clock.h"
#include "shell/log.h"

namespace berth::controld {
namespace {

constexpr Duration kNodesEvery = 1s;

shell::LogLevel level_of(control::NoteKind kind) {
  switch (kind) {
    case control::NoteKind::NodeUnreachable:
    case control::NoteKind::NodeLost:
    case control::NoteKind::NodeInError:
    case control::NoteKind::NodeReadOnly:
    case control::NoteKind::NodeOverloaded:
    case control::NoteKind::NotRelieved:
    case control::NoteKind::Held:
    case control::NoteKind::HeldOn:
    case control::NoteKind::ReportRefused:
    case control::NoteKind::AlertRaised:
    case control::NoteKind::Refused: return shell::LogLevel::Warning;
    case control::NoteKind::ReportGap:
    case control::NoteKind::CommandResent: return shell::LogLevel::Debug;
    default: return shell::LogLevel::Info;
  }
}

void log(const control::Note& note) {
  shell::log(level_of(note.kind), control::to_string(note.kind),
             {{"about", note.about}, {"text", note.text}});
}

// Whether watchers should hear of nodes now, and not only at the next look.
bool concerns_nodes(const control::Effects& effects) {
  return !effects.readiness_of.empty() ||
         std::ranges::any_of(effects.writes,
                             [](const auto& write) {
                               return write.table == control::table_of<model::NodeRecord>();
                             }) ||
         std::ranges::any_of(effects.notes,
                             [](const auto& note) { return note.about.starts_with("node/"); });
}

}  // namespace

Loop::Publishing Publisher::stepped(const control::Controller& controller,
                                    const control::Effects& effects) {
  auto changes = std::make_shared<WatchHub::Changes>(changes_of(controller, effects));
  return [this, notes = effects.notes, changes = std::move(changes)] {
    tell(notes, std::move(*changes));
  };
}

void Publisher::tell_sessions(const control::Controller& controller,
                              const control::Effects& effects) {
  if (!hub_.wants_changes()) return;
  WatchHub::Changes changes;
  changes.sessions = effects.session_changes;
  for (const model::ApplicationKey& key : effects.pools_changed) {
    changes.pools.push_back(view_of(controller, key));
  }
  hub_.publish(std::move(changes));
}

WatchHub::Changes Publisher::changes_of(const control::Controller& controller,
                                        const control::Effects& effects) {
  WatchHub::Changes changes;
  if (!hub_.wants_changes()) {
    told_.clear();
    next_nodes_ = {};
    return changes;
  }
  for (const model::InstanceStatus& status : effects.changes) {
    changes.instances.push_back(view_of(controller, status));
  }
  changes.nodes = changed_nodes(controller, effects);
  for (const control::Write& write : effects.writes) {
    if (auto change = document_change(write)) changes.documents.push_back(std::move(*change));
  }
  return changes;
}

void Publisher::tell(const std::vector<control::Note>& notes, WatchHub::Changes changes) {
  for (const control::Note& note : notes) log(note);
  changes.events = events_.add(notes, std::chrono::system_clock::now());
  hub_.publish(std::move(changes));
}

std::vector<NodeView> Publisher::changed_nodes(const control::Controller& controller,
                                               const control::Effects& effects) {
  const Time now = shell::now();
  std::vector<NodeView> changed;
  if (now < next_nodes_ && !concerns_nodes(effects)) return changed;
  next_nodes_ = now + kNodesEvery;
  auto before = std::exchange(told_, {});
  for (NodeView& view : nodes_of(controller, now)) {
    NodeView timeless = view;
    timeless.silent_for = {};
    timeless.seen_at = {};
    timeless.heard_at = {};
    const auto known = before.find(view.id);
    if (known == before.end() || known->second != timeless) changed.push_back(std::move(view));
    if (known != before.end()) before.erase(known);
    told_.insert_or_assign(timeless.id, timeless);
  }
  for (auto& [id, view] : before) {
    view.gone = true;
    changed.push_back(std::move(view));
  }
  return changed;
}

}  // namespace berth::controld
