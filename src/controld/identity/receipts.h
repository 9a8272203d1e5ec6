#pragma once

#include <cstdint>
#include <string>

#include "model/protocol.h"
#include "trust/certificate.h"

namespace berth::controld {

// Seals what agents may show later, and tells whether what they show was sealed here: with a key
// that is derived from the authority's, so it outlives the store. Safe to use from any thread.
class Receipts {
 public:
  Receipts(const trust::Authority& authority, std::string cluster, std::uint64_t life);

  model::Receipt make(const model::NodeId& node, const model::CommandNumber& number) const;
  bool is_genuine(const model::NodeId& node, const model::Receipt& receipt) const;

 private:
  const std::string key_;
  const std::string cluster_;
  const std::uint64_t life_;
};

}  // namespace berth::controld
