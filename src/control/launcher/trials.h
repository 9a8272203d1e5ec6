#pragma once

#include "control/context.h"

// Whether something that was started anew, in another version or elsewhere, is well.
namespace berth::control {

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
Time next_look(const Rollout& rollout);

// Its node has just been told of it, and from now on it may be late; or it is no longer told.
void set_deadline(Context& context, const model::InstanceRecord& record);

}  // namespace berth::control
