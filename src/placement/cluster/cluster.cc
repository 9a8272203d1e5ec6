#include "placement/cluster/cluster.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "placement/asked.h"

namespace berth::placement {

Spot spot_of(const Choice& choice) {
  return {static_cast<std::uint32_t>(choice.slot.node),
          static_cast<std::uint16_t>(choice.slot.runtime),
          static_cast<std::uint16_t>(choice.image)};
}

Cluster::Cluster(std::vector<SnapshotNode> nodes, Ledger::Capacity capacity)
    : nodes_(std::move(nodes)), ledger_(nodes_, capacity) {
  kind_of_.reserve(nodes_.size());
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    positions_.emplace(nodes_[node].id, node);
    kind_of_.push_back(kinds_.number_of(nodes_[node]));
  }
}

std::optional<std::size_t> Cluster::find(const model::NodeId& id) const {
  const auto found = positions_.find(id);
  return found == positions_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::size_t> Cluster::find_runtime(std::size_t node,
                                                 const model::RuntimeId& id) const {
  const auto& runtimes = nodes_[node].info->runtimes;
  const auto found = std::ranges::find(runtimes, id, &model::Runtime::id);
  if (found == runtimes.end()) return std::nullopt;
  return static_cast<std::size_t>(found - runtimes.begin());
}

std::size_t Cluster::upsert(SnapshotNode node) {
  ++version_;
  const auto [entry, is_new] = positions_.try_emplace(node.id, nodes_.size());
  const std::size_t position = entry->second;
  ledger_.replace(position, node);
  const KindNumber kind = kinds_.number_of(node);
  if (is_new) {
    nodes_.push_back(std::move(node));
    kind_of_.push_back(kind);
    in_order_ = false;
    return position;
  }
  const bool moves = nodes_[position].settings.priority != node.settings.priority;
  nodes_[position] = std::move(node);
  kind_of_[position] = kind;
  if (moves) in_order_ = false;
  if (!in_order_) return position;
  refresh(position);
  for (auto& [resource, rows] : shared_left_) refresh_shared(position, resource);
  for (const model::SharedResource& shared : nodes_[position].info->shared_resources) {
    if (!shared_left_.contains(shared.name)) in_order_ = false;
  }
  // What it says to each shape is asked when that is needed.
  for (Shape& shape : shapes_) {
    if (shape.stale_rows.size() > nodes_.size()) shape.rows_of = 0;
    if (shape.rows_of == order_) shape.stale_rows.push_back(row_of_[position]);
  }
  return position;
}

void Cluster::set_system_usage(std::size_t node, const model::Usage& usage) {
  ++version_;
  nodes_[node].system_usage = usage;
  ledger_.set_system_usage(node, usage);
  if (in_order_) refresh(node);
}

void Cluster::forget(const model::NodeId& id) {
  std::vector<SnapshotNode> rest = std::move(nodes_);
  std::erase_if(rest, [&](const SnapshotNode& node) { return node.id == id; });
  const std::uint64_t version = version_ + 1;
  const std::uint64_t order = order_;
  *this = Cluster(std::move(rest));
  version_ = version;
  order_ = order;
}

// Names are compared here and nowhere else.
void Cluster::order_rows() {
  in_order_ = true;
  ++order_;
  node_at_.resize(nodes_.size());
  std::iota(node_at_.begin(), node_at_.end(), 0);
  std::ranges::sort(node_at_, [this](std::uint32_t a, std::uint32_t b) {
    const std::int64_t first = nodes_[a].settings.priority;
    const std::int64_t second = nodes_[b].settings.priority;
    return first != second ? first > second : nodes_[a].id < nodes_[b].id;
  });
  row_of_.resize(nodes_.size());
  NodeRoom largest;
  stretches_.clear();
  for (std::size_t row = 0; row < node_at_.size(); ++row) {
    const SnapshotNode& node = nodes_[node_at_[row]];
    row_of_[node_at_[row]] = static_cast<std::uint32_t>(row);
    largest.cpu = std::max(largest.cpu, node.info->capacity.cpu.count());
    largest.ram = std::max(largest.ram, node.info->capacity.ram.count());
    const bool goes_on =
        row > 0 && nodes_[node_at_[row - 1]].settings.priority == node.settings.priority;
    if (!goes_on) stretches_.push_back({row, row});
    stretches_.back().end = row + 1;
  }
  rows_ = NodeRows(nodes_.size(), largest);
  shared_left_.clear();
  const std::size_t words = (nodes_.size() + 63) / 64;
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    refresh(node);
    for (const model::SharedResource& shared : nodes_[node].info->shared_resources) {
      shared_left_.try_emplace(shared.name, words, 0);
      refresh_shared(node, shared.name);
    }
  }
}

NodeRoom Cluster::room_of(std::size_t node) const {
  const std::int64_t cpu =
      std::max<std::int64_t>(ledger_.node_cpu_left(node, SystemUsage::Counted).count(), 0);
  const std::int64_t ram =
      std::max<std::int64_t>(ledger_.node_ram_left(node, SystemUsage::Counted).count(), 0);
  NodeRoom room{.cpu = cpu, .ram = ram, .cpu_max = cpu, .ram_max = ram};
  if (!kinds_[kind_of_[node]].has_runtime_limits) return room;
  room.cpu_max = room.ram_max = -1;
  for (std::size_t runtime = 0; runtime < nodes_[node].info->runtimes.size(); ++runtime) {
    const Slot slot{node, runtime};
    if (ledger_.instances_left(slot).value_or(1) < 1) continue;
    const auto within = [](std::int64_t left, const auto& cap) {
      return cap ? std::clamp<std::int64_t>(cap->count(), 0, left) : left;
    };
    room.cpu_max = std::max(room.cpu_max, within(cpu, ledger_.runtime_cpu_left(slot)));
    room.ram_max = std::max(room.ram_max, within(ram, ledger_.runtime_ram_left(slot)));
  }
  return room;
}

void Cluster::refresh(std::size_t node) { rows_.set(row_of_[node], room_of(node)); }

void Cluster::refresh_shared(std::size_t node, const std::string& resource) {
  set_row(shared_left_.at(resource), row_of_[node],
          ledger_.shared_left(node, resource).value_or(1) >= 1);
}

void Cluster::changed(const Holding& holding) {
  ++version_;
  if (!in_order_) return;
  refresh(holding.node);
  for (const std::string& resource : holding.shared_resources) {
    if (shared_left_.contains(resource)) refresh_shared(holding.node, resource);
  }
}

void Cluster::reserve(const Holding& holding) {
  ledger_.reserve(holding);
  changed(holding);
}

void Cluster::release(const Holding& holding) {
  ledger_.release(holding);
  changed(holding);
}

Holding Cluster::holding_for(const Ask& request, Slot slot) const {
  const SnapshotNode& node = nodes_[slot.node];
  return {.node = slot.node,
          .runtime = slot.runtime,
          .amounts = asked_of(*request.item, node.info->capacity, node.settings),
          .shared_resources = taken_resources(*request.item)};
}

// The first of the best types, then the smallest name, that no rule about kinds turns down.
KindAnswer Cluster::answer_of(const Ask& request, std::uint32_t image, KindNumber kind) const {
  const SnapshotNode& node = kinds_[kind].view;
  const auto& runtimes = node.info->runtimes;
  const auto types = model::runtime_types_of(*request.item, request.item->images[image]);
  Candidate candidate{.request = request,
                      .image = request.item->images[image],
                      .types = types,
                      .node = node,
                      .slot = {},
                      .runtime = nullptr,
                      .asked = {},
                      .ledger = ledger_,
                      .planned = nullptr,
                      .purpose = Purpose::Place};
  const auto rank = [&](std::size_t runtime) {
    return std::pair(std::ranges::find(types, runtimes[runtime].type), runtimes[runtime].id);
  };
  std::optional<std::size_t> best;
  for (std::size_t runtime = 0; runtime < runtimes.size(); ++runtime) {
    candidate.runtime = &runtimes[runtime];
    const bool is_refused = std::ranges::any_of(rules(), [&](const Rule* rule) {
      return rule->about == About::Kind && rule->turns_down(candidate);
    });
    if (is_refused) continue;
    if (!best || rank(runtime) < rank(*best)) best = runtime;
  }
  return best ? static_cast<KindAnswer>(*best) : kNoRuntime;
}

Amounts Cluster::asked_on(const Shape& shape, std::size_t node) const {
  if (shape.asked) return *shape.asked;
  return asked_of(*shape.item, nodes_[node].info->capacity, nodes_[node].settings);
}

// Kinds that have turned up since it was last asked for.
void Cluster::learn_kinds(Shape& shape, const Ask& request) {
  for (std::uint32_t image = 0; image < shape.images.size(); ++image) {
    auto& runtimes = shape.images[image].runtimes;
    while (runtimes.size() < kinds_.size()) {
      runtimes.push_back(answer_of(request, image, static_cast<KindNumber>(runtimes.size())));
    }
  }
}

// An item that skips limits takes no unit of what is shared, but it must be listed.
bool Cluster::lists_all(const Ask& request, std::size_t node) const {
  return !request.item->skip_resource_limits ||
         std::ranges::all_of(request.item->shared_resources, [&](const std::string& resource) {
           return ledger_.lists_shared(node, resource);
         });
}

void Cluster::learn_row(Shape& shape, const Ask& request, std::size_t row) {
  const std::size_t node = node_at_[row];
  const auto& named = request.nodes;
  const bool may_fit =
      (named.empty() || std::ranges::find(named, nodes_[node].id) != named.end()) &&
      lists_all(request, node);
  for (ShapeImage& image : shape.images) {
    set_row(image.rows, row, may_fit && image.runtimes[kind_of_[node]] != kNoRuntime);
  }
}

void Cluster::learn_rows(Shape& shape, const Ask& request) {
  shape.rows_of = order_;
  shape.stale_rows.clear();
  for (ShapeImage& image : shape.images) image.rows.assign((nodes_.size() + 63) / 64, 0);
  if (request.nodes.empty()) {
    for (std::size_t row = 0; row < node_at_.size(); ++row) learn_row(shape, request, row);
  }
  for (const model::NodeId& named : request.nodes) {
    if (const auto node = find(named)) learn_row(shape, request, row_of_[*node]);
  }
}

Shape& Cluster::shape_of(const Ask& request) {
  if (!in_order_) order_rows();
  Shape& shape = shapes_.of(request);
  learn_kinds(shape, request);
  if (shape.rows_of != order_) learn_rows(shape, request);
  for (const std::uint32_t row : shape.stale_rows) learn_row(shape, request, row);
  shape.stale_rows.clear();
  return shape;
}

// Whether nothing but cpu and ram of the node itself decides whether one more has room there.
bool Cluster::is_plain(const Shape& shape, std::size_t node) const {
  const NodeKind& kind = kinds_[kind_of_[node]];
  return !kind.has_runtime_limits && !(shape.asks_for_disk && kind.has_partition_limits);
}

const RowSet& Cluster::rows_with_shared(const Shape& shape, std::uint32_t image) {
  if (!shape.takes_shared) return shape.images[image].rows;
  scratch_ = shape.images[image].rows;
  for (const std::string& resource : shape.item->shared_resources) {
    const auto left = shared_left_.find(resource);
    for (std::size_t i = 0; i < scratch_.size(); ++i) {
      scratch_[i] &= left == shared_left_.end() ? 0 : left->second[i];
    }
  }
  return scratch_;
}

// Where more than cpu and ram matters the rules have the last word.
std::optional<Slot> Cluster::accept(const Ask& request, const Shape& shape, std::uint32_t image,
                                    std::size_t row) const {
  const std::size_t node = node_at_[row];
  if (request.avoided != nullptr && request.avoided->contains(nodes_[node].id)) return std::nullopt;
  if (!is_plain(shape, node)) return pipeline().choose_on(request, image, node);
  if (!shape.asked) {
    const Amounts asked = asked_on(shape, node);
    if (!rows_.has_room(row, {asked.cpu.count(), asked.ram.count()})) return std::nullopt;
  }
  return Slot{node, runtime_on(shape, image, node)};
}

std::optional<Slot> Cluster::choose_image(const Ask& request, const Shape& shape,
                                          std::uint32_t image, const std::vector<Slot>& but) {
  const RowSet& rows = rows_with_shared(shape, image);
  for (const Stretch& stretch : stretches_) {
    std::optional<Slot> slot;
    const auto accepts = [&](std::size_t row) {
      if (std::ranges::find(but, node_at_[row], &Slot::node) != but.end()) return false;
      const auto accepted = accept(request, shape, image, row);
      if (accepted) slot = accepted;
      return accepted.has_value();
    };
    if (rows_.find_best(rows, stretch.begin, stretch.end, shape.least, accepts)) return slot;
  }
  return std::nullopt;
}

std::vector<Slot> Cluster::best_of(const Ask& request, std::uint32_t image, std::size_t count) {
  const Shape& shape = shape_of(request);
  std::vector<Slot> best;
  while (best.size() < count) {
    const auto next = choose_image(request, shape, image, best);
    if (!next) break;
    best.push_back(*next);
  }
  return best;
}

bool Cluster::fits_kind(const Ask& request, std::size_t node) const {
  for (std::uint32_t image = 0; image < request.item->images.size(); ++image) {
    if (answer_of(request, image, kind_of_[node]) != kNoRuntime) return true;
  }
  return false;
}

std::optional<Choice> Cluster::choose_on(const Ask& request, std::size_t node) const {
  for (std::uint32_t image = 0; image < request.item->images.size(); ++image) {
    const auto slot = pipeline().choose_on(request, image, node);
    if (slot) return Choice{*slot, image, pipeline().asked(request, *request.item, node)};
  }
  return std::nullopt;
}

std::optional<Choice> Cluster::choose(const Ask& request) {
  if (request.own_runtime) {
    const auto node = find(request.own_runtime->node);
    return node ? choose_on(request, *node) : std::nullopt;
  }
  const auto home = request.home != nullptr ? find(request.home->node) : std::nullopt;
  const Shape& shape = shape_of(request);
  for (std::uint32_t image = 0; image < shape.images.size(); ++image) {
    std::optional<Slot> slot;
    if (home) slot = pipeline().choose_on(request, image, *home);
    if (!slot) slot = choose_image(request, shape, image, {});
    if (slot) return Choice{*slot, image, asked_on(shape, slot->node)};
  }
  return std::nullopt;
}

// Whoever is short of ram got further than those who are short of cpu.
std::optional<Reason> Cluster::shortage_of(const Ask& request, const Shape& shape,
                                           std::uint32_t image) {
  const bool has_history = request.own_runtime || request.avoided != nullptr;
  if (has_history || !shape.asked || shape.asks_for_disk) return std::nullopt;
  const RowSet& rows = rows_with_shared(shape, image);
  bool any = false;
  bool any_with_cpu = false;
  for (std::size_t block = 0; block < rows.size() && !any_with_cpu; ++block) {
    for (std::uint64_t left = rows[block]; left != 0 && !any_with_cpu; left &= left - 1) {
      const std::size_t row = block * 64 + static_cast<std::size_t>(__builtin_ctzll(left));
      if (!is_plain(shape, node_at_[row])) return std::nullopt;
      any = true;
      any_with_cpu = rows_.has_room(row, {.cpu = shape.least.cpu, .ram = 0});
    }
  }
  if (!any) return std::nullopt;
  return any_with_cpu ? Reason::InsufficientRam : Reason::InsufficientCpu;
}

Reason Cluster::why_not(const Ask& request) {
  const Shape& shape = shape_of(request);
  std::optional<Reason> furthest;
  for (std::uint32_t image = 0; image < shape.images.size(); ++image) {
    const auto reason = shortage_of(request, shape, image);
    if (!reason) return pipeline().reject(request).reason;
    furthest = std::max(furthest.value_or(*reason), *reason);
  }
  return furthest.value_or(Reason::NoConnectedNodes);
}

std::size_t Cluster::index_bytes() const {
  std::size_t bytes = rows_.bytes() + shapes_.bytes() +
                      (node_at_.capacity() + row_of_.capacity()) * sizeof(std::uint32_t) +
                      kind_of_.capacity() * sizeof(KindNumber);
  for (const auto& [resource, rows] : shared_left_) bytes += rows.capacity() * 8;
  return bytes;
}

}  // namespace berth::placement
