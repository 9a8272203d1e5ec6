#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/time.h"
#include "model/node.h"
#include "runtime/probing/probe.h"

namespace berth::agentd {

inline constexpr char kNotProbedYet[] = "NotProbedYet";

// What is known of the runtimes of a node, when each is asked, and when there is something to tell.
// Each has a schedule and a deadline of its own; at the deadline it is Unknown, whatever becomes of
// the question. It is not asked a second time before it has answered. Pure: who asks is NodeWatch.
class Probing {
 public:
  struct Offer {
    model::Runtime runtime;  // but for its readiness
    Duration period{};
    Duration deadline{};
  };
  // One question.
  struct Try {
    model::RuntimeId runtime;
    std::uint64_t number = 0;
    Duration deadline{};
  };

  explicit Probing(model::NodeInfo node) : node_(std::move(node)) {}

  // The runtimes from now on, in this order. What is known of those that stay is kept.
  void offer(Time now, const std::vector<Offer>& offers);
  void set_address(const std::optional<model::Ipv4>& address) { node_.address = address; }

  // Those to be asked now.
  std::vector<Try> begin(Time now);
  // Also a late answer counts, unless its runtime has gone meanwhile.
  void answered(Time now, const model::RuntimeId& runtime, std::uint64_t number,
                const runtime::ProbeResult& result);
  // Those that have not answered by their deadline are Unknown.
  void expire(Time now);

  // The node, if it is not what was told last. The first time all runtimes have answered, or had
  // their time.
  std::optional<model::NodeInfo> take_news();

  // When to look again; nullopt: nothing comes by itself.
  std::optional<Time> wake_at() const;

 private:
  struct Known {
    Offer offer;
    Time next{};                   // when it is asked, unless it is being asked
    std::optional<Time> asked_at;  // not answered yet
    std::uint64_t number = 0;      // of the last question
    bool is_known = false;         // it has answered once, or had its time
    bool is_expired = false;       // the question that is not answered
  };

  Known* find(const model::RuntimeId& runtime);
  static void learn(Known& known, const runtime::ProbeResult& result);

  model::NodeInfo node_;
  std::vector<Known> known_;
  std::uint64_t next_number_ = 1;
  std::optional<model::NodeInfo> told_;
};

}  // namespace berth::agentd
