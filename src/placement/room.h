#pragma once

#include <cstdint>
#include <vector>

#include "model/item.h"
#include "placement/amounts.h"
#include "placement/ledger.h"

namespace berth::placement {

// One of the amounts that an instance needs at a place.
struct Figure {
  std::int64_t has = 0;
  std::int64_t asked = 0;
};

// What an instance of the item would have there. Room of the node and of the runtime's cap are
// figures of their own: freeing one does not help the other.
std::vector<Figure> figures_at(const Ledger& ledger, const model::Item& item, Slot slot,
                               const Amounts& asked);

// Asking for nothing is never short of anything, whatever was kept past the rules.
inline bool is_short(const Figure& figure) { return figure.asked > 0 && figure.has < figure.asked; }

}  // namespace berth::placement
