#include "control/network/names.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace berth::control {
namespace {

constexpr std::size_t kLabelMax = 63;

char in_label(char letter) {
  if (letter >= 'A' && letter <= 'Z') return static_cast<char>(letter - 'A' + 'a');
  const bool plain = (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9');
  return plain ? letter : '-';
}

// Label by label; what stands between two dots that follow each other is no label.
std::string host_name(std::string_view host) {
  std::string name;
  while (!host.empty()) {
    const auto dot = std::min(host.find('.'), host.size());
    if (dot > 0) name += (name.empty() ? "" : ".") + dns_label(host.substr(0, dot));
    host.remove_prefix(std::min(dot + 1, host.size()));
  }
  return name;
}

void add(std::vector<Name>& names, Name name) {
  if (std::ranges::find(names, name.text, &Name::text) == names.end()) {
    names.push_back(std::move(name));
  }
}

}  // namespace

std::string to_string(const Claimant& claimant) {
  const std::string item = "item " + claimant.item.value();
  return claimant.subject ? item + " for subject " + claimant.subject->value() : item;
}

std::string dns_label(std::string_view id) {
  std::string label(id.substr(0, kLabelMax));
  std::ranges::transform(label, label.begin(), in_label);
  return label;
}

std::vector<Name> names_of(const model::Item& item, const model::InstanceKey& key) {
  const std::string of_item = dns_label(key.item.value());
  const std::string of_subject = dns_label(key.subject.value()) + "." + of_item;
  const Claimant all{key.item, std::nullopt};
  const Claimant some{key.item, key.subject};
  std::vector<Name> names{
      {fmt::format("{}.{}", key.index, of_subject), some}, {of_subject, some}, {of_item, all}};
  for (const std::string& host : item.hosts) add(names, {host_name(host), all});
  return names;
}

bool NameClaims::claim(const Name& name) {
  Claim& claim = claims_.try_emplace(name.text, Claim{name.claimant, 0}).first->second;
  if (claim.claimant != name.claimant) return false;
  ++claim.users;
  return true;
}

void NameClaims::release(const Name& name) {
  const auto claim = claims_.find(name.text);
  CHECK(claim != claims_.end(), "only what was claimed is released");
  if (--claim->second.users == 0) claims_.erase(claim);
}

const Claimant* NameClaims::find(const std::string& name) const {
  const auto claim = claims_.find(name);
  return claim == claims_.end() ? nullptr : &claim->second.claimant;
}

}  // namespace berth::control
