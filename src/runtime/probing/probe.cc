#include "runtime/probing/probe.h"

#include <utility>

#include "codec/scalar.h"

namespace berth::runtime {
namespace {

using model::Readiness;

ProbeResult unknown(std::string reason, std::string message) {
  return {.compute = Readiness::Unknown,
          .network = Readiness::Ready,
          .reason = std::move(reason),
          .message = std::move(message)};
}

}  // namespace

Readiness ProbeResult::readiness() const {
  if (compute == Readiness::NotReady || network == Readiness::NotReady) return Readiness::NotReady;
  if (compute == Readiness::Unknown || network == Readiness::Unknown) return Readiness::Unknown;
  return Readiness::Ready;
}

ProbeResult compute_result(std::string why_not) {
  if (why_not.empty()) return {};
  return {.compute = Readiness::NotReady,
          .network = Readiness::Ready,
          .reason = "ComputeNotReady",
          .message = std::move(why_not)};
}

ProbeResult network_result(std::string why_not) {
  if (why_not.empty()) return {};
  return {.compute = Readiness::Ready,
          .network = Readiness::NotReady,
          .reason = "NetworkNotReady",
          .message = std::move(why_not)};
}

ProbeResult probe_failed(std::string why) { return unknown("ProbeFailed", std::move(why)); }

ProbeResult probe_timed_out(Duration deadline) {
  return unknown("ProbeTimeout",
                 "no answer within " + codec::Scalar<Duration>::text(deadline) + ", its deadline");
}

// The reason is that of what is known not to work; else of what is not known.
ProbeResult together(ProbeResult compute, const ProbeResult& network) {
  compute.network = network.network;
  if (network.reason.empty()) return compute;
  const bool is_worse = compute.compute != Readiness::NotReady;
  if (is_worse) compute.reason = network.reason;
  const std::string other = std::exchange(compute.message, network.message);
  if (!other.empty()) compute.message = other + "; " + network.message;
  return compute;
}

}  // namespace berth::runtime
