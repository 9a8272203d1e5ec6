#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "model/application.h"
#include "model/deployment.h"
#include "model/item.h"
#include "model/node.h"
#include "model/override.h"

// The registry of the kinds of documents. A kind is a type among the alternatives of `Document` and
// its DocumentTraits, both here; reading and writing, the schema, routes, lists, topics, and the
// words and completion of the command line all follow from these.
namespace berth::model {

// How a kind is called, wherever it is named, and what is done with its documents.
struct DocumentKind {
  std::string_view name;                         // "NodeConfig": in manifests and calls
  std::string_view singular;                     // "nodeconfig": also before names, "nodeconfig/n1"
  std::string_view plural;                       // "nodeconfigs": also its route and its topic
  std::array<std::string_view, 3> shorter = {};  // what people may type instead
  bool has_versions = false;                     // name and version make a document: "web@1.0.0"
  bool has_namespace = false;                    // namespace and name make a document: "games/echo"
  bool has_spec = true;                          // else its name says it all
  bool is_kept = true;  // by the control plane; else it only describes clusters for offline plans
  int rank = 0;         // a kind refers to lower ones only: of several, the higher go first
};

template <class D>
struct DocumentTraits;

template <>
struct DocumentTraits<Item> {
  static constexpr DocumentKind kKind{.name = "Item",
                                      .singular = "item",
                                      .plural = "items",
                                      .shorter = {"it"},
                                      .has_versions = true};
  static auto& name(auto& item) { return item.id; }
  static auto& version(auto& item) { return item.version; }
};
template <>
struct DocumentTraits<Deployment> {
  static constexpr DocumentKind kKind{.name = "Deployment",
                                      .singular = "deployment",
                                      .plural = "deployments",
                                      .shorter = {"deploy", "dep", "d"},
                                      .rank = 2};
  static auto& name(auto& deployment) { return deployment.name; }
};
template <>
struct DocumentTraits<NodeConfig> {
  static constexpr DocumentKind kKind{.name = "NodeConfig",
                                      .singular = "nodeconfig",
                                      .plural = "nodeconfigs",
                                      .shorter = {"nc"},
                                      .rank = 1};
  static auto& name(auto& config) { return config.name; }
};
template <>
struct DocumentTraits<Node> {
  static constexpr DocumentKind kKind{
      .name = "Node", .singular = "node", .plural = "nodes", .is_kept = false};
  static auto& name(auto& node) { return node.id; }
};
template <>
struct DocumentTraits<EnvOverride> {
  static constexpr DocumentKind kKind{.name = "EnvOverride",
                                      .singular = "envoverride",
                                      .plural = "envoverrides",
                                      .shorter = {"override", "eo"}};
  static auto& name(auto& override) { return override.name; }
};
template <>
struct DocumentTraits<Subject> {
  static constexpr DocumentKind kKind{
      .name = "Subject", .singular = "subject", .plural = "subjects", .shorter = {"su"}};
  static auto& name(auto& subject) { return subject.id; }
};
template <>
struct DocumentTraits<Namespace> {
  static constexpr DocumentKind kKind{.name = "Namespace",
                                      .singular = "namespace",
                                      .plural = "namespaces",
                                      .shorter = {"ns"},
                                      .has_spec = false};
  static auto& name(auto& space) { return space.name; }
};
template <>
struct DocumentTraits<Application> {
  static constexpr DocumentKind kKind{.name = "Application",
                                      .singular = "application",
                                      .plural = "applications",
                                      .shorter = {"app"},
                                      .has_namespace = true,
                                      .rank = 2};
  static auto& name(auto& application) { return application.name; }
  static auto& ns(auto& application) { return application.ns; }
};

// In the order in which they are listed everywhere.
using Document =
    std::variant<Item, Deployment, NodeConfig, Node, EnvOverride, Subject, Namespace, Application>;

// Known by name, so that who writes one is told that it is too early and not that it is wrong.
inline constexpr std::array<std::string_view, 1> kKindsToCome{"Workflow"};

// In the order of `Document`.
std::span<const DocumentKind> document_kinds();

// By the name in manifests; nullptr: there is none.
const DocumentKind* find_document_kind(std::string_view name);

template <class T>
concept DocumentValue = requires {
  DocumentTraits<std::remove_const_t<T>>::kKind;
};

inline const std::string& text_of_name(const std::string& name) { return name; }
template <class Tag>
const std::string& text_of_name(const Id<Tag>& id) {
  return id.value();
}

// metadata.name.
template <DocumentValue D>
const std::string& name_of(const D& document) {
  return text_of_name(DocumentTraits<D>::name(document));
}

// What makes it this one among those of its kind: "base", "web@1.0.0", "games/echo".
template <DocumentValue D>
std::string id_of(const D& document) {
  if constexpr (DocumentTraits<D>::kKind.has_versions) {
    return name_of(document) + "@" + DocumentTraits<D>::version(document);
  } else if constexpr (DocumentTraits<D>::kKind.has_namespace) {
    return DocumentTraits<D>::ns(document) + "/" + name_of(document);
  } else {
    return name_of(document);
  }
}

const DocumentKind& kind_of(const Document& document);
const std::string& name_of(const Document& document);
std::string id_of(const Document& document);

// What a name that somebody has given means: one without its namespace is in the default one.
std::string id_meant_by(const DocumentKind& kind, std::string_view name);

// Calls `visit(std::type_identity<D>{})` for each kind, in order.
template <class Visit>
void for_each_kind(Visit visit) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (visit(std::type_identity<std::variant_alternative_t<I, Document>>{}), ...);
  }
  (std::make_index_sequence<std::variant_size_v<Document>>{});
}

// The same for those that the control plane keeps.
template <class Visit>
void for_each_kept_kind(Visit visit) {
  for_each_kind([&]<class D>(std::type_identity<D> kind) {
    if constexpr (DocumentTraits<D>::kKind.is_kept) visit(kind);
  });
}

}  // namespace berth::model
