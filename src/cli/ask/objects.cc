#include "cli/ask/objects.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/suggest.h"
#include "cli/show/table.h"
#include "client/path.h"
#include "codec/instance_name.h"
#include "model/application.h"

namespace berth::cli {
namespace {

using google::protobuf::Struct;

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

bool is_away(const v1::Node& node) {
  return node.liveness() == "unreachable" || node.liveness() == "lost";
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

std::string document_namespace(const Struct& document) {
  const std::string given = member(document, "metadata", "namespace");
  return given.empty() ? model::Namespace::kDefault : given;
}

std::string document_id(const Struct& document) {
  const auto found = document.fields().find("kind");
  const std::string kind = found == document.fields().end() ? "" : found->second.string_value();
  const std::string name = document_name(document);
  if (has_versions(kind)) return name + "@" + document_version(document);
  return has_namespace(kind) ? document_namespace(document) + "/" + name : name;
}

Result<std::vector<const Struct*>> pick_documents(const v1::Documents& all, Kind kind,
                                                  std::string_view name) {
  std::vector<const Struct*> found;
  std::vector<std::string> known;
  const std::string meant = id_meant_by(kind, name);
  for (const Struct& document : all.documents()) {
    const std::string id = document_id(document);
    known.push_back(has_versions(kind) ? document_name(document) : id);
    if (known.back() == meant || id == meant) found.push_back(&document);
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
