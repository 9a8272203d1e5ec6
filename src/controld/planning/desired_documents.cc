#include "controld/planning/desired_documents.h"

namespace berth::controld {

model::Manifest documents_of(const control::Durable& durable, const model::DocumentKind& kind,
                             std::string_view name) {
  model::Manifest selected;
  const std::string meant = model::id_meant_by(kind, name);
  model::for_each_kept_kind([&]<class D>(std::type_identity<D>) {
    if (model::DocumentTraits<D>::kKind.name != kind.name) return;
    for (const auto& [key, document] : durable.*model::kTableOf<D>.records) {
      const bool is_any_version = kind.has_versions && model::name_of(document) == name;
      const bool is_meant = name.empty() || is_any_version || model::id_of(document) == meant;
      if (is_meant) selected.emplace_back(document);
    }
  });
  return selected;
}

std::optional<DocumentChange> document_change(const control::Write& write) {
  std::optional<DocumentChange> change;
  model::for_each_kept_kind([&]<class D>(std::type_identity<D>) {
    if (control::table_of<D>() != write.table) return;
    change = {model::find_document_kind(model::DocumentTraits<D>::kKind.name), write.key, {}};
    if (write.record) change->document = write.record->get<D>();
  });
  return change;
}

}  // namespace berth::controld
