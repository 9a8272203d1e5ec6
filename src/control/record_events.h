#pragma once

#include "control/context.h"

// Facts only record, and mark what the rooms must look at; they decide nothing. Calls are checked
// here, and answered at once if they cannot be accepted.
namespace berth::control {

void record(Context& context, const NodeConnected& event);
void record(Context& context, const NodeDisconnected& event);
void record(Context& context, const NodeReported& event);
void record(Context& context, const ApplyCall& call);
void record(Context& context, const DeleteCall& call);
void record(Context& context, const CordonCall& call);
void record(Context& context, const DrainCall& call);
void record(Context& context, const PauseCall& call);
void record(Context& context, const RebalanceCall& call);
void record(Context& context, const ForgetNodeCall& call);
void record(Context& context, const ReleaseCall& call);
void record(Context& context, const OpenSessionCall& call);
void record(Context& context, const CloseSessionCall& call);
void record(Context& context, const SessionCallerGone& event);
void record(Context& context, const WritesDurable& event);
void record(Context& context, const Subscribed& event);
void record(Context& context, const Unsubscribed& event);

}  // namespace berth::control
