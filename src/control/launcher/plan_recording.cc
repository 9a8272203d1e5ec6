#include "control/launcher/plan_recording.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "control/context.h"
#include "control/id_pool.h"
#include "control/rollout/handover.h"
#include "control/rollout/states.h"
#include "placement/ask.h"

namespace berth::control {
namespace {

using placement::Placement;
using placement::Plan;
using placement::Refusal;

// The instances that run requests of absent subjects ask for.
class AbsentRequests {
 public:
  explicit AbsentRequests(const Durable& durable) {
    for (const auto& [name, deployment] : durable.deployments) {
      for (const model::RunRequest& run : deployment.run) {
        const auto subject = durable.subjects.find(run.subject);
        const bool absent = subject != durable.subjects.end() && !subject->second.present;
        if (absent) counts_.emplace(RequestKey{run.item, run.subject}, run.instances);
      }
    }
  }

  bool contains(const model::InstanceKey& key) const {
    const auto count = counts_.find({key.item, key.subject});
    return count != counts_.end() && (!count->second || key.index < *count->second);
  }

 private:
  std::map<RequestKey, std::optional<std::uint32_t>> counts_;
};

// Turns a plan into records. Only what differs from the known records is written.
class Recording {
 public:
  Recording(Context& context, const placement::Decisions& decisions, Tell tell,
            const Rebalance* rebalance, PlanChanges& changes)
      : context_(context),
        plan_(decisions.plan),
        tell_(tell),
        rebalance_(rebalance),
        changes_(changes) {
    for (const placement::Relief& relief : plan_.relief) {
      for (const model::InstanceKey& key : relief.leaving) relieved_by_.emplace(key, relief.node);
    }
    for (const placement::Ask& request : decisions.requests) requests_.push_back(&request);
    std::ranges::sort(requests_, {}, key_of_request);
  }

  void take_decisions() {
    for (const Placement& placement : plan_.placements) {
      model::is_pool_instance(placement.key) ? place_in_pool(placement) : place(placement);
    }
    for (const Refusal& refusal : plan_.refused) {
      if (model::is_pool_instance(refusal.key)) {
        context_.sessions.pools().refused(context_, refusal);
      } else if (!is_told(refusal.key)) {
        refuse(refusal);
      }
    }
  }

  // What nobody asks for any more keeps its ids and data for the day it is asked for again; what is
  // asked for by a subject that is gone keeps them until it is back.
  void cache_unasked() {
    const AbsentRequests absent(context_.state.durable());
    std::vector<model::InstanceRecord> unasked;
    for (const auto& [key, record] : context_.state.durable().instances) {
      const bool asked = record.preinstalled || find_request(key) != nullptr;
      if (asked || record.phase == model::Phase::Erasing) continue;
      if (record.phase != phase_of_unasked(absent, key)) unasked.push_back(record);
    }
    for (const model::InstanceRecord& record : unasked) {
      cache(record, phase_of_unasked(absent, record.key));
    }
    forget_unasked_refusals();
  }

  void cache(model::InstanceRecord record, model::Phase phase) {
    record.phase = phase;
    const bool cached = record.phase == model::Phase::Cached;
    context_.note(NoteKind::Removed, record.key,
                  cached ? "no longer asked for" : "its subject is gone");
    record.kept_for = cached ? context_.config.cache_ttl : Duration{};
    if (cached) record.paused = false;
    lose_place(record);
    context_.statuses.forget_refusal(record.key);
    context_.state.erase<model::DecisionRecord>(record.key);
    put(record);
  }

  const Recorded& recorded() const { return recorded_; }

 private:
  // What leaves its place is replaced by another: the plan is not carried out as it is.
  void place_in_pool(const Placement& placement) {
    if (placement.from) recorded_.as_is = false;
    context_.sessions.pools().placed(context_, placement);
  }

  // The commands of this step are the first that can be about it.
  model::InstanceRecord new_record(const model::InstanceKey& key) const {
    const model::CounterRecord& counters = context_.state.durable().counters;
    model::InstanceRecord record;
    record.key = key;
    record.first_command = {counters.epoch, counters.revision + 1};
    return record;
  }

  // The record to change: the known one, or a new one; with its ids.
  std::optional<model::InstanceRecord> record_for(const model::InstanceKey& key) {
    const auto* known = context_.state.find<model::InstanceRecord>(key);
    model::InstanceRecord record = known != nullptr ? *known : new_record(key);
    if (record.uid == 0) {
      const auto gid = gid_of(context_.state, key.item, context_.config.gids);
      const auto uid = gid ? take_uid(context_.state, context_.config.uids) : std::nullopt;
      if (!uid) return std::nullopt;
      record.uid = *uid;
      record.gid = *gid;
    }
    return with_priority(record);
  }

  model::InstanceRecord with_priority(model::InstanceRecord record) const {
    const placement::Ask* found = find_request(record.key);
    CHECK(found != nullptr, "a plan is about what was asked for");
    const placement::Ask& request = *found;
    record.priority = request.priority;
    record.type = request.item->type;
    record.own_runtime = request.own_runtime;
    return record;
  }

  static const model::InstanceKey& key_of_request(const placement::Ask* request) {
    return request->key;
  }

  // nullptr: nobody asks for it.
  const placement::Ask* find_request(const model::InstanceKey& key) const {
    const auto found = std::ranges::lower_bound(requests_, key, {}, key_of_request);
    return found == requests_.end() || (*found)->key != key ? nullptr : *found;
  }

  // It was, waits as before, and nobody asks.
  bool is_told(const model::InstanceKey& key) const {
    return tell_ == Tell::WhoAskedAndWhoIsNew && context_.statuses.refusal_of(key) != nullptr &&
           context_.state.waiting().contains(key) &&
           !context_.calls.asked().requests.contains({key.item, key.subject});
  }

  void place(const Placement& placement) {
    auto record = record_for(placement.key);
    if (!record) return refuse_without_asking(placement, no_free_ids());
    if (record->phase == model::Phase::Erasing) {
      return refuse_without_asking(placement, being_erased(*record));
    }
    if (!record->place) {
      record->leaving = leaving_from_home(context_, *record, placement.place);
    } else if (record->place != placement.place) {
      record->leaving = begin_to_leave(context_, *record, placement.place, placement.version);
    }
    const model::InstanceRecord before = *record;
    record->phase = model::Phase::Placed;
    record->kept_for = {};
    record->awaits_room = record->awaits_room && record->place == placement.place;
    record->data_on.insert(placement.place.node);
    record->place = placement.place;
    record->home.reset();
    record->version = placement.version;
    record->image = placement.image;
    record->preinstalled = false;
    context_.statuses.forget_refusal(placement.key);
    put(*record);
    note_placement(placement, before);
  }

  static std::string_view what_stays_behind(const Placement& placement) {
    if (placement.leaves_state) return "; its state stays behind, it is too large to go along";
    return placement.leaves_storage ? "; what it has stored stays behind" : "";
  }

  void note_placement(const Placement& placement, const model::InstanceRecord& before) {
    const std::string where = model::to_string(placement.place);
    if (!before.place) {
      decide(NoteKind::Placed, placement,
             fmt::format("{} on {}{}", placement.version, where, what_stays_behind(placement)));
    } else if (before.version != placement.version) {
      decide(NoteKind::Updated, placement,
             fmt::format("{} to {} on {}", before.version, placement.version, where));
    } else if (*before.place != placement.place) {
      decide(NoteKind::Moved, placement,
             fmt::format("{} to {}{}", model::to_string(*before.place), where,
                         what_stays_behind(placement)));
    } else if (was_refused(placement.key)) {  // and left running
      write_down(model::DecisionKind::Placed, placement,
                 fmt::format("{} on {}", placement.version, where),
                 "what stood against it is gone");
    }
  }

  bool was_refused(const model::InstanceKey& key) const {
    const auto* last = context_.state.find<model::DecisionRecord>(key);
    return last != nullptr && !last->place;
  }

  void decide(NoteKind kind, const Placement& placement, std::string text) {
    context_.note(kind, placement.key, text);
    std::string because = why_it_leaves(placement.key, placement.made_room_for);
    if (because.empty() && kind == NoteKind::Updated) because = why_it_goes_back(placement.key);
    if (because.empty() && kind == NoteKind::Moved && places_everything_anew()) {
      because = "everything was placed anew";
    }
    write_down(decision_of(kind), placement, std::move(text), std::move(because));
  }

  void write_down(model::DecisionKind kind, const Placement& placement, std::string text,
                  std::string because) {
    context_.state.put(model::DecisionRecord{.key = placement.key,
                                             .revision = context_.state.revision() + 1,
                                             .kind = kind,
                                             .text = std::move(text),
                                             .because = std::move(because),
                                             .place = placement.place,
                                             .reason = {},
                                             .hint = {},
                                             .answers = placement.answers});
  }

  bool places_everything_anew() const {
    return rebalance_ != nullptr && rebalance_->scope == RebalanceScope::Everything;
  }

  static model::DecisionKind decision_of(NoteKind kind) {
    if (kind == NoteKind::Placed) return model::DecisionKind::Placed;
    return kind == NoteKind::Moved ? model::DecisionKind::Moved : model::DecisionKind::Updated;
  }

  // Where the rules do not tell it.
  std::string why_it_leaves(const model::InstanceKey& key,
                            const std::optional<model::InstanceKey>& made_room_for) const {
    if (made_room_for) return "it had to make room for " + model::to_string(*made_room_for);
    if (const std::string* why = context_.moves.why_it_failed(key)) return *why;
    const auto overloaded = relieved_by_.find(key);
    if (overloaded == relieved_by_.end()) return "";
    return overloaded->second.value() + " was overloaded";
  }

  std::string why_it_goes_back(const model::InstanceKey& key) const {
    const auto& rollouts = context_.state.durable().rollouts;
    const auto rollout = rollouts.find({key.item, key.subject});
    if (rollout == rollouts.end() || !has_failed(rollout->second)) return "";
    return has_gone_back(rollout->second, key) ? rollout->second.failed->message : "";
  }

  // The first word counts, as long as the reason is the same: what the nodes lack changes with
  // every breath they take, and is no other decision.
  void write_down_first(const model::DecisionRecord& refusal) {
    const auto* last = context_.state.find<model::DecisionRecord>(refusal.key);
    const bool said = last != nullptr && last->reason == refusal.reason &&
                      last->text == refusal.text && !last->place;
    if (!said) context_.state.put(refusal);
  }

  void decide(const Refusal& refusal, std::string text) {
    const bool displaced = refusal.made_room_for.has_value();
    write_down_first(
        {.key = refusal.key,
         .revision = context_.state.revision() + 1,
         .kind = displaced ? model::DecisionKind::Displaced : model::DecisionKind::Refused,
         .text = std::move(text),
         .because = why_it_leaves(refusal.key, refusal.made_room_for),
         .place = {},
         .reason = refusal.reason,
         .hint = refusal.hint,
         .answers = refusal.answers});
  }

  void leave_running(const Refusal& refusal, const model::Problem& problem) {
    remember_refusal(refusal.key, problem);
    if (rebalance_ != nullptr) return;  // the plain plan that follows may say otherwise
    const model::InstanceRecord& record = *context_.state.find<model::InstanceRecord>(refusal.key);
    decide(refusal, fmt::format("{} ({} is left running on {})", refusal.version, record.version,
                                model::to_string(*record.place)));
  }

  void refuse(const Refusal& refusal) {
    const model::Problem problem{std::string(model::to_string(refusal.reason)), refusal.hint};
    if (refusal.left_running) return leave_running(refusal, problem);
    auto record = record_for(refusal.key);
    if (!record) return refuse_without_asking(refusal, no_free_ids());
    if (record->phase == model::Phase::Erasing) {
      return refuse_without_asking(refusal, being_erased(*record));
    }
    remember_refusal(refusal.key, problem);
    record->phase = model::Phase::Waiting;
    record->kept_for = {};
    lose_place(*record);
    record->version = refusal.version;
    put(*record);
    decide(refusal, refusal.version);
  }

  // Whatever the nodes say of it.
  template <class Planned>
  void refuse_without_asking(const Planned& planned, const model::Problem& problem) {
    write_down_first({.key = planned.key,
                      .revision = context_.state.revision() + 1,
                      .kind = model::DecisionKind::Refused,
                      .text = planned.version + ": " + problem.reason,
                      .because = {},
                      .place = {},
                      .reason = {},
                      .hint = problem.message,
                      .answers = {}});
    remember_refusal(planned.key, problem);
    changes_.changed[planned.key];
    recorded_.as_is = false;
  }

  // What was deleted and is asked for again begins anew, when nothing is left of it.
  static model::Problem being_erased(const model::InstanceRecord& record) {
    if (record.data_on.empty()) {
      return {"BeingErased", "its old address is kept until all nodes have told what they run"};
    }
    std::vector<std::string> nodes;
    for (const model::NodeId& node : record.data_on) nodes.push_back(node.value());
    return {"BeingErased",
            fmt::format("its old data are being erased on {}", fmt::join(nodes, ", "))};
  }

  // Where its data are: in the middle of a move that is where it came from.
  void lose_place(model::InstanceRecord& record) {
    if (serves_on_trial(context_, record)) trust_state(context_, record);
    const bool has_moved = !record.leaving || (is_active_at_its_place(context_, record) &&
                                               copy_that_serves(context_, record) == nullptr);
    if (record.place) record.home = has_moved ? record.place->node : record.leaving->place.node;
    record.place.reset();
    record.awaits_room = false;
    record.leaving.reset();
  }

  void remember_refusal(const model::InstanceKey& key, const model::Problem& problem) {
    if (!context_.statuses.refuse(context_, key, problem)) return;
    context_.note(NoteKind::Refused, key, fmt::format("{}: {}", problem.reason, problem.message));
  }

  void forget_unasked_refusals() {
    const std::set<model::InstanceKey> refused = context_.statuses.refused();
    for (const model::InstanceKey& key : refused) {
      if (find_request(key) != nullptr) continue;
      context_.statuses.forget_refusal(key);
      context_.state.erase<model::DecisionRecord>(key);
      context_.changes.instances.insert(key);
    }
  }

  static model::Phase phase_of_unasked(const AbsentRequests& absent,
                                       const model::InstanceKey& key) {
    return absent.contains(key) ? model::Phase::Inactive : model::Phase::Cached;
  }

  void put(const model::InstanceRecord& record) {
    const auto* known = context_.state.find<model::InstanceRecord>(record.key);
    if (known != nullptr && *known == record) return;
    const bool same_place = known != nullptr && known->place == record.place;
    const bool same_run =
        same_place && known->version == record.version && known->image == record.image;
    if (known != nullptr) remember(*known);
    recorded_.any = true;
    context_.put(record);
    changes_.changed[record.key];
    if (!same_place) {
      record.place ? context_.statuses.got_place(record.key)
                   : context_.statuses.lost_place(record.key);
    }
    // It went away and came back before its agent said anything new: still refused.
    if (start_was_refused(context_, record)) context_.launcher.start_refused(record.key);
    if (!same_run && record.place) {
      context_.statuses.await_confirmation(context_, record.key, context_.config.run_timeout);
    }
  }

  void remember(const model::InstanceRecord& before) {
    changes_.before.try_emplace(before.key, before);
    auto& nodes = changes_.changed[before.key];
    if (before.place) nodes.insert(before.place->node);
    if (before.leaving) nodes.insert(before.leaving->place.node);
  }

  Context& context_;
  const Plan& plan_;
  const Tell tell_;
  const Rebalance* rebalance_;
  PlanChanges& changes_;
  std::vector<const placement::Ask*> requests_;              // ordered by key
  std::map<model::InstanceKey, model::NodeId> relieved_by_;  // the node that they leave for that
  Recorded recorded_;
};

}  // namespace

Recorded record_decisions(Context& context, const placement::Decisions& decisions,
                          const std::vector<model::InstanceRecord>& unasked, PlanChanges& changes) {
  Recording recording(context, decisions, Tell::WhoAskedAndWhoIsNew, nullptr, changes);
  recording.take_decisions();
  for (const model::InstanceRecord& record : unasked) {
    recording.cache(record, model::Phase::Cached);
  }
  return recording.recorded();
}

Recorded record_plan(Context& context, const placement::Decisions& decisions, Tell tell,
                     const Rebalance* rebalance, PlanChanges& changes) {
  Recording recording(context, decisions, tell, rebalance, changes);
  recording.take_decisions();
  recording.cache_unasked();
  return recording.recorded();
}

}  // namespace berth::control
