#include "codec/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <variant>

#include "base/suggest.h"
#include "codec/describe_node.h"
#include "codec/json_writer.h"
#include "codec/reader.h"
#include "codec/yaml_reader.h"

namespace berth::codec {
namespace {

constexpr std::array kKinds{
    DocumentTraits<model::Item>::kKind, DocumentTraits<model::Deployment>::kKind,
    DocumentTraits<model::NodeConfig>::kKind, DocumentTraits<model::Node>::kKind};
constexpr std::array<std::string_view, 4> kKindsToCome{"Namespace", "Application", "Workflow",
                                                       "EnvOverride"};

// Where a document of the manifest came from.
struct Source {
  std::size_t file = 0;
  Tree tree;
};

// What can be said for a document that has errors without inventing further ones: what it is, but
// nothing that contradicts other documents.
struct Harmless {
  void operator()(model::Item& item) const { item.type = model::ItemType::Component; }
  void operator()(model::Deployment&) const {}
  void operator()(model::NodeConfig& config) const {
    model::NodeConfig only_named;
    only_named.name = config.name;
    config = only_named;
  }
  void operator()(model::Node& node) const { node.info.partitions = {}; }
};

struct HasIdentity {
  bool operator()(const model::Item& item) const {
    return !item.id.empty() && !item.version.empty();
  }
  template <class D>
  bool operator()(const D& document) const {
    return !DocumentTraits<D>::name(document).empty();
  }
};

// Reads all files into one manifest.
class ManifestReader {
 public:
  void read(std::size_t index, const SourceFile& file);

  // The checks that need all documents. If some document cannot even be identified, others that
  // refer to it would be blamed for it, so they wait until it is corrected.
  void check_together();

  const Notes& notes() const { return notes_; }
  model::Manifest documents() && { return std::move(documents_); }

 private:
  void read_document(std::size_t file, Tree tree);
  template <DocumentValue D>
  void read_as(std::size_t file, Tree tree);

  // The kind, if there is one that can be read.
  std::optional<std::string_view> kind_of(const Tree& tree);
  void lose(Position at, std::string path, std::string what);

  Notes notes_;
  model::Manifest documents_;
  std::vector<Source> sources_;  // of documents_
  bool lost_some_ = false;
};

void ManifestReader::read(std::size_t index, const SourceFile& file) {
  notes_.set_file(index);
  YamlFile yaml = read_yaml(file.text);
  const bool is_empty = std::ranges::all_of(yaml.documents, is_null);
  for (Tree& tree : yaml.documents) {
    if (!is_null(tree)) read_document(index, std::move(tree));
  }
  if (yaml.problem) {
    lose(yaml.problem->at, "", std::move(yaml.problem->what));
  } else if (is_empty) {
    notes_.add(Level::Warning, {}, "", "there is no document in this file");
  }
}

void ManifestReader::read_document(std::size_t file, Tree tree) {
  const auto kind = kind_of(tree);
  if (!kind) return;
  if (*kind == DocumentTraits<model::Item>::kKind) {
    read_as<model::Item>(file, std::move(tree));
  } else if (*kind == DocumentTraits<model::Deployment>::kKind) {
    read_as<model::Deployment>(file, std::move(tree));
  } else if (*kind == DocumentTraits<model::NodeConfig>::kKind) {
    read_as<model::NodeConfig>(file, std::move(tree));
  } else {
    read_as<model::Node>(file, std::move(tree));
  }
}

template <DocumentValue D>
void ManifestReader::read_as(std::size_t file, Tree tree) {
  const std::size_t errors_before = notes_.error_count();
  D document;
  Reader(Form::Manifest, notes_).read_document(tree, document);
  if (notes_.error_count() > errors_before) {
    lost_some_ = lost_some_ || !HasIdentity{}(document);
    Harmless{}(document);
  }
  documents_.emplace_back(std::move(document));
  sources_.push_back({file, std::move(tree)});
}

std::optional<std::string_view> ManifestReader::kind_of(const Tree& tree) {
  if (tree.kind != Tree::Kind::Map) {
    lose(tree.at, "",
         fmt::format("expected a document (apiVersion, kind, metadata, spec), got {}",
                     what_is(tree)));
    return std::nullopt;
  }
  const auto key = std::ranges::find(tree.keys, "kind", &Tree::Key::text);
  if (key == tree.keys.end()) {
    lose(tree.at, "kind", "is missing");
    return std::nullopt;
  }
  const Tree& kind = tree.children[static_cast<std::size_t>(key - tree.keys.begin())];
  const auto known = std::ranges::find(kKinds, kind.text);
  if (known != kKinds.end()) return *known;
  if (std::ranges::find(kKindsToCome, kind.text) != kKindsToCome.end()) {
    lose(kind.at, "kind", fmt::format("kind {} is not supported yet by this version", kind.text));
  } else {
    lose(kind.at, "kind",
         fmt::format("{} is no kind of document ({}).{}", in_quotes(kind.text),
                     fmt::join(kKinds, ", "), did_you_mean(kind.text, kKinds)));
  }
  return std::nullopt;
}

void ManifestReader::lose(Position at, std::string path, std::string what) {
  lost_some_ = true;
  notes_.add(Level::Error, at, std::move(path), std::move(what));
}

void ManifestReader::check_together() {
  if (lost_some_) return;
  for (model::Finding& finding : model::validate(documents_)) {
    const Source& source = sources_[finding.document];
    const Position at = locate(source.tree, finding.path);
    if (notes_.has_error_at(source.file, at)) continue;
    notes_.set_file(source.file);
    notes_.add(Level::Error, at, std::move(finding.path), std::move(finding.what));
  }
}

Diagnostic diagnostic_of(Note note, const std::vector<SourceFile>& files) {
  return {
      .level = note.level == Level::Error ? Diagnostic::Level::Error : Diagnostic::Level::Warning,
      .file = files[note.file].name,
      .line = note.at.line,
      .column = note.at.column,
      .path = std::move(note.path),
      .what = std::move(note.what)};
}

}  // namespace

std::string to_string(const Diagnostic& diagnostic) {
  const bool is_error = diagnostic.level == Diagnostic::Level::Error;
  return fmt::format("{}:{}:{}: {}: {}{}{}", diagnostic.file, diagnostic.line, diagnostic.column,
                     is_error ? "error" : "warning", diagnostic.path,
                     diagnostic.path.empty() ? "" : ": ", diagnostic.what);
}

bool ParsedManifest::ok() const {
  return std::ranges::none_of(diagnostics, [](const Diagnostic& diagnostic) {
    return diagnostic.level == Diagnostic::Level::Error;
  });
}

ParsedManifest parse_manifests(const std::vector<SourceFile>& files) {
  ManifestReader reader;
  for (std::size_t i = 0; i < files.size(); ++i) reader.read(i, files[i]);
  reader.check_together();
  ParsedManifest parsed;
  for (Note& note : reader.notes().sorted()) {
    parsed.diagnostics.push_back(diagnostic_of(std::move(note), files));
  }
  if (parsed.ok()) parsed.documents = std::move(reader).documents();
  return parsed;
}

std::string to_json(const model::Document& document) {
  return std::visit([](const auto& value) { return write_document(value); }, document);
}

}  // namespace berth::codec
