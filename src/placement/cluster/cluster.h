#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "placement/ask.h"
#include "placement/cluster/node_kinds.h"
#include "placement/cluster/node_rows.h"
#include "placement/cluster/shapes.h"
#include "placement/ledger.h"
#include "placement/pipeline.h"

namespace berth::placement {

// Where an instance of a run goes.
struct Spot {
  std::uint32_t node = 0;
  std::uint16_t runtime = 0;
  std::uint16_t image = 0;

  Slot slot() const { return {node, runtime}; }
  friend bool operator==(const Spot&, const Spot&) = default;
};

Spot spot_of(const Choice& choice);

// The cluster as it stands: its nodes, who holds what of them, and an index by which a place is
// found without asking every node. Its answers are those of the pipeline, to the last tie; what a
// rule says of a node is asked once for all nodes of a kind, and room is compared in columns.
//
// Nodes are known by their position, which stays while nodes are only added or changed.
class Cluster {
 public:
  explicit Cluster(std::vector<SnapshotNode> nodes = {},
                   Ledger::Capacity capacity = Ledger::Capacity::Full);

  const std::vector<SnapshotNode>& nodes() const { return nodes_; }
  const Ledger& ledger() const { return ledger_; }
  std::optional<std::size_t> find(const model::NodeId& id) const;
  std::optional<std::size_t> find_runtime(std::size_t node, const model::RuntimeId& id) const;
  const std::map<model::NodeId, std::size_t>& positions() const { return positions_; }
  // The reference, which also tells why.
  Pipeline pipeline() const { return {nodes_, ledger_, Measuring::Requested, nullptr}; }

  // A new node, or what has become of one. REQUIRES: nothing is reserved on it. Its position.
  std::size_t upsert(SnapshotNode node);
  // Only its use by others has changed.
  void set_system_usage(std::size_t node, const model::Usage& usage);
  // REQUIRES: nothing is reserved anywhere. Positions are others afterwards.
  void forget(const model::NodeId& id);
  // Items, or what is asked for, are no longer where they were.
  void forget_shapes() { shapes_.forget(); }

  void reserve(const Holding& holding);
  void release(const Holding& holding);
  // What an instance holds when it is placed there.
  Holding holding_for(const Ask& request, Slot slot) const;

  // The best place, as Pipeline::choose finds it.
  std::optional<Choice> choose(const Ask& request);
  // The best places of the image, the best first, one of each node, so many at most. REQUIRES: it
  // is neither bound to a runtime nor at home anywhere.
  std::vector<Slot> best_of(const Ask& request, std::uint32_t image, std::size_t count);
  // Whether the node could take it.
  std::optional<Choice> choose_on(const Ask& request, std::size_t node) const;

  // Nodes of one kind differ in nothing but their names and their room.
  KindNumber kind_of(std::size_t node) const { return kind_of_[node]; }
  // Whether a node of this kind could take it, given the right name and enough room.
  bool fits_kind(const Ask& request, std::size_t node) const;

  // Places that many instances which ask alike, one after the other, and gives their places: as
  // many as there is room for. REQUIRES: none is bound to a runtime, at home or failed anywhere.
  std::vector<Spot> place_alike(const Ask& request, std::size_t count);

  // Why choose() has found nothing: the reason of Pipeline::reject, without the nodes' own.
  Reason why_not(const Ask& request);

  // Grows with every change after which another answer is possible.
  std::uint64_t version() const { return version_; }

  // What the index takes beside nodes and ledger.
  std::size_t index_bytes() const;

 private:
  friend class AlikeRun;

  struct Stretch {  // of rows of one priority
    std::size_t begin;
    std::size_t end;
  };

  void order_rows();
  void refresh(std::size_t node);
  NodeRoom room_of(std::size_t node) const;
  void refresh_shared(std::size_t node, const std::string& resource);
  void changed(const Holding& holding);

  Shape& shape_of(const Ask& request);
  void learn_kinds(Shape& shape, const Ask& request);
  void learn_rows(Shape& shape, const Ask& request);
  void learn_row(Shape& shape, const Ask& request, std::size_t row);
  bool lists_all(const Ask& request, std::size_t node) const;
  KindAnswer answer_of(const Ask& request, std::uint32_t image, KindNumber kind) const;
  Amounts asked_on(const Shape& shape, std::size_t node) const;
  std::size_t runtime_on(const Shape& shape, std::uint32_t image, std::size_t node) const {
    return shape.images[image].runtimes[kind_of_[node]];
  }
  bool is_plain(const Shape& shape, std::size_t node) const;
  // Of an image for which only cpu and ram are short; nullopt: it is not as simple as that.
  std::optional<Reason> shortage_of(const Ask& request, const Shape& shape, std::uint32_t image);
  // The rows of the image whose shared resources have a unit left.
  const RowSet& rows_with_shared(const Shape& shape, std::uint32_t image);
  std::optional<Slot> accept(const Ask& request, const Shape& shape, std::uint32_t image,
                             std::size_t row) const;
  std::optional<Slot> choose_image(const Ask& request, const Shape& shape, std::uint32_t image,
                                   const std::vector<Slot>& but);

  std::vector<SnapshotNode> nodes_;
  std::map<model::NodeId, std::size_t> positions_;
  Ledger ledger_;
  NodeKinds kinds_;
  std::vector<KindNumber> kind_of_;

  // Rows in the order in which equals are chosen: priority of the node, then its name.
  NodeRows rows_;
  std::vector<std::uint32_t> node_at_;
  std::vector<std::uint32_t> row_of_;
  std::vector<Stretch> stretches_;
  std::uint64_t order_ = 0;  // how often they were put in order
  bool in_order_ = false;
  std::map<std::string, RowSet> shared_left_;  // by resource: who has one of it
  RowSet scratch_;

  Shapes shapes_;
  std::uint64_t version_ = 0;
};

}  // namespace berth::placement
