#pragma once

namespace berth::sim {

// Faults that no fault model allows, planted in the simulated world to prove that the checkers see
// them. The cores under test know nothing of them.
enum class Sabotage {
  None,
  SkipCommits,         // the controller's host answers for batches that it never made durable
  ForgetOnRestart,     // the agent's host loses a record that was durable
  Boast,               // nodes say that they have ten times of what they have
  Understate,          // nodes say that they have a tenth of what they have
  TwinUid,             // after a restart two instances have the same uid
  TwinAddress,         // after a restart two instances have the same address
  DropNetworks,        // agents' hosts never set up networks
  StartTwice,          // runtimes start a second copy beside the one they were asked for
  DropStops,           // agents' hosts never carry out stops
  LieForever,          // runtimes say that a run has started, and it has not
  StopHealthy,         // an agent's host stops runs that nobody asked it to stop
  DropStarts,          // agents' hosts never carry out starts
  DropReplies,         // callers never hear from the controller
  LoseLastStates,      // what runs count at their end is told to nobody
  LoseStates,          // the controller's host leaves out the states that commands hand over
  Misplace,            // the controller's host writes down places on runtimes that are not ready
  OrderWhileHeld,      // the host of a controller that is held makes orders of its questions
  ClaimEndpoints,      // agents' hosts say that endpoints are open, and they are not
  TwinPorts,           // the controller's host has all sessions reached at the same port
  DelayCalls,          // the controller's host keeps some callers waiting before it hands them on
  DropSessionReplies,  // who opens a session never hears from the controller
  LeaveEndpoints,      // agents' hosts never close endpoints
  LeaveFurniture,      // agents' hosts never take back what an instance was furnished with
  ReuseNumbers,        // after a restart the controller knows of no number that was used
  UnseededDelay,       // a delay that the seed knows nothing of
};

}  // namespace berth::sim
