#include "model/document.h"

#include <algorithm>
#include <vector>

namespace berth::model {

std::span<const DocumentKind> document_kinds() {
  static const std::vector<DocumentKind> kinds = [] {
    std::vector<DocumentKind> all;
    for_each_kind([&]<class D>(std::type_identity<D>) { all.push_back(DocumentTraits<D>::kKind); });
    return all;
  }();
  return kinds;
}

const DocumentKind* find_document_kind(std::string_view name) {
  const auto found = std::ranges::find(document_kinds(), name, &DocumentKind::name);
  return found == document_kinds().end() ? nullptr : &*found;
}

const DocumentKind& kind_of(const Document& document) { return document_kinds()[document.index()]; }

const std::string& name_of(const Document& document) {
  return std::visit([](const auto& value) -> const std::string& { return name_of(value); },
                    document);
}

std::string id_of(const Document& document) {
  return std::visit([](const auto& value) { return id_of(value); }, document);
}

std::string id_meant_by(const DocumentKind& kind, std::string_view name) {
  const bool is_short = kind.has_namespace && name.find('/') == std::string_view::npos;
  return (is_short ? std::string(Namespace::kDefault) + "/" : "") + std::string(name);
}

}  // namespace berth::model
