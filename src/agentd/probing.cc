#include "agentd/probing.h"

#include <algorithm>
#include <utility>

namespace berth::agentd {

void Probing::offer(Time now, const std::vector<Offer>& offers) {
  std::vector<Known> known;
  for (const Offer& offered : offers) {
    Known one{.offer = offered, .next = now, .asked_at = {}};
    model::Runtime& runtime = one.offer.runtime;
    if (const Known* before = find(runtime.id)) {
      one = *before;
      runtime = offered.runtime;
      runtime.ready = before->offer.runtime.ready;
      runtime.reason = before->offer.runtime.reason;
      runtime.message = before->offer.runtime.message;
      one.offer.period = offered.period;
      one.offer.deadline = offered.deadline;
      one.next = std::min(one.next, now + offered.period);
    } else {
      runtime.ready = model::Readiness::Unknown;
      runtime.reason = kNotProbedYet;
      runtime.message = "it has not been looked yet whether it works";
    }
    known.push_back(std::move(one));
  }
  known_ = std::move(known);
}

Probing::Known* Probing::find(const model::RuntimeId& runtime) {
  const auto found = std::find_if(known_.begin(), known_.end(), [&](const Known& one) {
    return one.offer.runtime.id == runtime;
  });
  return found == known_.end() ? nullptr : &*found;
}

std::vector<Probing::Try> Probing::begin(Time now) {
  std::vector<Try> tries;
  for (Known& one : known_) {
    if (one.asked_at || now < one.next) continue;
    one.asked_at = now;
    one.is_expired = false;
    one.number = next_number_++;
    tries.push_back({one.offer.runtime.id, one.number, one.offer.deadline});
  }
  return tries;
}

void Probing::answered(Time now, const model::RuntimeId& runtime, std::uint64_t number,
                       const runtime::ProbeResult& result) {
  Known* known = find(runtime);
  if (known == nullptr || !known->asked_at || known->number != number) return;
  // Late answers move the questions after them, which do not heap up.
  known->next = std::max(*known->asked_at + known->offer.period, now);
  known->asked_at.reset();
  learn(*known, result);
}

void Probing::expire(Time now) {
  for (Known& one : known_) {
    if (!one.asked_at || one.is_expired || now < *one.asked_at + one.offer.deadline) continue;
    one.is_expired = true;
    learn(one, runtime::probe_timed_out(one.offer.deadline));
  }
}

void Probing::learn(Known& known, const runtime::ProbeResult& result) {
  model::Runtime& runtime = known.offer.runtime;
  runtime.ready = result.readiness();
  runtime.reason = result.reason;
  runtime.message = result.message;
  known.is_known = true;
}

std::optional<model::NodeInfo> Probing::take_news() {
  const bool all_known =
      std::all_of(known_.begin(), known_.end(), [](const Known& one) { return one.is_known; });
  if (!told_ && !all_known) return std::nullopt;
  node_.runtimes.clear();
  for (const Known& one : known_) node_.runtimes.push_back(one.offer.runtime);
  if (told_ == node_) return std::nullopt;
  told_ = node_;
  return node_;
}

std::optional<Time> Probing::wake_at() const {
  std::optional<Time> earliest;
  for (const Known& one : known_) {
    if (one.asked_at && one.is_expired) continue;  // its answer wakes
    const Time at = one.asked_at ? *one.asked_at + one.offer.deadline : one.next;
    earliest = earliest ? std::min(*earliest, at) : at;
  }
  return earliest;
}

}  // namespace berth::agentd
