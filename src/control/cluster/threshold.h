#pragma once

#include <fmt/format.h>

#include <string>

#include "base/quantity.h"
#include "control/cluster/load.h"
#include "placement/relief_text.h"

namespace berth::control {

enum class Crossing { None, IntoOverload, OutOfOverload };

// A resource whose use is compared with a rule, at this moment.
template <class Q>
class Threshold {
 public:
  Threshold(ResourceLoad& load, const model::ThresholdRule& rule, Q used, Q whole)
      : load_(load), rule_(rule), used_(used), whole_(whole) {}

  Crossing look(Time now) {
    Crossing crossing = Crossing::None;
    if (load_.state == LoadState::Normal && is_above()) become(LoadState::Above, now);
    if (load_.state == LoadState::Above && !is_above()) become(LoadState::Normal, now);
    if (load_.state == LoadState::Above && has_lasted(now)) {
      become(LoadState::Overloaded, now);
      load_.overloaded_since = now;
      crossing = Crossing::IntoOverload;
    }
    if (load_.state == LoadState::Overloaded && is_low()) become(LoadState::Below, now);
    if (load_.state == LoadState::Below && !is_low()) go_back();
    if (load_.state == LoadState::Below && has_lasted(now)) {
      become(LoadState::Normal, now);
      crossing = Crossing::OutOfOverload;
    }
    return crossing;
  }

  Time next_change() const {
    const bool waits = load_.state == LoadState::Above || load_.state == LoadState::Below;
    return waits ? load_.since + rule_.timeout : kNever;
  }

  // "91 %, above 85 % for 60 s"
  std::string text_of(Crossing crossing, const char* of_what) const {
    const bool is_over = crossing == Crossing::OutOfOverload;
    return fmt::format("{}{}, {} {} % for {} s",
                       placement::percent_text(used_.count(), whole_.count()), of_what,
                       is_over ? "not above" : "above", is_over ? rule_.min : rule_.max,
                       std::chrono::duration_cast<std::chrono::seconds>(rule_.timeout).count());
  }

 private:
  bool is_above() const { return above_percent(used_, whole_, rule_.max); }
  bool is_low() const { return !above_percent(used_, whole_, rule_.min); }
  bool has_lasted(Time now) const { return now - load_.since >= rule_.timeout; }

  void become(LoadState state, Time now) {
    load_.state = state;
    load_.since = now;
  }
  void go_back() { become(LoadState::Overloaded, load_.overloaded_since); }

  ResourceLoad& load_;
  const model::ThresholdRule& rule_;
  const Q used_;
  const Q whole_;
};

// While nothing is measured, nothing is learnt: what had lasted is broken off.
inline void break_off(ResourceLoad& load, Time now) {
  if (load.state == LoadState::Above) load = {LoadState::Normal, now, {}};
  if (load.state == LoadState::Below) {
    load.state = LoadState::Overloaded;
    load.since = load.overloaded_since;
  }
}

}  // namespace berth::control
