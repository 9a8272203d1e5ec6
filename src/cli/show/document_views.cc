#include "cli/show/document_views.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "cli/ask/condition.h"
#include "cli/ask/objects.h"
#include "model/application.h"

namespace berth::cli {
namespace {

using google::protobuf::Struct;
using Documents = std::vector<const Struct*>;

const google::protobuf::Value* member_of(const Struct& object, const std::string& name) {
  const auto found = object.fields().find(name);
  return found == object.fields().end() ? nullptr : &found->second;
}

Struct spec_of(const Struct& document) {
  const auto* spec = member_of(document, "spec");
  return spec == nullptr ? Struct() : spec->struct_value();
}

std::string text_of(const Struct& object, const std::string& name) {
  const auto* value = member_of(object, name);
  if (value == nullptr) return "";
  if (value->has_number_value()) return fmt::format("{}", value->number_value());
  return value->string_value();
}

std::string list_of(const Struct& object, const std::string& name) {
  std::vector<std::string> words;
  if (const auto* value = member_of(object, name)) {
    for (const auto& entry : value->list_value().values()) words.push_back(entry.string_value());
  }
  return fmt::format("{}", fmt::join(words, ","));
}

std::string runs_cell_of(const Struct& spec) {
  std::vector<std::string> runs;
  const auto* list = member_of(spec, "run");
  if (list == nullptr) return "";
  for (const auto& entry : list->list_value().values()) {
    const std::string count = text_of(entry.struct_value(), "instances");
    const std::string times = count.empty() || count == "1" ? "" : " x" + count;
    runs.push_back(text_of(entry.struct_value(), "item") + times);
  }
  return fmt::format("{}", fmt::join(runs, ", "));
}

std::string match_of(const Struct& spec) {
  const auto* match = member_of(spec, "match");
  if (match == nullptr) return "every node";
  const std::string node = text_of(match->struct_value(), "node");
  return node.empty() ? "type " + text_of(match->struct_value(), "type") : "node " + node;
}

std::string image_kinds_of(const Struct& spec) {
  const auto* images = member_of(spec, "images");
  return images == nullptr ? "" : std::to_string(images->list_value().values_size());
}

std::string or_default(std::string text, const std::string& otherwise) {
  return text.empty() ? otherwise : text;
}

Table items_table(const Documents& documents) {
  Table table({{"ITEM"}, {"VERSION"}, {"TYPE"}, {"IMAGES", Align::Right}});
  for (const Struct* document : documents) {
    const Struct spec = spec_of(*document);
    table.add({{document_name(*document)},
               {document_version(*document)},
               {or_default(text_of(spec, "type"), "service")},
               {image_kinds_of(spec)}});
  }
  return table;
}

Table deployments_table(const Documents& documents) {
  Table table({{"DEPLOYMENT"}, {.head = "RUNS", .wraps = true}});
  for (const Struct* document : documents) {
    table.add({{document_name(*document)}, {runs_cell_of(spec_of(*document))}});
  }
  return table;
}

Table configs_table(const Documents& documents) {
  Table table(
      {{"NODECONFIG"}, {"FOR"}, {"PRIORITY", Align::Right}, {.head = "LABELS", .wraps = true}});
  for (const Struct* document : documents) {
    const Struct spec = spec_of(*document);
    table.add({{document_name(*document)},
               {match_of(spec)},
               {or_default(text_of(spec, "priority"), "0")},
               {list_of(spec, "labels")}});
  }
  return table;
}

std::string or_any(std::string text) { return text.empty() ? "*" : text; }

std::vector<Struct> objects_of(const Struct& object, const std::string& name) {
  std::vector<Struct> objects;
  if (const auto* value = member_of(object, name)) {
    for (const auto& entry : value->list_value().values()) objects.push_back(entry.struct_value());
  }
  return objects;
}

// "LEVEL=debug for 59m"
std::string variable_text(const Struct& variable) {
  const std::string expires = text_of(variable, "expires");
  return fmt::format("{}={}{}{}", text_of(variable, "name"), text_of(variable, "value"),
                     expires.empty() ? "" : " for ", expires);
}

// One line per entry.
Table overrides_table(const Documents& documents) {
  Table table({{"ENVOVERRIDE"}, {"FOR"}, {.head = "VARIABLES", .wraps = true}});
  for (const Struct* document : documents) {
    for (const Struct& entry : objects_of(spec_of(*document), "entries")) {
      std::vector<std::string> variables;
      for (const Struct& variable : objects_of(entry, "variables")) {
        variables.push_back(variable_text(variable));
      }
      table.add({{document_name(*document)},
                 {fmt::format("{}/{}/{}", or_any(text_of(entry, "item")),
                              or_any(text_of(entry, "subject")), or_any(text_of(entry, "index")))},
                 {fmt::format("{}", fmt::join(variables, ", "))}});
    }
  }
  return table;
}

Table subjects_table(const Documents& documents) {
  Table table({{"SUBJECT"}, {"PRESENT"}});
  for (const Struct* document : documents) {
    const Struct spec = spec_of(*document);
    const auto* said = member_of(spec, "present");
    const bool present = said == nullptr || said->bool_value();
    table.add({{document_name(*document)},
               {present ? "yes" : "no", present ? Tone::Good : Tone::Warning}});
  }
  return table;
}

Struct object_of(const Struct& object, const std::string& name) {
  const auto* value = member_of(object, name);
  return value == nullptr ? Struct() : value->struct_value();
}

// Of an application without any: nothing is there.
v1::Pool pool_of(const Struct& document, const v1::Documents& all) {
  for (const v1::Pool& pool : all.pools()) {
    const bool is_its = pool.namespace_() == document_namespace(document) &&
                        pool.application() == document_name(document);
    if (is_its) return pool;
  }
  return {};
}

Table applications_by_policy(const Documents& documents) {
  return applications_table(documents, {});
}

Table names_table(Kind kind, const Documents& documents) {
  std::string title(singular(kind));
  for (char& c : title) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  Table table({{title}});
  for (const Struct* document : documents) table.add({{document_id(*document)}});
  return table;
}

std::vector<std::string> item_itself(const Struct& item) { return {document_name(item)}; }

std::vector<std::string> runs_by_name(const Struct& deployment) {
  std::vector<std::string> names;
  for (const Run& run : runs_of(deployment)) {
    names.push_back(run.item.value() + "/" + run.subject.value());
  }
  return names;
}

std::vector<std::string> pool_by_name(const Struct& application) {
  return {model::kPoolMark + document_id(application)};
}

struct DocumentView {
  std::string_view kind;  // in the singular
  Table (*table)(const Documents& documents) = nullptr;
  std::vector<std::string> (*instances)(const Struct& document) = nullptr;
};

constexpr std::array kViews{
    DocumentView{"item", items_table, item_itself},
    DocumentView{"deployment", deployments_table, runs_by_name},
    DocumentView{"nodeconfig", configs_table},
    DocumentView{"envoverride", overrides_table},
    DocumentView{"subject", subjects_table},
    DocumentView{"application", applications_by_policy, pool_by_name},
};

DocumentView view_of(Kind kind) {
  const auto found = std::ranges::find(kViews, singular(kind), &DocumentView::kind);
  return found == kViews.end() ? DocumentView{} : *found;
}

}  // namespace

Table documents_table(Kind kind, const Documents& documents) {
  const DocumentView view = view_of(kind);
  return view.table == nullptr ? names_table(kind, documents) : view.table(documents);
}

Table applications_table(const Documents& documents, const v1::Documents& all) {
  const model::ScalingPolicy left_out;
  Table table({{"NAMESPACE"},
               {"NAME"},
               {"ITEM", Align::Left, 1},
               {"VERSION", Align::Left, 2},
               {"MIN", Align::Right},
               {"MAX", Align::Right},
               {"READY", Align::Right},
               {"PENDING", Align::Right},
               {"STANDBY", Align::Right},
               {"ACTIVE", Align::Right},
               {"TERMINATING", Align::Right, 3},
               {"WAITING", Align::Right}});
  for (const Struct* document : documents) {
    const Struct spec = spec_of(*document);
    const Struct scaling = object_of(spec, "scaling");
    const v1::Pool pool = pool_of(*document, all);
    // Who knows of no pools at all says nothing of them.
    const auto count = [&](std::uint32_t number) {
      return Cell{all.pools().empty() ? "" : std::to_string(number)};
    };
    table.add({{document_namespace(*document)},
               {document_name(*document)},
               {text_of(spec, "item")},
               {text_of(spec, "version")},
               {or_default(text_of(scaling, "minimum"), std::to_string(left_out.minimum))},
               {or_default(text_of(scaling, "maximum"), std::to_string(left_out.maximum))},
               count(pool.ready()),
               count(pool.pending()),
               count(pool.standby()),
               count(pool.active()),
               count(pool.terminating()),
               count(pool.waiting())});
  }
  return table;
}

std::vector<std::string> instances_meant_by(Kind kind, const Struct& document) {
  const DocumentView view = view_of(kind);
  return view.instances == nullptr ? std::vector<std::string>{} : view.instances(document);
}

}  // namespace berth::cli
