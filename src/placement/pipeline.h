#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "placement/ask.h"
#include "placement/ledger.h"
#include "placement/rule.h"

namespace berth::placement {

enum class Measuring {
  Requested,        // an instance asks for what its item says
  WhereOverloaded,  // on overloaded nodes it asks for what was measured, if that is more
  Everywhere,       // on all nodes
};

class Recorder;

// The place found for an instance.
struct Choice {
  Slot slot;
  std::uint32_t image = 0;
  Amounts asked;
};

// Why one node was turned down: the rule that the furthest of its runtimes did not pass.
struct Verdict {
  std::size_t node = 0;
  const model::Image* image = nullptr;
  const model::Runtime* runtime = nullptr;
  Reason reason = Reason::NoConnectedNodes;
  Shortfall shortfall;
};

// Whether `a` is a nearer miss than `b`.
bool got_further(const Verdict& a, const Verdict& b);

// Why nothing could be found. The reason is the rule that emptied the set, of the image that got
// furthest; the verdicts are that image's.
struct Rejection {
  Reason reason = Reason::NoConnectedNodes;
  std::uint32_t image = 0;
  std::vector<Verdict> verdicts;
};

// The filter pipeline over all nodes, for one instance at a time: the reference engine, readable as
// the table of rules. Looks at a ledger and changes nothing.
class Pipeline {
 public:
  // With planned usage, nothing goes where it would overload the node.
  Pipeline(const std::vector<SnapshotNode>& nodes, const Ledger& ledger, Measuring measuring,
           const PlannedUsage* planned)
      : nodes_(nodes), ledger_(ledger), measuring_(measuring), planned_(planned) {}

  // The best place of the first image that has any. The recorder, if any, hears what each node says
  // to that image.
  std::optional<Choice> choose(const Ask& request, Recorder* recorder = nullptr) const;

  // For a request that choose() found nothing for.
  Rejection reject(const Ask& request) const;

  // Why one node cannot take this image; only for a node that cannot.
  Verdict reject_on(const Ask& request, std::uint32_t image, std::size_t node) const;

  // Whether what runs may stay where it is, and with which image.
  std::optional<Choice> keep(const Ask& request, Slot slot) const;
  // For a request that keep() turned down; `runtime` is nullopt if that is gone.
  Rejection reject_kept(const Ask& request, std::size_t node,
                        std::optional<std::size_t> runtime) const;

  // The best place of the image on that node, if it has any.
  std::optional<Slot> choose_on(const Ask& request, std::uint32_t image, std::size_t node) const;

  // All places of an image that no rule turns down.
  std::vector<Fit> fits(const Ask& request, std::uint32_t image,
                        Recorder* recorder = nullptr) const;

  // A place with its figures, whether or not it fits. Without a preference of its type.
  Fit fit_at(const Ask& request, Slot slot) const;

  Amounts asked(const Ask& request, const model::Item& item, std::size_t node) const;

  // Every rule that turns the slot down, not only the first.
  std::vector<std::pair<Reason, Shortfall>> all_refusals(const Ask& request, std::uint32_t image,
                                                         std::size_t node,
                                                         std::optional<std::size_t> runtime,
                                                         Purpose purpose) const;

  const std::vector<SnapshotNode>& nodes() const { return nodes_; }
  const Ledger& ledger() const { return ledger_; }

 private:
  struct Question;

  Verdict furthest(const Question& question, std::size_t node) const;
  Candidate candidate(const Question& question, std::size_t node,
                      std::optional<std::size_t> runtime) const;

  const std::vector<SnapshotNode>& nodes_;
  const Ledger& ledger_;
  Measuring measuring_;
  const PlannedUsage* planned_;
};

}  // namespace berth::placement
