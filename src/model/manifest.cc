#include "model/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "base/suggest.h"

namespace berth::model {
namespace {

using Findings = std::vector<Finding>;

template <class D>
struct Numbered {
  std::size_t number = 0;
  const D* document = nullptr;
};

template <class D>
std::vector<Numbered<D>> all_of(const Manifest& manifest) {
  std::vector<Numbered<D>> found;
  for (std::size_t i = 0; i < manifest.size(); ++i) {
    if (const D* document = std::get_if<D>(&manifest[i])) found.push_back({i, document});
  }
  return found;
}

using Versions = std::map<std::string, const Item*>;
using Catalog = std::map<ItemId, Versions>;

// Guessing costs a comparison with all that there is, and nobody reads that many guesses.
constexpr std::size_t kGuessesMax = 100;

Catalog catalog_of(const Manifest& manifest) {
  Catalog catalog;
  for (const auto& [number, item] : all_of<Item>(manifest))
    catalog[item->id].try_emplace(item->version, item);
  return catalog;
}

std::string text_of(const Versions& versions) {
  constexpr std::size_t kShownMax = 10;
  std::string text;
  std::size_t shown = 0;
  for (const auto& entry : versions) {
    if (shown == kShownMax) return text + ", ...";
    text += (shown++ == 0 ? "" : ", ") + entry.first;
  }
  return text;
}

// The first place where each thing was said; says of a thing whether it is new.
template <class Thing>
class FirstPlaces {
 public:
  // Where it was said before, nullptr if nowhere.
  const std::string* before(const Thing& thing, std::string place) {
    const auto [entry, is_new] = places_.try_emplace(thing, std::move(place));
    return is_new ? nullptr : &entry->second;
  }

 private:
  std::map<Thing, std::string> places_;
};

// "Deployment "base" is there twice"; what has versions says which.
template <class D>
std::string repeated_text(const D& document) {
  if constexpr (DocumentTraits<D>::kKind.has_versions) {
    return fmt::format("{} {} is there twice", DocumentTraits<D>::kKind.singular, id_of(document));
  } else {
    return fmt::format("{} \"{}\" is there twice", DocumentTraits<D>::kKind.name, id_of(document));
  }
}

template <class D>
void find_repeated(const Manifest& manifest, Findings& findings) {
  FirstPlaces<std::string> seen;
  for (const auto& [number, document] : all_of<D>(manifest)) {
    if (!seen.before(id_of(*document), "")) continue;
    findings.push_back({number, "metadata.name", repeated_text(*document)});
  }
}

std::string_view name_of(const ItemId& id) { return id.value(); }
std::string_view name_of(const std::string& version) { return version; }

template <class Known>
std::string guess(std::string_view typed, const Known& known) {
  std::vector<std::string_view> names;
  for (const auto& entry : known) names.push_back(name_of(entry.first));
  return did_you_mean(typed, names);
}

// Finds the item that a document refers to by name and perhaps version.
class ItemReference {
 public:
  ItemReference(const ItemId& item, const std::string& version, std::size_t document,
                std::string path, Findings& findings)
      : item_(item),
        version_(version),
        document_(document),
        path_(std::move(path)),
        findings_(findings) {}

  // nullptr: there is none, and that is said.
  const Item* find_in(const Catalog& catalog) {
    const auto versions = catalog.find(item_);
    if (versions != catalog.end()) return chosen(versions->second);
    add_unknown_item(catalog);
    return nullptr;
  }

 private:
  const Item* chosen(const Versions& versions) {
    if (version_.empty()) return only_one_of(versions);
    const auto version = versions.find(version_);
    if (version != versions.end()) return version->second;
    add_unknown_version(versions);
    return nullptr;
  }

  const Item* only_one_of(const Versions& versions) {
    if (versions.size() == 1) return versions.begin()->second;
    add(".version", fmt::format("is missing: item \"{}\" has several versions ({})", item_.value(),
                                text_of(versions)));
    return nullptr;
  }

  void add_unknown_item(const Catalog& catalog) {
    const std::string& id = item_.value();
    add(".item",
        fmt::format("there is no item \"{}\".{}", id, may_guess() ? guess(id, catalog) : ""));
  }

  void add_unknown_version(const Versions& versions) {
    add(".version",
        fmt::format("item \"{}\" has no version \"{}\" (known versions: {}).{}", item_.value(),
                    version_, text_of(versions), may_guess() ? guess(version_, versions) : ""));
  }

  bool may_guess() const { return findings_.size() < kGuessesMax; }

  void add(std::string_view field, std::string what) {
    findings_.push_back({document_, path_ + std::string(field), std::move(what)});
  }

  const ItemId& item_;
  const std::string& version_;
  std::size_t document_;
  std::string path_;
  Findings& findings_;
};

void check_request(const RunRequest& request, std::size_t document, const std::string& path,
                   const Catalog& catalog, Findings& findings) {
  const Item* item =
      ItemReference(request.item, request.version, document, path, findings).find_in(catalog);
  if (item == nullptr || request.instances || item->type == ItemType::Component) return;
  findings.push_back({document, path + ".instances",
                      fmt::format("all is for components; \"{}\" is a {}", item->id.value(),
                                  to_string(item->type)),
                      key_of(*item)});
}

void find_bad_requests(const Manifest& manifest, const Catalog& catalog, Findings& findings) {
  FirstPlaces<std::pair<ItemId, SubjectId>> asked;
  for (const auto& [number, deployment] : all_of<Deployment>(manifest)) {
    for (std::size_t i = 0; i < deployment->run.size(); ++i) {
      const RunRequest& request = deployment->run[i];
      const std::string path = fmt::format("spec.run[{}]", i);
      check_request(request, number, path, catalog, findings);
      const auto* before = asked.before({request.item, request.subject},
                                        fmt::format("{} of \"{}\"", path, deployment->name));
      if (before == nullptr) continue;
      findings.push_back({number, path,
                          fmt::format("item \"{}\" for subject \"{}\" is asked for already, by {}",
                                      request.item.value(), request.subject.value(), *before)});
    }
  }
}

// Instances of an application come and go, and what they keep would be lost.
void check_item_of(const Application& application, std::size_t document, const Catalog& catalog,
                   Findings& findings) {
  const Item* item =
      ItemReference(application.item, application.version, document, "spec", findings)
          .find_in(catalog);
  if (item == nullptr) return;
  if (const std::string why = why_no_application(*item); !why.empty()) {
    findings.push_back({document, "spec.item", why, key_of(*item)});
  }
}

void find_bad_applications(const Manifest& manifest, const Catalog& catalog, Findings& findings) {
  std::vector<std::string_view> spaces{Namespace::kDefault};
  for (const auto& [number, space] : all_of<Namespace>(manifest)) spaces.push_back(space->name);
  std::ranges::sort(spaces);
  for (const auto& [number, application] : all_of<Application>(manifest)) {
    check_item_of(*application, number, catalog, findings);
    if (std::ranges::binary_search(spaces, std::string_view(application->ns))) continue;
    const bool may_guess = findings.size() < kGuessesMax;
    findings.push_back(
        {number, "metadata.namespace",
         fmt::format("there is no namespace \"{}\": apply it first, or with this.{}",
                     application->ns, may_guess ? did_you_mean(application->ns, spaces) : "")});
  }
}

std::vector<std::string_view> fields_set_by(const NodeConfig& config) {
  std::vector<std::string_view> fields;
  if (config.priority) fields.push_back("priority");
  if (config.labels) fields.push_back("labels");
  if (config.ratios) fields.push_back("ratios");
  if (config.default_request) fields.push_back("defaultRequest");
  if (config.thresholds) fields.push_back("thresholds");
  return fields;
}

std::string match_of(const NodeConfig& config) {
  if (config.node) return fmt::format("node \"{}\"", config.node->value());
  if (config.type) return fmt::format("type \"{}\"", *config.type);
  return is_fallback(config) ? "all nodes by default" : "all nodes";
}

void find_contradicting_configs(const Manifest& manifest, Findings& findings) {
  FirstPlaces<std::pair<std::string, std::string_view>> seen;
  for (const auto& [number, config] : all_of<NodeConfig>(manifest)) {
    for (const std::string_view field : fields_set_by(*config)) {
      const std::string match = match_of(*config);
      const auto* before = seen.before({match, field}, config->name);
      if (before == nullptr) continue;
      findings.push_back({number, fmt::format("spec.{}", field),
                          fmt::format("is set for {} by \"{}\" already", match, *before)});
    }
  }
}

std::string text_of(const std::optional<Bytes>& size) {
  return size ? std::to_string(size->count()) : "not limited";
}

std::string difference(const Partitions& here, const Partitions& there) {
  if (here.storage != there.storage) {
    return fmt::format("storage is {} here, {} there", text_of(here.storage),
                       text_of(there.storage));
  }
  if (here.state != there.state) {
    return fmt::format("state is {} here, {} there", text_of(here.state), text_of(there.state));
  }
  return here.same_partition == there.same_partition ? "" : "samePartition is not the same";
}

void find_contradicting_partitions(const Manifest& manifest, Findings& findings) {
  const Node* first = nullptr;
  for (const auto& [number, node] : all_of<Node>(manifest)) {
    if (!node->info.partitions.unit_wide) continue;
    if (first == nullptr) first = node;
    const std::string what = difference(node->info.partitions, first->info.partitions);
    if (what.empty()) continue;
    findings.push_back({number, "spec.partitions",
                        fmt::format("unitWide is one partition with that of node \"{}\", but {}",
                                    first->id.value(), what)});
  }
}

void find_doubly_running(const Manifest& manifest, Findings& findings) {
  FirstPlaces<InstanceKey> seen;
  for (const auto& [number, node] : all_of<Node>(manifest)) {
    for (std::size_t i = 0; i < node->running.size(); ++i) {
      const InstanceKey& key = node->running[i].key;
      const std::string path = fmt::format("spec.running[{}]", i);
      const auto* before = seen.before(key, fmt::format("{} of \"{}\"", path, node->id.value()));
      if (before == nullptr) continue;
      findings.push_back(
          {number, path, fmt::format("{} runs already, by {}", to_string(key), *before)});
    }
  }
}

}  // namespace

std::string why_no_application(const Item& item) {
  if (item.type != ItemType::Service) {
    return fmt::format("item \"{}\" is a {}; an application needs a service", item.id.value(),
                       to_string(item.type));
  }
  const bool has_storage = item.quotas.storage.has_value();
  if (!has_storage && !item.quotas.state) return "";
  return fmt::format(
      "item \"{}\" has a quota of {}, but instances of an application keep nothing: take the quota "
      "out of the item, or use another",
      item.id.value(), has_storage ? "storage" : "state");
}

std::vector<Finding> validate(const Manifest& manifest) {
  Findings findings;
  const Catalog catalog = catalog_of(manifest);
  for_each_kind([&]<class D>(std::type_identity<D>) { find_repeated<D>(manifest, findings); });
  find_bad_requests(manifest, catalog, findings);
  find_bad_applications(manifest, catalog, findings);
  find_contradicting_configs(manifest, findings);
  find_contradicting_partitions(manifest, findings);
  find_doubly_running(manifest, findings);
  return findings;
}

}  // namespace berth::model
