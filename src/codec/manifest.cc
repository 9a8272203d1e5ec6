#include "codec/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <variant>

#include "base/suggest.h"
#include "codec/describe_node.h"
#include "codec/json_writer.h"
#include "codec/reader.h"
#include "codec/yaml_reader.h"

namespace berth::codec {
namespace {

// Where a document of the manifest came from.
struct Source {
  std::size_t file = 0;
  Tree tree;
};

// What can be said for a document that has errors without inventing further ones: what it is, but
// nothing that contradicts other documents.
struct Harmless {
  void operator()(model::NodeConfig& config) const {
    model::NodeConfig only_named;
    only_named.name = config.name;
    config = only_named;
  }
  void operator()(model::Node& node) const { node.info.partitions = {}; }
  template <DocumentValue D>
  void operator()(D&) const {}
};

template <DocumentValue D>
bool has_identity(const D& document) {
  if constexpr (TraitsOf<D>::kKind.has_versions) {
    if (TraitsOf<D>::version(document).empty()) return false;
  }
  return !model::name_of(document).empty();
}

// What makes a document the same one as another.
using DocumentId = std::pair<std::size_t, std::string>;

DocumentId identity_of(const model::Document& document) {
  return {document.index(), model::id_of(document)};
}

std::string title_of(const model::Document& document) {
  const model::DocumentKind& kind = model::kind_of(document);
  return fmt::format("{} \"{}\"", kind.name,
                     kind.has_namespace ? model::id_of(document) : model::name_of(document));
}

// What the checks need of the stored documents that the new ones do not replace.
model::Manifest outline_of_others(const model::Manifest& stored, const model::Manifest& replacing) {
  std::set<DocumentId> replaced;
  for (const model::Document& document : replacing) replaced.insert(identity_of(document));
  model::Manifest others;
  for (const model::Document& document : stored) {
    if (replaced.contains(identity_of(document))) continue;
    if (const auto* item = std::get_if<model::Item>(&document)) {
      model::Item named;
      named.id = item->id;
      named.version = item->version;
      named.type = item->type;
      named.quotas = item->quotas;
      others.emplace_back(std::move(named));
    } else {
      others.push_back(document);
    }
  }
  return others;
}

model::Manifest stored_part_of(const model::Manifest& all, std::size_t count) {
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count)};
}

// The item that a finding about a document concerns.
std::optional<model::ItemId> item_in(const model::Document& document,
                                     const model::Finding& finding) {
  if (const auto* application = std::get_if<model::Application>(&document)) {
    return application->item;
  }
  const auto* deployment = std::get_if<model::Deployment>(&document);
  if (deployment == nullptr) return std::nullopt;
  for (std::size_t run = 0; run < deployment->run.size(); ++run) {
    if (finding.path.starts_with(fmt::format("spec.run[{}]", run))) {
      return deployment->run[run].item;
    }
  }
  return std::nullopt;
}

// The new document because of which a stored one is no longer right: the item that it is about,
// else the first.
std::size_t culprit_for(const model::Document& broken, const model::Finding& finding,
                        const model::Manifest& documents) {
  const auto wanted = item_in(broken, finding);
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const auto* item = std::get_if<model::Item>(&documents[i]);
    if (item != nullptr && item->id == wanted) return i;
  }
  return 0;
}

std::string why_no_kind(const std::string& word) {
  if (std::ranges::find(model::kKindsToCome, word) != model::kKindsToCome.end()) {
    return fmt::format("kind {} is not supported yet by this version", word);
  }
  std::vector<std::string_view> names;
  for (const model::DocumentKind& kind : model::document_kinds()) names.push_back(kind.name);
  return fmt::format("{} is no kind of document ({}).{}", in_quotes(word), fmt::join(names, ", "),
                     did_you_mean(word, names));
}

// Reads all files into one manifest.
class ManifestReader {
 public:
  void read(std::size_t index, const SourceFile& file);

  // The checks that need all documents. If some document cannot even be identified, others that
  // refer to it would be blamed for it, so they wait until it is corrected.
  void check_together(const model::Manifest& stored);

  // Of those that need only the new ones: nothing is there twice.
  void check_names();

  const Notes& notes() const { return notes_; }
  model::Manifest documents() && { return std::move(documents_); }

 private:
  void read_document(std::size_t file, Tree tree);
  template <DocumentValue D>
  void read_as(std::size_t file, Tree tree);

  void add_finding(std::size_t document, std::string path, std::string what);

  // Nullptr: there is none that can be read, and that is said.
  const model::DocumentKind* kind_of(const Tree& tree);
  void lose(Position at, std::string path, std::string what);

  Notes notes_;
  model::Manifest documents_;
  std::vector<Source> sources_;        // of documents_
  std::set<model::ItemKey> doubtful_;  // items with errors: nobody knows what they are
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
  const model::DocumentKind* kind = kind_of(tree);
  if (kind == nullptr) return;
  model::for_each_kind([&]<class D>(std::type_identity<D>) {
    if (TraitsOf<D>::kKind.name == kind->name) read_as<D>(file, std::move(tree));
  });
}

template <DocumentValue D>
void ManifestReader::read_as(std::size_t file, Tree tree) {
  const std::size_t errors_before = notes_.error_count();
  D document;
  Reader(Form::Manifest, notes_).read_document(tree, document);
  if (notes_.error_count() > errors_before) {
    lost_some_ = lost_some_ || !has_identity(document);
    if constexpr (std::same_as<D, model::Item>) doubtful_.insert(model::key_of(document));
    Harmless{}(document);
  }
  documents_.emplace_back(std::move(document));
  sources_.push_back({file, std::move(tree)});
}

const model::DocumentKind* ManifestReader::kind_of(const Tree& tree) {
  if (tree.kind != Tree::Kind::Map) {
    lose(tree.at, "",
         fmt::format("expected a document (apiVersion, kind, metadata, spec), got {}",
                     what_is(tree)));
    return nullptr;
  }
  const auto key = std::ranges::find(tree.keys, "kind", &Tree::Key::text);
  if (key == tree.keys.end()) {
    lose(tree.at, "kind", "is missing");
    return nullptr;
  }
  const Tree& kind = tree.children[static_cast<std::size_t>(key - tree.keys.begin())];
  const auto* known = model::find_document_kind(kind.text);
  if (known == nullptr) lose(kind.at, "kind", why_no_kind(kind.text));
  return known;
}

void ManifestReader::lose(Position at, std::string path, std::string what) {
  lost_some_ = true;
  notes_.add(Level::Error, at, std::move(path), std::move(what));
}

void ManifestReader::check_together(const model::Manifest& stored) {
  if (lost_some_) return;
  // Stored documents stand first: of two that contradict each other the new one is to blame.
  model::Manifest all = outline_of_others(stored, documents_);
  const std::size_t stored_count = all.size();
  std::ranges::move(documents_, std::back_inserter(all));
  std::vector<model::Finding> findings = model::validate(all);
  std::move(all.begin() + static_cast<std::ptrdiff_t>(stored_count), all.end(), documents_.begin());
  std::optional<std::vector<model::Finding>>
      old_ones;  // of the stored ones alone; rarely asked for
  const auto is_old = [&](const model::Finding& finding) {
    if (!old_ones) old_ones = model::validate(stored_part_of(all, stored_count));
    return std::ranges::find(*old_ones, finding) != old_ones->end();
  };
  for (model::Finding& finding : findings) {
    if (finding.because_of && doubtful_.contains(*finding.because_of)) continue;
    if (finding.document >= stored_count) {
      add_finding(finding.document - stored_count, std::move(finding.path),
                  std::move(finding.what));
    } else if (!documents_.empty() && !is_old(finding)) {
      const model::Document& broken = all[finding.document];
      add_finding(
          culprit_for(broken, finding, documents_), "metadata.name",
          fmt::format("would break {}: {}: {}", title_of(broken), finding.path, finding.what));
    }
  }
}

void ManifestReader::check_names() {
  std::set<DocumentId> seen;
  for (std::size_t i = 0; i < documents_.size(); ++i) {
    const bool is_new = seen.insert(identity_of(documents_[i])).second;
    if (!is_new) add_finding(i, "metadata.name", title_of(documents_[i]) + " is there twice");
  }
}

void ManifestReader::add_finding(std::size_t document, std::string path, std::string what) {
  const Source& source = sources_[document];
  const Position at = locate(source.tree, path);
  if (notes_.has_error_at(source.file, at)) return;
  notes_.set_file(source.file);
  notes_.add(Level::Error, at, std::move(path), std::move(what));
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

ParsedManifest parsed_by(ManifestReader reader, const std::vector<SourceFile>& files) {
  ParsedManifest parsed;
  for (Note& note : reader.notes().sorted()) {
    parsed.diagnostics.push_back(diagnostic_of(std::move(note), files));
  }
  if (parsed.ok()) parsed.documents = std::move(reader).documents();
  return parsed;
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
  return parse_manifests(files, {});
}

ParsedManifest parse_manifests(const std::vector<SourceFile>& files,
                               const model::Manifest& stored) {
  ManifestReader reader;
  for (std::size_t i = 0; i < files.size(); ++i) reader.read(i, files[i]);
  reader.check_together(stored);
  return parsed_by(std::move(reader), files);
}

ParsedManifest parse_each(const std::vector<SourceFile>& files) {
  ManifestReader reader;
  for (std::size_t i = 0; i < files.size(); ++i) reader.read(i, files[i]);
  reader.check_names();
  return parsed_by(std::move(reader), files);
}

std::string to_json(const model::Document& document) {
  return std::visit([](const auto& value) { return write_document(value); }, document);
}

}  // namespace berth::codec
