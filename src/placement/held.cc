#include "placement/held.h"

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

void ask_for(Held& held, const model::RunRequest& run) {
  held.versions.erase({run.item, run.subject});
  std::erase_if(held.avoided, [&](const auto& entry) {
    return entry.first.item == run.item && entry.first.subject == run.subject;
  });
}

void correct(Held& held, const model::Item& item) {
  std::erase_if(held.versions, [&](const auto& entry) {
    return entry.first.first == item.id && entry.second.failed == item.version;
  });
}

}  // namespace

void try_again(Held& held, const model::Manifest& before, const model::Manifest& applied) {
  for (const model::Document& document : applied) {
    if (const auto* deployment = std::get_if<model::Deployment>(&document)) {
      for (const model::RunRequest& run : deployment->run) ask_for(held, run);
    } else if (const auto* item = std::get_if<model::Item>(&document)) {
      if (!is_among(before, *item)) correct(held, *item);
    }
  }
}

void hold(Snapshot& snapshot, const Held& held) {
  for (const auto& [request, versions] : held.versions) {
    snapshot.versions.emplace(request, versions.instead);
  }
  snapshot.avoided = held.avoided;
}

}  // namespace berth::placement
