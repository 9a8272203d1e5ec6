#include "runtime/probing/trial.h"

#include <algorithm>

namespace berth::runtime {
namespace {

constexpr Duration kFirstPause = 1s;
constexpr Duration kLongestPause = 5min;
// What did not answer in time may do so when there is less to do; asking costs nothing but time.
constexpr Duration kLongestDoubt = 8s;

}  // namespace

bool Trial::is_due(Time now, const std::string& identity) const {
  if (identity_ != identity) return true;
  return result_.readiness() != model::Readiness::Ready && now >= next_;
}

void Trial::done(Time now, std::string identity, ProbeResult result) {
  const bool is_the_same = identity_ == identity;
  const bool has_failed_before = is_the_same && result_.readiness() != model::Readiness::Ready;
  const bool is_in_doubt = result.readiness() == model::Readiness::Unknown;
  const Duration longest = is_in_doubt ? kLongestDoubt : kLongestPause;
  pause_ = has_failed_before ? std::min(2 * pause_, longest) : kFirstPause;
  next_ = now + pause_;
  identity_ = std::move(identity);
  result_ = std::move(result);
}

}  // namespace berth::runtime
