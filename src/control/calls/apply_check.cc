#include "control/calls/apply_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "control/context.h"

namespace berth::control {
namespace {

Result<void> check(const model::Manifest& manifest) {
  const auto findings = model::validate(manifest);
  if (findings.empty()) return {};
  std::vector<std::string> texts;
  for (const auto& finding : findings) {
    const model::Document& document = manifest[finding.document];
    texts.push_back(fmt::format("{} {}: {}: {}", model::kind_of(document).name,
                                model::id_of(document), finding.path, finding.what));
  }
  return invalid_input(fmt::format("{}", fmt::join(texts, "; ")));
}

// All documents as they would be: the known ones, with the new ones in their place.
model::Manifest desired(const Durable& durable, const std::vector<model::Document>& applied) {
  model::Manifest manifest;
  model::for_each_kept_kind([&]<class D>(std::type_identity<D>) {
    constexpr const auto& kTable = model::kTableOf<D>;
    auto documents = durable.*kTable.records;
    for (const model::Document& document : applied) {
      const D* changed = std::get_if<D>(&document);
      if (changed != nullptr) documents.insert_or_assign(kTable.key_of(*changed), *changed);
    }
    for (auto& [key, document] : documents) manifest.emplace_back(std::move(document));
  });
  return manifest;
}

// Whether documents that fit together still do, by looking at the new ones only. It may be wrong in
// saying no: then all are looked at, which also tells what is wrong.
class QuickCheck {
 public:
  QuickCheck(const State& state, const std::vector<model::Document>& applied)
      : state_(state), applied_(applied) {}

  bool passes() {
    return std::ranges::all_of(applied_, [this](const auto& document) { return take(document); }) &&
           std::ranges::all_of(deployments_, [this](const auto* each) { return fits(*each); }) &&
           std::ranges::all_of(applications_, [this](const auto* each) { return fits(*each); });
  }

 private:
  bool take(const model::Document& document) {
    if (const auto* item = std::get_if<model::Item>(&document)) return take(*item);
    if (const auto* space = std::get_if<model::Namespace>(&document)) {
      return namespaces_.insert(space->name).second;
    }
    if (const auto* application = std::get_if<model::Application>(&document)) {
      applications_.push_back(application);
      return application_keys_.insert(model::key_of(*application)).second;
    }
    const auto* deployment = std::get_if<model::Deployment>(&document);
    if (deployment == nullptr) return false;
    deployments_.push_back(deployment);
    return names_.insert(deployment->name).second;
  }

  // Who asks for the item without saying which version means the only one.
  bool take(const model::Item& item) {
    const auto* as_known = state_.find<model::Item>(model::key_of(item));
    if (as_known != nullptr && *as_known == item) return true;
    return !has_any_version(state_.durable(), item.id) && items_.emplace(item.id, &item).second;
  }

  // What refers to an item has its name, and its version or none.
  const model::Item* find_item(const auto& run) const {
    const auto added = items_.find(run.item);
    const auto& known = state_.durable().items;
    const model::Item* item = nullptr;
    if (added != items_.end()) {
      item = added->second;
    } else {
      const auto first = known.lower_bound({run.item, run.version});
      if (first == known.end() || first->first.item != run.item) return nullptr;
      const auto next = std::next(first);
      const bool is_only = next == known.end() || next->first.item != run.item;
      if (run.version.empty() && !is_only) return nullptr;
      item = &first->second;
    }
    return run.version.empty() || run.version == item->version ? item : nullptr;
  }

  bool fits(const model::Deployment& deployment) {
    return std::ranges::all_of(deployment.run, [&](const model::RunRequest& run) {
      const auto* asked = state_.requests().find(key_of(run));
      const bool by_others = asked != nullptr && asked->by->name != deployment.name;
      const model::Item* item = find_item(run);
      return item != nullptr && !by_others && asked_.insert(key_of(run)).second &&
             (run.instances || item->type == model::ItemType::Component);
    });
  }

  bool fits(const model::Application& application) const {
    const model::Item* item = find_item(application);
    return item != nullptr && model::why_no_application(*item).empty() &&
           (namespaces_.contains(application.ns) ||
            state_.find<model::Namespace>(application.ns) != nullptr);
  }

  const State& state_;
  const std::vector<model::Document>& applied_;
  std::map<model::ItemId, const model::Item*> items_;  // that nobody knew
  std::vector<const model::Deployment*> deployments_;
  std::vector<const model::Application*> applications_;
  std::set<std::string> namespaces_;
  std::set<model::ApplicationKey> application_keys_;
  std::set<std::string> names_;
  std::set<RequestKey> asked_;
};

// As the desired state will be; the last of those with the same name counts.
std::uint64_t instances_after(const State& state, const std::vector<model::Document>& applied) {
  std::map<std::string, const model::Deployment*> changed;
  for (const model::Document& document : applied) {
    if (const auto* deployment = std::get_if<model::Deployment>(&document)) {
      changed[deployment->name] = deployment;
    }
  }
  std::uint64_t count = state.requests().instances();
  for (const auto& [name, deployment] : changed) {
    const auto* known = state.find<model::Deployment>(name);
    if (known != nullptr) count -= instances_of(*known);
    count += instances_of(*deployment);
  }
  return count;
}

}  // namespace

Result<void> check_apply(const Context& context, const ApplyCall& call) {
  // What came before in the same step counts: it will be the next revision.
  const State& state = context.state;
  const std::uint64_t revision = state.revision() + (state.has_changes() ? 1 : 0);
  if (call.if_revision && *call.if_revision != revision) {
    return Error{Code::Conflict, fmt::format("the cluster is at revision {}, not {}: plan again",
                                             revision, *call.if_revision)};
  }
  for (const model::Document& document : call.documents) {
    if (!std::holds_alternative<model::Node>(document)) continue;
    return invalid_input(
        "Node documents describe clusters for offline plans; real nodes report themselves");
  }
  const bool looks_at_all = context.config.walk == Walk::Everything;
  if (looks_at_all || !QuickCheck(state, call.documents).passes()) {
    TRY(check(desired(state.durable(), call.documents)));
  }
  const std::uint64_t instances = instances_after(state, call.documents);
  if (instances <= context.config.instances_max) return {};
  return Error{Code::Exhausted, fmt::format("{} instances are asked for, the limit is {}",
                                            instances, context.config.instances_max)};
}

Result<void> check_without_item(const Durable& durable, const model::ItemKey& key) {
  model::Manifest manifest = desired(durable, {});
  std::erase_if(manifest, [&](const model::Document& document) {
    const auto* item = std::get_if<model::Item>(&document);
    return item != nullptr && model::key_of(*item) == key;
  });
  return check(manifest);
}

}  // namespace berth::control
