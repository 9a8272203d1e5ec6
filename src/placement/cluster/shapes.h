#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "placement/amounts.h"
#include "placement/ask.h"
#include "placement/cluster/node_kinds.h"
#include "placement/cluster/node_rows.h"

namespace berth::placement {

// What nodes of a kind say to an image, whatever room they have: which of their runtimes is the
// best of those that no rule turns down.
using KindAnswer = std::uint16_t;
constexpr KindAnswer kNoRuntime = 0xffff;

struct ShapeImage {
  std::vector<KindAnswer> runtimes;  // by kind
  RowSet rows;                       // of the nodes whose kind fits
};

// What instances ask for that ask alike: an item, labels and names of nodes.
struct Shape {
  const model::Item* item = nullptr;
  std::vector<std::string> labels;
  std::vector<model::NodeId> nodes;

  std::vector<ShapeImage> images;
  std::uint64_t rows_of = 0;              // the order of rows that they are about; 0: none yet
  std::vector<std::uint32_t> stale_rows;  // whose nodes are others by now
  std::optional<Amounts> asked;           // where that is the same of all nodes
  Need least;                             // that any node is asked for
  bool asks_for_disk = false;
  bool takes_shared = false;
};

bool is_shape_of(const Shape& shape, const Ask& request);

// The shapes that were asked for lately, the latest first. Items are known by where they are: when
// documents change all shapes have to be forgotten.
class Shapes {
 public:
  Shape& of(const Ask& request);
  void forget();

  auto begin() { return shapes_.begin(); }
  auto end() { return shapes_.end(); }
  std::size_t bytes() const;

 private:
  using Place = std::list<Shape>::iterator;

  void forget_oldest();

  std::list<Shape> shapes_;
  std::multimap<std::size_t, Place> by_hash_;  // which tells only where to look
};

}  // namespace berth::placement
