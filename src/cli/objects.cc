#include "cli/objects.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/suggest.h"
#include "cli/table.h"
#include "client/path.h"
#include "codec/instance_name.h"

namespace berth::cli {
namespace {

using google::protobuf::Struct;

struct KindWords {
  Kind kind;
  std::string_view singular;
  std::string_view plural;
  std::string_view document;
  std::array<std::string_view, 3> others;
};

constexpr std::array kKinds{
    KindWords{Kind::Instance, "instance", "instances", "", {"inst", "i"}},
    KindWords{Kind::Node, "node", "nodes", "", {"no", "n"}},
    KindWords{Kind::Item, "item", "items", "Item", {"it"}},
    KindWords{Kind::Deployment, "deployment", "deployments", "Deployment", {"deploy", "dep", "d"}},
    KindWords{Kind::NodeConfig, "nodeconfig", "nodeconfigs", "NodeConfig", {"nc"}},
    KindWords{Kind::Event, "event", "events", "", {"ev"}},
    KindWords{Kind::EnvOverride, "envoverride", "envoverrides", "EnvOverride", {"override", "eo"}},
    KindWords{Kind::Subject, "subject", "subjects", "Subject", {"su"}},
};

const KindWords& words_of(Kind kind) { return *std::ranges::find(kKinds, kind, &KindWords::kind); }

bool is_called(const KindWords& words, std::string_view word) {
  return same_word(word, words.singular) || same_word(word, words.plural) ||
         std::ranges::any_of(words.others, [&](std::string_view other) {
           return !other.empty() && same_word(word, other);
         });
}

std::string member(const Struct& document, const char* object, const char* name) {
  const auto outer = document.fields().find(object);
  if (outer == document.fields().end()) return "";
  const auto& fields = outer->second.struct_value().fields();
  const auto inner = fields.find(name);
  return inner == fields.end() ? "" : inner->second.string_value();
}

// Filters of the server are a convenience: what it sends too much is left out here.
bool matches(const v1::Instance& instance, const InstanceFilter& filter) {
  return (filter.item.empty() || instance.key().item() == filter.item) &&
         (filter.node.empty() || instance.place().node() == filter.node) &&
         (filter.state.empty() ||
          same_word(v1::InstanceState_Name(instance.state()), filter.state));
}

template <class List, class Keep>
void keep_only(List& list, const Keep& keep) {
  List kept;
  for (auto& entry : list) {
    if (keep(entry)) kept.Add(std::move(entry));
  }
  list.Swap(&kept);
}

}  // namespace

bool same_word(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

Result<Kind> parse_kind(std::string_view word) {
  for (const KindWords& words : kKinds) {
    if (is_called(words, word)) return words.kind;
  }
  return invalid_input(fmt::format("\"{}\" is none of {}.{}", printable(word),
                                   fmt::join(kind_words(), ", "),
                                   did_you_mean(word, kind_words())));
}

std::string_view singular(Kind kind) { return words_of(kind).singular; }
std::string_view plural(Kind kind) { return words_of(kind).plural; }
std::string_view document_kind(Kind kind) { return words_of(kind).document; }
bool is_document(Kind kind) { return !document_kind(kind).empty(); }

const std::vector<std::string>& kind_words() {
  static const std::vector<std::string> words = [] {
    std::vector<std::string> plurals;
    for (const KindWords& kind : kKinds) plurals.emplace_back(kind.plural);
    return plurals;
  }();
  return words;
}

Result<v1::Instances> list_instances(const client::Client& client, const InstanceFilter& filter) {
  auto instances = TRY(client::call<v1::Instances>(
      client, {.path = client::with_query("/v1/instances", {{"item", filter.item},
                                                            {"node", filter.node},
                                                            {"all", filter.all ? "true" : ""}})}));
  keep_only(*instances.mutable_instances(),
            [&](const v1::Instance& instance) { return matches(instance, filter); });
  return instances;
}

Result<v1::Nodes> list_nodes(const client::Client& client) {
  return client::call<v1::Nodes>(client, {.path = "/v1/nodes"});
}

Result<v1::Documents> list_documents(const client::Client& client, Kind kind) {
  return client::call<v1::Documents>(client, {.path = fmt::format("/v1/{}", plural(kind))});
}

Result<v1::Events> list_events(const client::Client& client, const EventFilter& filter) {
  const auto number = [](std::uint64_t value) { return value == 0 ? "" : std::to_string(value); };
  auto events = TRY(client::call<v1::Events>(
      client, {.path = client::with_query("/v1/events", {{"about", filter.about},
                                                         {"after", number(filter.after)},
                                                         {"limit", number(filter.limit)}})}));
  // "instance/web" is not about web2.
  keep_only(*events.mutable_events(), [&](const v1::Event& event) {
    return filter.about.empty() || event.about() == filter.about ||
           event.about().starts_with(filter.about + "/");
  });
  return events;
}

model::InstanceKey key_of(const v1::InstanceKey& key) {
  return {model::ItemId(key.item()), model::SubjectId(key.subject()), key.index()};
}

std::string name_of(const v1::Instance& instance) {
  return model::to_string(key_of(instance.key()));
}

Result<const v1::Instance*> pick_instance(const v1::Instances& all, std::string_view name) {
  std::set<model::InstanceKey> known;
  for (const v1::Instance& instance : all.instances()) known.insert(key_of(instance.key()));
  const model::InstanceKey key = TRY(codec::find_instance(name, known));
  const auto is_it = [&](const v1::Instance& instance) { return key_of(instance.key()) == key; };
  return &*std::ranges::find_if(all.instances(), is_it);
}

Result<const v1::Node*> pick_node(const v1::Nodes& all, std::string_view name) {
  if (name.starts_with("node/")) name.remove_prefix(5);
  std::vector<std::string> known;
  for (const v1::Node& node : all.nodes()) {
    if (node.name() == name) return &node;
    known.push_back(node.name());
  }
  return not_found(
      fmt::format("there is no node {}.{}", printable(name), did_you_mean(name, known)));
}

std::string document_name(const Struct& document) { return member(document, "metadata", "name"); }

std::string document_version(const Struct& document) { return member(document, "spec", "version"); }

std::string document_id(const Struct& document) {
  const auto kind = document.fields().find("kind");
  const bool is_item = kind != document.fields().end() && kind->second.string_value() == "Item";
  const std::string name = document_name(document);
  return is_item ? name + "@" + document_version(document) : name;
}

Result<std::vector<const Struct*>> pick_documents(const v1::Documents& all, Kind kind,
                                                  std::string_view name) {
  std::vector<const Struct*> found;
  std::vector<std::string> known;
  for (const Struct& document : all.documents()) {
    known.push_back(document_name(document));
    if (known.back() == name || document_id(document) == name) found.push_back(&document);
  }
  if (!found.empty()) return found;
  return not_found(fmt::format("there is no {} {}.{}", singular(kind), printable(name),
                               did_you_mean(name, known)));
}

Error not_about_us(Error error) {
  if (error.code == Code::Unavailable) error.code = Code::Internal;
  return error;
}

std::string instance_path(const model::InstanceKey& key) {
  return client::encoded(model::to_string(key));
}

}  // namespace berth::cli
