#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "control/tables.h"
#include "model/manifest.h"

// The desired state by kinds of documents.
namespace berth::controld {

// Calls `visit(document)` for each document that is kept, kind by kind.
template <class Visit>
void for_each_document(const control::Durable& durable, Visit visit) {
  model::for_each_kept_kind([&]<class D>(std::type_identity<D>) {
    for (const auto& [key, document] : durable.*model::kTableOf<D>.records) visit(document);
  });
}

// Those of a kind: all, or what a name means, which of one that has versions is all of them, or one
// as "name@version"; of one in namespaces "namespace/name".
model::Manifest documents_of(const control::Durable& durable, const model::DocumentKind& kind,
                             std::string_view name = "");

// What a write of the core does to a document.
struct DocumentChange {
  const model::DocumentKind* kind = nullptr;
  std::string id;
  std::optional<model::Document> document;  // nullopt: it is gone
};
// Nullopt: it is not about a document.
std::optional<DocumentChange> document_change(const control::Write& write);

}  // namespace berth::controld
