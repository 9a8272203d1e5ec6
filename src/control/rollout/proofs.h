#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "model/protocol.h"
#include "model/records.h"

// Whether what runs has shown that it is well: see docs/adr/0032.
namespace berth::control {

struct Context;

// A run that is up, and whether it has shown that it is well.
struct Proof {
  model::CommandNumber order;  // that it is by
  std::uint32_t restarts = 0;
  Time active_since;
  bool done = false;
};

// How long one without a health check must be active.
Duration min_healthy_of(const Context& context, const model::InstanceRecord& record);

// Looks at what runs of the instance now. Every restart, and every new order to its node, begins
// anew; so does what cannot be heard of.
void look_at_proof(Context& context, const model::InstanceRecord* record,
                   std::optional<Proof>& proof);

}  // namespace berth::control
