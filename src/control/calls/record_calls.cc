#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "control/calls/apply_check.h"
#include "control/documents/overrides.h"
#include "control/record_events.h"
#include "control/rollout/moves.h"
#include "control/rollout/rollouts.h"

namespace berth::control {
namespace {

// An item that did not come up has been corrected.
void retry_rollouts_to(Context& context, const model::ItemKey& item) {
  std::vector<RequestKey> keys;
  for (const auto& [key, rollout] : context.state.durable().rollouts) {
    if (rollout.item == item.item && rollout.to == item.version) keys.push_back(key);
  }
  for (const RequestKey& key : keys) {
    context.calls.ask_for(key);
    context.rollouts.try_again(context, key);
  }
}

// What runs by the document is started anew, one after the other.
void restart_edited(Context& context, const model::ItemKey& item) {
  for (const RequestKey& key : requests_running(context.state.durable(), item)) {
    context.rollouts.restart(context, key, item.version);
    context.calls.ask_for(key);
    context.launcher.plan_anew();
  }
}

// Another version of an item may be another one's only version no longer.
void put_item(Context& context, const model::Item& item) {
  const model::ItemKey key = model::key_of(item);
  const auto* known = context.state.find<model::Item>(key);
  if (known != nullptr && *known == item) return;
  const bool restarts = known != nullptr && !model::runs_the_same(*known, item);
  if (has_any_version(context.state.durable(), key.item)) context.launcher.plan_anew();
  context.documents.put(context, item);
  retry_rollouts_to(context, key);
  if (restarts) restart_edited(context, key);
}

// The requests of a deployment that ask for more or fewer instances than before; nullopt: something
// else is different, too. `now`: nullptr, if nothing of it is asked for any more.
std::optional<std::map<RequestKey, Extent>> changed_extents(const State& state,
                                                            const std::string& name,
                                                            const model::Deployment* now) {
  static const model::Deployment kNothing;
  const auto* known = state.find<model::Deployment>(name);
  std::map<RequestKey, Extent> extents;
  for (const model::RunRequest& run : (known == nullptr ? kNothing : *known).run) {
    if (!run.instances) return std::nullopt;
    extents[key_of(run)].before = *run.instances;
  }
  for (const model::RunRequest& run : (now == nullptr ? kNothing : *now).run) {
    if (!run.instances) return std::nullopt;
    extents[key_of(run)].now = *run.instances;
    const auto* asked = state.requests().find(key_of(run));
    if (asked == nullptr) continue;
    model::RunRequest as_many = *asked->run;
    as_many.instances = run.instances;
    if (asked->by != known || !(as_many == run)) return std::nullopt;
  }
  std::erase_if(extents, [](const auto& entry) { return entry.second.before == entry.second.now; });
  return extents;
}

void follow_extents(Context& context, const std::optional<std::map<RequestKey, Extent>>& extents) {
  if (!extents) return context.launcher.plan_anew();
  for (const auto& [key, extent] : *extents) context.launcher.asks_for(context, key, extent);
}

void put_deployment(Context& context, const model::Deployment& deployment) {
  const auto* known = context.state.find<model::Deployment>(deployment.name);
  if (known != nullptr && *known == deployment) return;
  const auto extents = changed_extents(context.state, deployment.name, &deployment);
  context.state.put(deployment);
  follow_extents(context, extents);
}

void delete_deployment(Context& context, const std::string& name) {
  const auto extents = changed_extents(context.state, name, nullptr);
  context.state.erase<model::Deployment>(name);
  follow_extents(context, extents);
}

void put_document(Context& context, const model::Document& document) {
  if (const auto* item = std::get_if<model::Item>(&document)) return put_item(context, *item);
  if (const auto* deployment = std::get_if<model::Deployment>(&document)) {
    return put_deployment(context, *deployment);
  }
  if (const auto* space = std::get_if<model::Namespace>(&document)) {
    return context.state.put(*space);
  }
  if (const auto* application = std::get_if<model::Application>(&document)) {
    context.sessions.application_changed(model::key_of(*application));
    return context.state.put(*application);
  }
  context.launcher.plan_anew();
  if (const auto* config = std::get_if<model::NodeConfig>(&document)) {
    context.state.put(*config);
    context.loads.look_up_all(context.nodes);
    context.readiness.look_at_all(context.nodes);
  } else if (const auto* override = std::get_if<model::EnvOverride>(&document)) {
    context.calls.has_overridden(replace_override(context, override->name, *override));
    context.calls.ask_for_overridden(overridden_by(context.state.durable(), *override));
  } else if (const auto* subject = std::get_if<model::Subject>(&document)) {
    context.state.put(*subject);
  }
}

// What the documents are about is waited for, also if nothing about it changes.
void ask_for_requests(Context& context, const ApplyCall& call) {
  std::set<model::ItemKey> items;
  std::set<model::SubjectId> subjects;
  for (const model::Document& document : call.documents) {
    if (const auto* item = std::get_if<model::Item>(&document)) items.insert(model::key_of(*item));
    if (const auto* subject = std::get_if<model::Subject>(&document)) subjects.insert(subject->id);
  }
  if (items.empty() && subjects.empty()) return;
  const auto& requests = context.state.requests().all();
  for (const model::ItemKey& item : items) {
    auto it = requests.lower_bound({item.item, model::SubjectId{}});
    for (; it != requests.end() && it->first.first == item.item; ++it) {
      const model::Item& meant = item_of(context.state.durable(), *it->second.run);
      if (meant.version == item.version) context.calls.ask_for(it->first);
    }
  }
  if (subjects.empty()) return;
  for (const auto& [key, asked] : requests) {
    if (subjects.contains(key.second)) context.calls.ask_for(key);
  }
}

// Who asks again means: try again.
void ask_for_versions(Context& context, const ApplyCall& call) {
  for (const model::Document& document : call.documents) {
    const auto* deployment = std::get_if<model::Deployment>(&document);
    if (deployment == nullptr) continue;
    for (const model::RunRequest& run : deployment->run) {
      const RequestKey key{run.item, run.subject};
      context.calls.ask_for(key);
      if (call.allow_partial) {
        context.rollouts.allow_partial(key);
        context.launcher.plan_anew();
      }
      context.rollouts.try_again(context, key);
      if (context.moves.avoid_nothing(key)) context.launcher.plan_anew();
    }
  }
}

// Whether any entry of a table by instance is of the item and satisfies the condition.
template <class Table, class Condition>
bool any_of_item(const Table& table, const model::ItemId& item, Condition condition) {
  auto it = table.lower_bound({item, model::SubjectId{}, 0});
  for (; it != table.end() && it->first.item == item; ++it) {
    if (condition(it->second)) return true;
  }
  return false;
}

bool runs_on(const ObservedNode& node, const model::ItemKey& key) {
  return any_of_item(node.orders->run, key.item,
                     [&](const GivenOrder& order) { return order.what.version == key.version; }) ||
         any_of_item(node.reported, key.item,
                     [&](const auto& status) { return status.version == key.version; });
}

bool is_needed_by_rollout(const Context& context, const model::ItemKey& key) {
  return std::ranges::any_of(context.state.durable().rollouts, [&](const auto& entry) {
    return entry.second.item == key.item && entry.second.from == key.version;
  });
}

// What runs must be known, or its agent could not be told again what it is, nor would we know the
// room that it takes until it has gone.
bool is_running(const Context& context, const model::ItemKey& key) {
  const auto is_placed = [&](const model::InstanceRecord& record) {
    return (record.place && record.version == key.version) ||
           (record.leaving && record.leaving->version == key.version);
  };
  if (any_of_item(context.state.durable().instances, key.item, is_placed)) return true;
  return std::ranges::any_of(context.nodes, [&](const auto& entry) {
    return entry.second.liveness != Liveness::Lost && runs_on(entry.second, key);
  });
}

Result<void> delete_item(Context& context, const std::string& name) {
  const auto at = name.find('@');
  const model::ItemKey key{model::ItemId{name.substr(0, at)},
                           at == std::string::npos ? "" : name.substr(at + 1)};
  if (context.state.find<model::Item>(key) == nullptr) {
    return not_found(fmt::format("no item {}; items are named id@version", name));
  }
  if (is_running(context, key)) {
    return Error{Code::Conflict, fmt::format("{} is running; delete what asks for it first", name)};
  }
  if (is_needed_by_rollout(context, key)) {
    return Error{Code::Conflict,
                 fmt::format("{} may be gone back to: wait until the new version is up", name)};
  }
  TRY(check_without_item(context.state.durable(), key));
  context.state.erase<model::Item>(key);
  return {};
}

Result<void> delete_cached(Context& context, const std::string& name) {
  const auto& instances = context.state.durable().instances;
  const auto found = std::ranges::find_if(
      instances, [&](const auto& entry) { return model::to_string(entry.first) == name; });
  if (found == instances.end()) {
    return not_found(fmt::format("no instance {}; instances are named item/subject/index", name));
  }
  if (found->second.phase == model::Phase::Erasing) return {};
  if (found->second.phase != model::Phase::Cached) {
    return Error{Code::Conflict,
                 fmt::format("{} is asked for; delete what asks for it first", name)};
  }
  context.lifetime.delete_instance(context, model::InstanceKey(found->first), "by order");
  return {};
}

Result<void> delete_application(Context& context, const DeleteCall& call) {
  const auto& kind = model::DocumentTraits<model::Application>::kKind;
  const auto key = model::read_key<model::ApplicationKey>(model::id_meant_by(kind, call.name));
  if (!key || context.state.find<model::Application>(*key) == nullptr) {
    return not_found(fmt::format("no application {}; they are named namespace/name", call.name));
  }
  context.sessions.application_deleted(*key, call.farewell);
  context.state.erase<model::Application>(*key);
  return {};
}

std::vector<model::ApplicationKey> applications_in(const Durable& durable,
                                                   const std::string& space) {
  std::vector<model::ApplicationKey> found;
  auto it = durable.applications.lower_bound({space, ""});
  for (; it != durable.applications.end() && it->first.ns == space; ++it) {
    found.push_back(it->first);
  }
  return found;
}

// The first few, for people.
std::string list_text(const std::vector<model::ApplicationKey>& keys) {
  constexpr std::size_t kShownMax = 5;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(keys.size(), kShownMax); ++i) {
    names.push_back(model::to_string(keys[i]));
  }
  if (keys.size() > kShownMax) names.push_back(fmt::format("{} more", keys.size() - kShownMax));
  return fmt::format("{}", fmt::join(names, ", "));
}

Result<void> delete_namespace(Context& context, const DeleteCall& call) {
  if (context.state.find<model::Namespace>(call.name) == nullptr) {
    return not_found("no namespace " + call.name);
  }
  if (call.name == model::Namespace::kDefault) {
    return Error{Code::Conflict, "the default namespace is always there; delete what is in it"};
  }
  const auto applications = applications_in(context.state.durable(), call.name);
  if (!applications.empty() && call.cascade == Cascade::No) {
    return Error{Code::Conflict, fmt::format("namespace {} has applications ({}): delete them "
                                             "first, or all at once with --cascade",
                                             call.name, list_text(applications))};
  }
  const std::size_t sessions = context.sessions.open_sessions_in(call.name);
  if (sessions > 0 && call.cascade == Cascade::No) {
    return Error{Code::Conflict, fmt::format("namespace {} has {} open sessions: close them first, "
                                             "or all at once with --cascade",
                                             call.name, sessions)};
  }
  for (const auto& key : applications) {
    context.sessions.application_deleted(key, call.farewell);
    context.state.erase<model::Application>(key);
  }
  context.state.erase<model::Namespace>(call.name);
  return {};
}

Result<void> delete_document(Context& context, const DeleteCall& call) {
  if (call.cascade == Cascade::Yes && call.kind != "Namespace") {
    return invalid_input(
        fmt::format("cascade is for a Namespace; nothing is in a document of kind {}", call.kind));
  }
  const bool has_sessions = call.kind == "Namespace" || call.kind == "Application";
  if (call.farewell == Farewell::Now && !has_sessions) {
    return invalid_input(fmt::format(
        "only an Application or a Namespace is deleted now: a document of kind {} has no sessions",
        call.kind));
  }
  if (call.kind == "Namespace") return delete_namespace(context, call);
  if (call.kind == "Application") return delete_application(context, call);
  if (call.kind == "Item") return delete_item(context, call.name);
  const Durable& durable = context.state.durable();
  if (call.kind == "Deployment") {
    if (!durable.deployments.contains(call.name)) return not_found("no deployment " + call.name);
    delete_deployment(context, call.name);
    return {};
  }
  if (call.kind == "NodeConfig") {
    if (!durable.node_configs.contains(call.name)) return not_found("no node config " + call.name);
    context.state.erase<model::NodeConfig>(call.name);
    context.loads.look_up_all(context.nodes);
    context.readiness.look_at_all(context.nodes);
    return {};
  }
  if (call.kind == "EnvOverride") {
    if (!durable.env_overrides.contains(call.name)) {
      return not_found("no override " + call.name);
    }
    context.calls.has_overridden(replace_override(context, call.name, std::nullopt));
    return {};
  }
  if (call.kind == "Subject") {
    const model::SubjectId id{call.name};
    if (!durable.subjects.contains(id)) return not_found("no subject " + call.name);
    context.state.erase<model::Subject>(id);
    return {};
  }
  if (call.kind == "Instance") return delete_cached(context, call.name);
  return invalid_input(call.kind +
                       " cannot be deleted; Item, Deployment, NodeConfig, EnvOverride, Subject, "
                       "Namespace, Application and Instance can");
}

// Of what the document is about, the plan knows nothing, or knows it already.
bool leaves_the_plan(const DeleteCall& call) {
  return call.kind == "Deployment" || call.kind == "Namespace" || call.kind == "Application";
}

void accept(Context& context, CallId call) {
  context.launcher.desire_changed();
  context.calls.plan(call);
}

bool is_pinned(const Context& context, const model::InstanceRecord& record) {
  const auto& items = context.state.durable().items;
  const auto item = items.find({record.key.item, record.version});
  return item != items.end() && model::is_pinned(item->second);
}

// What was bound to a node that is gone for good is free to go elsewhere; what was only ever there
// is gone with it. The rest is up to the plan.
void let_go(Context& context, const model::InstanceRecord& record, const model::NodeId& node) {
  if (!record.place || record.place->node != node) return;
  if (record.preinstalled) return context.erase(record.key);
  if (!is_pinned(context, record)) return;
  model::InstanceRecord freed = record;
  freed.phase = model::Phase::Waiting;
  freed.place.reset();
  freed.leaving.reset();
  context.put(freed);
}

// Nobody will ever say of a node that is gone for good that data have gone from it.
void forget_data_on(Context& context, const model::NodeId& node) {
  std::vector<model::InstanceRecord> concerned;
  for (const auto& [key, record] : context.state.durable().instances) {
    if (record.data_on.contains(node)) concerned.push_back(record);
  }
  for (model::InstanceRecord& record : concerned) {
    if (record.phase == model::Phase::Erasing) {
      context.lifetime.data_gone(node, record.key);
    } else {
      record.data_on.erase(node);
      if (record.home == node) record.home.reset();
      context.put(record);
    }
  }
}

void put_node(Context& context, const model::NodeRecord& record) {
  context.state.put(record);
  context.launcher.cluster_changed();
}

// It keeps what it has, and cannot be told anything else about that.
bool is_out_of_reach(const Context& context, const model::InstanceRecord& record) {
  const auto behind = why_it_is_behind(context, record);
  if (!record.place || !behind || behind->because != Behind::Because::NotRestarted) return false;
  const ObservedNode* node = context.find_node(record.place->node);
  if (node == nullptr) return true;
  const auto told = node->orders->run.find(record.key);
  return told == node->orders->run.end() ||
         context.documents.find_former({record.key.item, told->second.what.version},
                                       told->second.what.item_edition) == nullptr;
}

Result<model::InstanceRecord> find_pausable(const Context& context, const model::InstanceKey& key) {
  const std::string name = model::to_string(key);
  const auto* record = context.state.find<model::InstanceRecord>(key);
  if (record == nullptr) {
    return not_found(fmt::format("no instance {}; instances are named item/subject/index", name));
  }
  if (record->type == model::ItemType::Component) {
    return Error{Code::Conflict,
                 fmt::format("{} is a component; only services can be paused", name)};
  }
  if (record->phase == model::Phase::Cached || record->phase == model::Phase::Erasing) {
    return Error{Code::Conflict, fmt::format("{} does not run: nobody asks for it any more", name)};
  }
  if (is_out_of_reach(context, *record)) {
    return Error{Code::Conflict,
                 fmt::format("{} runs what its item said before it was edited, which is not known "
                             "any more: correct the item first",
                             name)};
  }
  return *record;
}

}  // namespace

void record(Context& context, const ApplyCall& call) {
  const auto checked = check_apply(context, call);
  if (!checked) return Calls::refuse(context, call.call, checked.error());
  for (const model::Document& document : call.documents) put_document(context, document);
  ask_for_requests(context, call);
  ask_for_versions(context, call);
  accept(context, call.call);
}

void record(Context& context, const DeleteCall& call) {
  const auto deleted = delete_document(context, call);
  if (!deleted) return Calls::refuse(context, call.call, deleted.error());
  if (!leaves_the_plan(call)) context.launcher.plan_anew();
  accept(context, call.call);
}

void record(Context& context, const CordonCall& call) {
  const auto& nodes = context.state.durable().nodes;
  const auto known = nodes.find(call.node);
  if (known == nodes.end()) {
    return Calls::refuse(context, call.call, not_found("no node " + call.node.value()));
  }
  model::NodeRecord record = known->second;
  record.cordoned = call.scheduling == Scheduling::Cordoned;
  if (!record.cordoned) record.drain.reset();
  put_node(context, record);
  context.calls.answer_when_sealed({.call = call.call});
}

void record(Context& context, const DrainCall& call) {
  const auto& nodes = context.state.durable().nodes;
  const auto known = nodes.find(call.node);
  if (known == nodes.end()) {
    return Calls::refuse(context, call.call, not_found("no node " + call.node.value()));
  }
  model::NodeRecord record = known->second;
  record.cordoned = true;
  record.drain = {.why = call.why, .deadline = call.deadline, .overdue = false};
  put_node(context, record);
  context.drains.begin(context, record);
  context.note(NoteKind::NodeDraining, call.node, call.why);
  context.calls.answer_when_sealed({.call = call.call});
}

void record(Context& context, const PauseCall& call) {
  auto record = find_pausable(context, call.key);
  if (!record) return Calls::refuse(context, call.call, record.error());
  const bool paused = call.pausing == model::Pausing::Paused;
  if (std::exchange(record->paused, paused) != paused) {
    context.put(*record);
    context.note(paused ? NoteKind::Paused : NoteKind::Resumed, call.key, "by order");
  }
  context.calls.answer_when_sealed({.call = call.call});
}

void record(Context& context, const RebalanceCall& call) {
  context.rebalances.record(context, call);
}

void record(Context& context, const ForgetNodeCall& call) {
  ObservedNode* node = context.find_node(call.node);
  if (node == nullptr || !context.state.durable().nodes.contains(call.node)) {
    return Calls::refuse(context, call.call, not_found("no node " + call.node.value()));
  }
  if (node->connection) {
    return Calls::refuse(
        context, call.call,
        Error{Code::Conflict, call.node.value() + " is connected; stop its agent first"});
  }
  const std::set<model::InstanceKey> there = context.state.instances_on(call.node);
  for (const model::InstanceKey& key : there) {
    context.changes.instances.insert(key);
    let_go(context, *context.state.find<model::InstanceRecord>(key), call.node);
  }
  context.mark_all_on(call.node);  // pending calls may wait for what it was told
  forget_data_on(context, call.node);
  context.forget(call.node);
  context.state.erase<model::NodeRecord>(call.node);
  context.launcher.cluster_changed();
  context.note(NoteKind::NodeForgotten, call.node, "");
  context.calls.answer_when_sealed({.call = call.call});
}

void record(Context& context, const Subscribed& event) { context.calls.record(event); }

void record(Context& context, const Unsubscribed& event) { context.calls.record(event); }

void record(Context& context, const OpenSessionCall& call) {
  context.sessions.record(context, call);
}

void record(Context& context, const CloseSessionCall& call) {
  context.sessions.record(context, call);
}

void record(Context& context, const SessionCallerGone& event) {
  context.sessions.record(context, event);
}

void record(Context& context, const WritesDurable& event) { context.sessions.record(event); }

}  // namespace berth::control
