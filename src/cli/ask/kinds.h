#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

// What the command line can name: what the control plane observes, and every kind of document that
// it keeps (model/document.h).
namespace berth::cli {

class Kind {
 public:
  static const Kind Instance, Node, Session, Event;
  static const Kind Item, Deployment, Namespace,
      Application;  // of documents, those of which a verb knows what they mean

  explicit constexpr Kind(std::string_view singular) : singular_(singular) {}

  friend constexpr bool operator==(Kind, Kind) = default;

  std::string_view singular() const { return singular_; }

 private:
  std::string_view singular_;  // of a text that lasts
};

inline constexpr Kind Kind::Instance{"instance"};
inline constexpr Kind Kind::Node{"node"};
inline constexpr Kind Kind::Session{"session"};
inline constexpr Kind Kind::Event{"event"};
inline constexpr Kind Kind::Item{"item"};
inline constexpr Kind Kind::Deployment{"deployment"};
inline constexpr Kind Kind::Namespace{"namespace"};
inline constexpr Kind Kind::Application{"application"};

// "instances", "instance", "inst", "nodes", "no", ...; the error lists them and suggests one.
Result<Kind> parse_kind(std::string_view word);
std::string_view singular(Kind kind);          // "instance"
std::string_view plural(Kind kind);            // "instances": also the name of the route
const std::vector<std::string>& kind_words();  // the plurals, for completion
std::string kinds_help();                      // "Kinds: instances (inst, i), ..."

// Of documents.
bool is_document(Kind kind);
std::string_view document_kind(Kind kind);      // "Item"; empty: it is none
bool has_versions(Kind kind);                   // it is named "name@version"
bool has_versions(std::string_view document);   // the same by "Item"
bool has_namespace(std::string_view document);  // it is named "namespace/name"; by "Application"
int rank_of(Kind kind);                         // of several, the higher go first
// What a name means: one without its namespace is in the default one.
std::string id_meant_by(Kind kind, std::string_view name);

bool same_word(std::string_view a, std::string_view b);  // whatever the case

}  // namespace berth::cli
