#pragma once

#include <cstdint>
#include <optional>

#include "agent/context.h"
#include "agent/restart.h"
#include "base/time.h"
#include "model/instance.h"
#include "model/item.h"
#include "model/protocol.h"

namespace berth::agent {

// Fetches what one generation of an instance needs, so that it can be started at once: tried with
// the back-off of its restarts until it is there.
class Preparation {
 public:
  // For this generation from now on; what was done for another is forgotten.
  void begin(const model::CommandNumber& generation);
  const model::CommandNumber& generation() const { return generation_; }

  bool is_done() const { return is_done_; }
  bool is_under_way() const { return overdue_.has_value(); }
  bool may_be_asked(Time now) const;
  void ask(const Context& context, const model::InstanceSpec& spec);
  // Why it may not be asked for; nullopt: it only has to wait.
  void refuse(std::optional<model::Problem> refusal) { refusal_ = std::move(refusal); }
  // It is no longer needed.
  void cancel();

  // Whether that answers what was asked.
  bool prepared(const Prepared& answer);
  bool failed(const Context& context, const model::RestartPolicy& policy,
              const PrepareFailed& answer);
  // Whether the answer is overdue.
  bool give_up(const Context& context, const model::RestartPolicy& policy);

  // Why it is not there and nobody is bringing it.
  const std::optional<model::Problem>& problem() const;
  std::optional<Time> due(Time now) const;

 private:
  void back_off(const Context& context, const model::RestartPolicy& policy,
                const model::Problem& problem);

  model::CommandNumber generation_;
  bool is_done_ = false;
  std::uint32_t orders_ = 0;
  std::optional<Time> overdue_;  // exactly while an answer is outstanding
  Backoff backoff_;
  std::optional<Time> again_at_;
  std::optional<model::Problem> problem_;  // of the last try, until the next
  std::optional<model::Problem> refusal_;
};

}  // namespace berth::agent
