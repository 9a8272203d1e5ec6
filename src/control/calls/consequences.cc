#include "control/calls/consequences.h"

#include "control/context.h"

namespace berth::control {
namespace {

using Kind = ConsequenceKind;

class List {
 public:
  List(const Context& context, const PlanChanges& changes) : context_(context), changes_(changes) {}

  std::vector<Consequence> take() {
    for (const auto& [key, nodes] : changes_.changed) add_planned(key);
    for (const RequestKey& request : context_.calls.asked().requests) add_turns(request);
    for (const model::InstanceKey& key : context_.calls.asked().overridden) add_overridden(key);
    return std::move(list_);
  }

 private:
  void add(Kind kind, const model::InstanceRecord& record) {
    list_.push_back({.key = record.key,
                     .kind = kind,
                     .version = record.version,
                     .place = record.place,
                     .from = {}});
  }

  void add_planned(const model::InstanceKey& key) {
    const auto* record = context_.state.find<model::InstanceRecord>(key);
    const auto known = changes_.before.find(key);
    const auto* before = known == changes_.before.end() ? nullptr : &known->second;
    const bool was_placed = before != nullptr && before->place;
    if (record == nullptr || !record->place) {
      if (was_placed) add(Kind::Stop, *before);
      return;
    }
    if (!was_placed) return add(Kind::Start, *record);
    const bool is_elsewhere = before->place != record->place;
    const bool is_updated = before->version != record->version;
    if (!is_elsewhere && !is_updated) return;
    add(is_updated ? Kind::Update : Kind::Move, *record);
    if (is_elsewhere) list_.back().from = before->place;
  }

  // Those that have not had their turn yet.
  void add_turns(const RequestKey& request) {
    const auto& rollouts = context_.state.durable().rollouts;
    const auto found = rollouts.find(request);
    if (found == rollouts.end() || !is_under_way(found->second)) return;
    for (const auto* record : records_of(context_.state.durable(), request)) {
      const bool runs = record->place && !record->preinstalled;
      if (!runs || changes_.before.contains(record->key)) continue;
      const std::string& goal = goal_of(found->second, record->key);
      if (record->version != goal) {
        add(Kind::Update, *record);
        list_.back().version = goal;
      } else if (found->second.outdated.contains(record->key.index)) {
        add(Kind::Restart, *record);
      }
    }
  }

  void add_overridden(const model::InstanceKey& key) {
    const auto* record = context_.state.find<model::InstanceRecord>(key);
    const bool stays = record != nullptr && record->place && !changes_.before.contains(key);
    if (stays) add(Kind::Restart, *record);
  }

  const Context& context_;
  const PlanChanges& changes_;
  std::vector<Consequence> list_;
};

Downtime downtime_of(const Context& context, const Consequence& consequence) {
  if (consequence.kind == Kind::Start) return Downtime::None;
  if (consequence.kind == Kind::Stop) return Downtime::Stops;
  const bool goes_elsewhere = consequence.from && consequence.from->node != consequence.place->node;
  if (!goes_elsewhere) return Downtime::Restarts;
  const auto* record = context.state.find<model::InstanceRecord>(consequence.key);
  if (record == nullptr || !record->leaving) return Downtime::DownNow;
  return record->leaving->stop_first ? Downtime::StopsFirst : Downtime::None;
}

}  // namespace

std::vector<Consequence> consequences_of_the_plan(const Context& context,
                                                  const PlanChanges& changes) {
  return List(context, changes).take();
}

void add_downtimes(const Context& context, std::vector<Consequence>& consequences) {
  for (Consequence& consequence : consequences) {
    consequence.downtime = downtime_of(context, consequence);
  }
}

}  // namespace berth::control
