#pragma once

#include <string>
#include <utility>

#include "base/time.h"
#include "runtime/probing/probe.h"

namespace berth::runtime {

// When something that is dear to try is tried again. What has worked is believed until it changes;
// what has not is tried again after a while that grows, and at once when it changes. Pure.
class Trial {
 public:
  // The identity is what a change shows by.
  bool is_due(Time now, const std::string& identity) const;
  void done(Time now, std::string identity, ProbeResult result);
  void forget() { *this = {}; }
  // It may help to try once more now.
  void reconsider() { next_ = Time{}; }

  const ProbeResult& result() const { return result_; }

 private:
  std::string identity_;
  ProbeResult result_;
  Duration pause_{};  // until it is tried again, if it has not worked
  Time next_{};
};

}  // namespace berth::runtime
