#include <fmt/format.h>
#include <google/protobuf/struct.pb.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "codec/instance_name.h"
#include "codec/manifest.h"
#include "codec/moment_wire.h"
#include "codec/plan_json.h"
#include "codec/wire.h"
#include "controld/api/calls.h"
#include "controld/api/messages.h"
#include "controld/planning/cluster_documents.h"
#include "controld/planning/desired_documents.h"
#include "placement/ask.h"
#include "placement/explanation.h"

namespace berth::controld::api {
namespace {

template <class Files>
std::vector<codec::SourceFile> files_of(const Files& files) {
  std::vector<codec::SourceFile> sources;
  for (const v1::SourceFile& file : files) sources.push_back({file.name(), file.text()});
  return sources;
}

Error error_of(const codec::ParsedManifest& parsed) {
  std::string lines;
  for (const codec::Diagnostic& diagnostic : parsed.diagnostics) {
    lines += (lines.empty() ? "" : "\n") + codec::to_string(diagnostic);
  }
  return invalid_input(std::move(lines));
}

// --- Apply.

using Asked = std::vector<std::pair<model::ItemId, model::SubjectId>>;

Asked asked_by(const model::Manifest& documents) {
  Asked asked;
  for (const model::Document& document : documents) {
    const auto* deployment = std::get_if<model::Deployment>(&document);
    if (deployment == nullptr) continue;
    for (const model::RunRequest& run : deployment->run) asked.emplace_back(run.item, run.subject);
  }
  return asked;
}

// One apply or rebalance call on its way. What it tells goes through the hub, so that it comes in
// order.
class ApplyRun : public std::enable_shared_from_this<ApplyRun> {
 public:
  ApplyRun(const Services& services, CallPtr call, bool wait)
      : services_(services), call_(std::move(call)), wait_(wait) {}

  // Documents that are well fit to the others mostly, and the core finds that out without looking
  // at all of these. Only if they do not, that is done here, to tell at which line.
  void apply(const v1::ApplyRequest& request) {
    terms_ = {request.has_if_revision() ? std::optional(request.if_revision()) : std::nullopt,
              request.allow_partial()};
    files_ = files_of(request.files());
    work(services_, call_, [self = shared_from_this()] {
      codec::ParsedManifest parsed = codec::parse_each(self->files_);
      parsed.ok() ? self->ask(std::move(parsed)) : self->look_at_all();
    });
  }

  void rebalance(control::RebalanceScope scope) {
    services_.loop.call(
        [scope](control::CallId id) {
          return control::RebalanceCall{id, scope};
        },
        taker(), looker());
  }

 private:
  struct Terms {
    std::optional<std::uint64_t> if_revision;
    bool allow_partial = false;
  };

  // Nobody is kept waiting for what is only read: the answer comes after all that is seen here.
  void look_at_all() {
    has_looked_ = true;
    const auto query = [self = shared_from_this()](const control::Controller& controller) {
      work(self->services_, self->call_, [self, stored = outline_of(controller.durable())] {
        codec::ParsedManifest parsed = codec::parse_manifests(self->files_, stored);
        parsed.ok() ? self->ask(std::move(parsed)) : self->refuse(error_of(parsed));
      });
    };
    if (!services_.loop.post(Loop::Query(query))) call_->fail(busy());
  }

  void ask(codec::ParsedManifest parsed) {
    warnings_.clear();
    for (const auto& warning : parsed.diagnostics) warnings_.push_back(codec::to_string(warning));
    asked_ = asked_by(parsed.documents);
    const auto documents = std::make_shared<model::Manifest>(std::move(parsed.documents));
    services_.loop.call(
        [&](control::CallId id) {
          return control::ApplyCall{id, std::move(*documents), terms_.if_revision,
                                    terms_.allow_partial};
        },
        taker(), looker());
  }

  // When what it names is durable.
  void refuse(const Error& why) {
    look(
        services_, call_, [why](const control::Controller&) { return why; },
        [call = call_](const Error& error) { call->fail(error); });
  }

  Loop::ReplyTaker taker() {
    return [self = shared_from_this()](const Loop::Answer& answer) { return self->take(answer); };
  }
  Loop::ReplyReader looker() {
    return [self = shared_from_this()](const control::Controller& controller,
                                       const Loop::Answer& answer) {
      const auto* accepted = std::get_if<control::Accepted>(&answer);
      if (accepted != nullptr) self->look_at(controller, *accepted);
    };
  }

  bool take(const Loop::Answer& answer) {
    if (const auto* error = std::get_if<Error>(&answer)) {
      const bool is_told = has_looked_ || files_.empty() || error->code != Code::InvalidInput;
      is_told ? call_->fail(*error) : look_at_all();
      return false;
    }
    if (const auto* accepted = std::get_if<control::Accepted>(&answer)) {
      tell_accepted(*accepted);
      return wait_ && !call_->is_over();
    }
    tell_finished(std::get<control::Finished>(answer));
    return false;
  }

  // Of a rebalance, those that move; of documents that ask for no instance, those that they touch.
  std::vector<model::InstanceKey> others(const control::Accepted& accepted) const {
    std::vector<model::InstanceKey> keys = accepted.moved;
    if (!asked_.empty()) return keys;
    for (const control::Consequence& consequence : accepted.consequences) {
      if (consequence.kind != control::ConsequenceKind::Stop) keys.push_back(consequence.key);
    }
    return keys;
  }

  // What follows from it is seen as the step has left it that accepted it.
  void look_at(const control::Controller& controller, const control::Accepted& accepted) {
    for (const auto& request : asked_) {
      for (const auto& status : controller.statuses_of(request)) keys_.push_back(status.key);
    }
    for (const model::InstanceKey& other : others(accepted)) {
      if (controller.status_of(other)) keys_.push_back(other);
    }
    if (!wait_) return;
    views_ = instances_of(controller, keys_);
    expected_ = services_.hub.expect();
  }

  void tell_accepted(const control::Accepted& accepted) {
    std::vector<InstanceView> views = std::exchange(views_, {});
    const auto expected = std::exchange(expected_, nullptr);
    const std::vector<model::InstanceKey> keys = std::exchange(keys_, {});
    services_.hub.in_order([self = shared_from_this(), accepted, keys] {
      v1::ApplyEvent event;
      *event.mutable_accepted() = to_message(accepted);
      for (const std::string& warning : self->warnings_) {
        event.mutable_accepted()->add_warnings(warning);
      }
      for (const auto& key : keys) *event.mutable_accepted()->add_instances() = codec::to_wire(key);
      self->call_->send(answer_of(std::move(event)));
      if (!self->wait_) self->call_->finish();
    });
    if (!wait_) return;
    services_.hub.add({.call = call_,
                       .about = "",
                       .only = std::set<model::InstanceKey>(keys.begin(), keys.end())},
                      {.instances = std::move(views), .nodes = {}});
  }

  void tell_finished(const control::Finished& finished) {
    services_.hub.in_order([call = call_, finished] {
      v1::ApplyEvent event;
      *event.mutable_finished() = to_message(finished);
      call->answer(answer_of(std::move(event)));
    });
  }

  const Services& services_;
  const CallPtr call_;
  const bool wait_;
  std::vector<codec::SourceFile> files_;
  Terms terms_;
  bool has_looked_ = false;  // at all documents that there are
  std::vector<std::string> warnings_;
  Asked asked_;
  std::vector<model::InstanceKey> keys_;  // of what it is about, until it is told
  std::vector<InstanceView> views_;       // of these, if it waits for them
  std::shared_ptr<void> expected_;        // by the hub
};

// --- Plan and why.

Result<placement::Mode> mode_of(const v1::PlanRequest& request) {
  if (request.replan() && request.rebalance()) {
    return invalid_input("replan and rebalance exclude each other");
  }
  if (request.full() && !request.rebalance()) return invalid_input("full belongs to rebalance");
  if (request.replan()) return placement::Mode::Replan;
  if (!request.rebalance()) return placement::Mode::Run;
  return request.full() ? placement::Mode::RebalanceFull : placement::Mode::RebalanceMinimal;
}

std::uint64_t instances_asked_by(const model::Manifest& documents) {
  std::uint64_t count = 0;
  for (const model::Document& document : documents) {
    const auto* deployment = std::get_if<model::Deployment>(&document);
    if (deployment == nullptr) continue;
    for (const model::RunRequest& run : deployment->run) count += run.instances.value_or(0);
  }
  return count;
}

// What is asked for anyway can be planned, however much it is.
Result<void> check_size(const Cluster& cluster, const PlannerLimits& limits) {
  const std::uint64_t before = instances_asked_by(*cluster.before);
  const std::uint64_t asked = instances_asked_by(cluster.documents);
  if (asked <= before + limits.instances_more) return {};
  return Error{Code::Exhausted,
               fmt::format("{} instances more than now are asked for, and a plan can have {} more "
                           "at most: plan fewer at once, or with berth plan --offline",
                           asked - before, limits.instances_more)};
}

Result<std::string> planned(Cluster cluster, const v1::PlanRequest& request, const Planner& planner,
                            const Planner::IsWanted& is_wanted) {
  const placement::Mode mode = TRY(mode_of(request));
  codec::ParsedManifest parsed =
      codec::parse_manifests(files_of(request.files()), cluster.documents);
  if (!parsed.ok()) return error_of(parsed);
  const std::uint64_t revision = cluster.revision;
  cluster = overlaid(std::move(cluster), std::move(parsed.documents));
  TRY(check_size(cluster, planner.limits()));
  const placement::Snapshot snapshot = snapshot_of(cluster);
  const placement::Plan plan =
      placement::make_plan(snapshot, {.mode = mode,
                                      .explain = std::nullopt,
                                      .is_wanted = is_wanted,
                                      .verdicts_max = planner.limits().verdicts});
  if (plan.given_up) return planner.why_given_up();
  return codec::plan_to_json(plan, revision, placement::downtimes_of(snapshot, plan));
}

// The cluster, and the decisions about those that may be meant by a name.
struct Decided {
  Cluster cluster;
  std::map<model::InstanceKey, model::DecisionRecord> decisions;
};

// A name without a subject means the only one there is; which, is found out where there is time.
Decided decided_about(const std::string& instance, const control::Controller& controller) {
  Decided decided{copy_of(controller), {}};
  const auto name = codec::parse_instance_name(instance);
  if (!name) return decided;
  const auto& all = controller.durable().decisions;
  auto it = all.lower_bound({name->item, model::SubjectId{}, 0});
  while (it != all.end() && it->first.item == name->item) {
    const model::SubjectId& subject = it->first.subject;
    const auto meant = all.find({name->item, subject, name->index});
    if (meant != all.end()) decided.decisions.insert(*meant);
    it = all.upper_bound({name->item, subject, std::numeric_limits<std::uint32_t>::max()});
  }
  return decided;
}

const model::Application* find_application(const Cluster& cluster, std::string_view name) {
  for (const model::Document& document : cluster.documents) {
    const auto* application = std::get_if<model::Application>(&document);
    if (application != nullptr && model::to_string(model::key_of(*application)) == name) {
      return application;
    }
  }
  return nullptr;
}

// Of an application: the instance that has no place, else one that would be asked for in addition.
std::optional<model::InstanceKey> instance_of(const model::Application& application,
                                              placement::Snapshot& snapshot) {
  const model::ApplicationKey key = model::key_of(application);
  for (const placement::PoolAsk& ask : snapshot.pools) {
    const bool is_its = model::application_of(ask.key) == key;
    if (is_its && !snapshot.present.contains(ask.key)) return ask.key;
  }
  const auto item = snapshot.items.lower_bound({application.item, application.version});
  if (item == snapshot.items.end() || item->first.item != application.item) return std::nullopt;
  snapshot.pools.push_back({.key = model::pool_instance(key, 0),
                            .item = item->second,
                            .priority = application.priority,
                            .labels = &application.labels,
                            .nodes = &application.nodes,
                            .bound = false,
                            .displaces = true});
  return snapshot.pools.back().key;
}

// An instance, or else an application.
Result<model::InstanceKey> meant_by(const std::string& name,
                                    const std::set<model::InstanceKey>& known,
                                    const Cluster& cluster, placement::Snapshot& snapshot) {
  constexpr std::string_view kPrefix = "application/";
  const bool has_prefix = name.starts_with(kPrefix);
  const auto instance = codec::find_instance(name, known);
  if (instance && !has_prefix) return instance;
  const auto* application =
      find_application(cluster, std::string_view(name).substr(has_prefix ? kPrefix.size() : 0));
  const auto pooled = application == nullptr ? std::nullopt : instance_of(*application, snapshot);
  return pooled ? Result<model::InstanceKey>(*pooled) : instance;
}

Result<std::string> explained(const Decided& decided, const std::string& instance,
                              const Planner& planner, const Planner::IsWanted& is_wanted) {
  placement::Snapshot snapshot = snapshot_of(decided.cluster);
  std::set<model::InstanceKey> known = placement::known_instances(snapshot);
  for (const auto& [key, decision] : decided.decisions) known.insert(key);  // also what is adopted
  const auto key = TRY(meant_by(instance, known, decided.cluster, snapshot));
  const placement::Plan plan =
      placement::make_plan(snapshot, {.mode = placement::Mode::Run,
                                      .verdicts = placement::Verdicts::ReasonOnly,
                                      .explain = key,
                                      .is_wanted = is_wanted});
  if (plan.given_up) return planner.why_given_up();
  const auto decision = decided.decisions.find(key);
  return codec::explanation_to_json(
      plan, placement::explanation_of(plan, key),
      decision == decided.decisions.end() ? nullptr : &decision->second);
}

void answer_with_json(const CallPtr& call, Result<std::string> json, const Message& form) {
  if (!json) return call->fail(json.error());
  call->answer(std::make_shared<const Answer>(std::move(*json), form));
}

// --- Documents.

std::string listed(std::uint64_t revision, const model::Manifest& documents) {
  std::string json = fmt::format("{{\"revision\":\"{}\",\"documents\":[", revision);
  bool is_first = true;
  for (const model::Document& document : documents) {
    if (!std::exchange(is_first, false)) json += ',';
    json += codec::to_json(document);
  }
  return json + "]}";
}

std::string with_pools(std::string listed_json, const std::vector<PoolView>& pools) {
  if (pools.empty()) return listed_json;
  listed_json.pop_back();
  listed_json += ",\"pools\":[";
  bool is_first = true;
  for (const PoolView& pool : pools) {
    if (!std::exchange(is_first, false)) listed_json += ',';
    listed_json += json_of(api::to_message(pool));
  }
  return listed_json + "]}";
}

std::string listed(const Cluster& cluster) {
  std::string json = listed(cluster.revision, cluster.documents);
  json.pop_back();
  return json + ",\"moment\":" + json_of(codec::to_wire(cluster.moment)) + "}";
}

struct SelectedDocuments {
  std::uint64_t revision = 0;
  model::Manifest documents;
  std::vector<PoolView> pools;  // of those that are applications
};

std::vector<PoolView> pools_of_applications(const control::Controller& controller,
                                            const model::Manifest& documents) {
  std::vector<PoolView> views;
  for (const model::Document& document : documents) {
    const auto* application = std::get_if<model::Application>(&document);
    if (application == nullptr) continue;
    PoolView view = view_of(controller, model::key_of(*application));
    if (!view.gone) views.push_back(std::move(view));
  }
  return views;
}

// "Item, Deployment or Subject"
std::string kept_kinds_text() {
  std::vector<std::string_view> names;
  for (const model::DocumentKind& kind : model::document_kinds()) {
    if (kind.is_kept) names.push_back(kind.name);
  }
  const std::string_view last = names.back();
  names.pop_back();
  return fmt::format("{} or {}", fmt::join(names, ", "), last);
}

}  // namespace

void apply(const Services& services, const v1::ApplyRequest& request, const CallPtr& call) {
  if (const auto trouble = services.loop.trouble()) return call->fail(refusal_for(*trouble));
  std::make_shared<ApplyRun>(services, call, request.wait())->apply(request);
}

void rebalance(const Services& services, const v1::RebalanceRequest& request, const CallPtr& call) {
  if (const auto trouble = services.loop.trouble()) return call->fail(refusal_for(*trouble));
  std::make_shared<ApplyRun>(services, call, request.wait())
      ->rebalance(request.full() ? control::RebalanceScope::Everything
                                 : control::RebalanceScope::Overloaded);
}

void plan(const Services& services, const v1::PlanRequest& request, const CallPtr& call) {
  Planner& planner = services.planner;
  planner.submit(call, [&planner, request, call](const Planner::IsWanted& is_wanted) {
    auto cluster = planner.copied(copy_of);
    if (!cluster) return call->fail(busy());
    answer_with_json(call, planned(*std::move(cluster), request, planner, is_wanted),
                     google::protobuf::Struct::default_instance());
  });
}

void why(const Services& services, const v1::WhyRequest& request, const CallPtr& call) {
  Planner& planner = services.planner;
  planner.submit(call, [&planner, request, call](const Planner::IsWanted& is_wanted) {
    const auto decided = planner.copied([&request](const control::Controller& controller) {
      return decided_about(request.instance(), controller);
    });
    if (!decided) return call->fail(busy());
    answer_with_json(call, explained(*decided, request.instance(), planner, is_wanted),
                     google::protobuf::Struct::default_instance());
  });
}

void get_cluster(const Services& services, const v1::GetClusterRequest&, const CallPtr& call) {
  look(services, call, copy_of, [call](const Cluster& cluster) {
    answer_with_json(call, listed(cluster), v1::Cluster::default_instance());
  });
}

void list_documents(const Services& services, const v1::ListDocumentsRequest& request,
                    const CallPtr& call) {
  const model::DocumentKind* kind = model::find_document_kind(request.kind());
  if (kind == nullptr || !kind->is_kept) {
    return call->fail(invalid_input("kind must be " + kept_kinds_text()));
  }
  look(
      services, call,
      [kind, name = request.name()](const control::Controller& controller) {
        SelectedDocuments selected{
            revision_of(controller), documents_of(controller.durable(), *kind, name), {}};
        selected.pools = pools_of_applications(controller, selected.documents);
        return selected;
      },
      [request, call](const SelectedDocuments& selected) {
        if (selected.documents.empty() && !request.name().empty()) {
          return call->fail(
              not_found(fmt::format("there is no {} {}", request.kind(), request.name())));
        }
        answer_with_json(call,
                         with_pools(listed(selected.revision, selected.documents), selected.pools),
                         v1::Documents::default_instance());
      });
}

void delete_document(const Services& services, const v1::DeleteRequest& request,
                     const CallPtr& call) {
  answer_with_revision(services, call, [&](control::CallId id) {
    return control::DeleteCall{
        id, request.kind(), request.name(),
        request.cascade() ? control::Cascade::Yes : control::Cascade::No,
        request.now() ? control::Farewell::Now : control::Farewell::WithGrace};
  });
}

}  // namespace berth::controld::api
