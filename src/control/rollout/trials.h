#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "model/instance.h"
#include "model/records.h"

// Whether something that was started anew, in another version or elsewhere, is well.
namespace berth::control {

struct Context;

// An instance that has been told to run a new version, or somewhere else, and has yet to show that
// it does.
struct Trial {
  Time deadline;  // to be active
  // When the trial began; one more is a failure. Nullopt: its node has not been heard of since.
  std::optional<std::uint32_t> restarts;
  std::optional<Time> active_since;
};

enum class Progress {
  Coming,   // has been told, or will be
  Watched,  // is active, and must stay so for a while
  Proven,
  Failed,
};

struct Judgement {
  Progress progress = Progress::Coming;
  model::Problem problem = {};  // of one that failed
};

// A trial that begins now, of the run that `status` is about; nullptr: nothing is known of it yet.
Trial begin_trial(const Context& context, const model::InstanceRecord& record,
                  const model::ReportedStatus* status);

// One that is watched is looked at with the word of its node that can prove it.
Judgement judge(Context& context, const model::InstanceRecord& record,
                const model::ReportedStatus* status, Trial& trial);

// When the clocks may say something else of it.
Time next_look(const Trial& trial);

// Its node has just been told of it, and from now on it may be late; or it is no longer told.
void set_deadline(Context& context, const model::InstanceRecord& record);

}  // namespace berth::control
