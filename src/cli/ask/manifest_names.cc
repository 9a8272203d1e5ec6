#include "cli/ask/manifest_names.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "cli/ask/objects.h"
#include "cli/show/json_text.h"
#include "codec/yaml_reader.h"
#include "model/application.h"

namespace berth::cli {
namespace {

using codec::Tree;

// A file of this size stays well within what the reader takes.
constexpr std::size_t kPieceBytes = std::size_t{2} << 20;

const Tree* member(const Tree* tree, std::string_view name) {
  if (tree == nullptr || tree->kind != Tree::Kind::Map) return nullptr;
  const auto key = std::ranges::find(tree->keys, name, &Tree::Key::text);
  if (key == tree->keys.end()) return nullptr;
  return &tree->children[static_cast<std::size_t>(key - tree->keys.begin())];
}

std::string text_of(const Tree* tree) {
  return tree == nullptr || tree->kind != Tree::Kind::Scalar ? "" : tree->text;
}

DocumentName document_name_of(const Tree& document) {
  DocumentName name{text_of(member(&document, "kind")),
                    text_of(member(member(&document, "metadata"), "name"))};
  if (has_versions(name.kind)) {
    name.name += "@" + text_of(member(member(&document, "spec"), "version"));
  }
  if (has_namespace(name.kind)) {
    const std::string space = text_of(member(member(&document, "metadata"), "namespace"));
    name.name = (space.empty() ? model::Namespace::kDefault : space) + "/" + name.name;
  }
  return name;
}

DocumentName document_name_of(const google::protobuf::Struct& document) {
  const auto kind = document.fields().find("kind");
  return {kind == document.fields().end() ? "" : kind->second.string_value(),
          document_id(document)};
}

}  // namespace

std::vector<DocumentName> document_names(const codec::SourceFile& file) {
  std::vector<DocumentName> names;
  for (const Tree& document : codec::read_yaml(file.text).documents) {
    DocumentName name = document_name_of(document);
    if (!name.kind.empty() && !name.name.empty()) names.push_back(std::move(name));
  }
  return names;
}

std::vector<codec::SourceFile> overlaid(const v1::Cluster& cluster,
                                        std::vector<codec::SourceFile> files) {
  std::set<DocumentName> replaced;
  for (const codec::SourceFile& file : files) {
    for (DocumentName& name : document_names(file)) replaced.insert(std::move(name));
  }
  std::vector<codec::SourceFile> all;
  for (const google::protobuf::Struct& document : cluster.documents()) {
    if (replaced.contains(document_name_of(document))) continue;
    if (all.empty() || all.back().text.size() > kPieceBytes) all.push_back({"<cluster>", ""});
    all.back().text += "---\n" + json_line(json_of(document));
  }
  std::ranges::move(files, std::back_inserter(all));
  return all;
}

}  // namespace berth::cli
