#include "placement/known_failures.h"

#include <variant>

namespace berth::placement {
namespace {

bool is_among(const model::Manifest& documents, const model::Item& item) {
  for (const model::Document& document : documents) {
    const auto* known = std::get_if<model::Item>(&document);
    if (known != nullptr && *known == item) return true;
  }
  return false;
}

void ask_for(KnownFailures& failures, const model::RunRequest& run) {
  failures.versions.erase({run.item, run.subject});
  std::erase_if(failures.avoided, [&](const auto& entry) {
    return entry.first.item == run.item && entry.first.subject == run.subject;
  });
}

void correct(KnownFailures& failures, const model::Item& item) {
  std::erase_if(failures.versions, [&](const auto& entry) {
    return entry.first.first == item.id && entry.second.failed == item.version;
  });
}

}  // namespace

void try_again(KnownFailures& failures, const model::Manifest& before,
               const model::Manifest& applied) {
  for (const model::Document& document : applied) {
    if (const auto* deployment = std::get_if<model::Deployment>(&document)) {
      for (const model::RunRequest& run : deployment->run) ask_for(failures, run);
    } else if (const auto* item = std::get_if<model::Item>(&document)) {
      if (!is_among(before, *item)) correct(failures, *item);
    }
  }
}

void respect(Snapshot& snapshot, const KnownFailures& failures) {
  for (const auto& [request, versions] : failures.versions) {
    snapshot.versions.emplace(request, versions.instead);
  }
  snapshot.avoided = failures.avoided;
}

}  // namespace berth::placement
