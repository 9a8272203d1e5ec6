#include "control/events.h"
#include "base/check.h"

namespace berth::control {

std::string_view to_string(NoteKind kind) {
  switch (kind) {
    case NoteKind::NodeJoined: return "NodeJoined";
    case NoteKind::NodeBack: return "NodeBack";
    case NoteKind::NodeUnreachable: return "NodeUnreachable";
    case NoteKind::NodeLost: return "NodeLost";
    case NoteKind::NodeInError: return "NodeInError";
    case NoteKind::NodeReadOnly: return "NodeReadOnly";
    case NoteKind::NodeWritable: return "NodeWritable";
    case NoteKind::NodeForgotten: return "NodeForgotten";
    case NoteKind::NodeDraining: return "NodeDraining";
    case NoteKind::NodeDrained: return "NodeDrained";
    case NoteKind::NodeOverloaded: return "NodeOverloaded";
    case NoteKind::NodeRelieved: return "NodeRelieved";
    case NoteKind::ConditionChanged: return "ConditionChanged";
    case NoteKind::Rebalanced: return "Rebalanced";
    case NoteKind::NotRelieved: return "NotRelieved";
    case NoteKind::Settled: return "Settled";
    case NoteKind::Placed: return "Placed";
    case NoteKind::Moved: return "Moved";
    case NoteKind::Updated: return "Updated";
    case NoteKind::Refused: return "Refused";
    case NoteKind::Removed: return "Removed";
    case NoteKind::Adopted: return "Adopted";
    case NoteKind::StatusChanged: return "StatusChanged";
    case NoteKind::ReportGap: return "ReportGap";
    case NoteKind::CommandResent: return "CommandResent";
    case NoteKind::ConnectionNotAllowed: return "ConnectionNotAllowed";
    case NoteKind::RolloutBegun: return "RolloutBegun";
    case NoteKind::RolloutDone: return "RolloutDone";
    case NoteKind::RolloutFailed: return "RolloutFailed";
    case NoteKind::OverrideExpired: return "OverrideExpired";
    case NoteKind::Deleted: return "Deleted";
    case NoteKind::Erased: return "Erased";
    case NoteKind::Paused: return "Paused";
    case NoteKind::Resumed: return "Resumed";
    case NoteKind::AlertRaised: return "AlertRaised";
    case NoteKind::AlertEnded: return "AlertEnded";
    case NoteKind::MoveFailed: return "MoveFailed";
    case NoteKind::Held: return "Held";
    case NoteKind::HeldOn: return "HeldOn";
    case NoteKind::HoldEnded: return "HoldEnded";
    case NoteKind::ReportRefused: return "ReportRefused";
    case NoteKind::PoolInstanceStarted: return "PoolInstanceStarted";
    case NoteKind::PoolInstanceEnded: return "PoolInstanceEnded";
    case NoteKind::PoolNotPlaced: return "PoolNotPlaced";
    case NoteKind::SessionOpened: return "SessionOpened";
    case NoteKind::SessionEnded: return "SessionEnded";
  }
  CHECK(false, "unknown kind of note");
}

std::string_view to_string(ConsequenceKind kind) {
  switch (kind) {
    case ConsequenceKind::Start: return "start";
    case ConsequenceKind::Stop: return "stop";
    case ConsequenceKind::Move: return "move";
    case ConsequenceKind::Update: return "update";
    case ConsequenceKind::Restart: return "restart";
  }
  return "";
}

std::string_view to_string(Downtime downtime) {
  switch (downtime) {
    case Downtime::None: return "none";
    case Downtime::Stops: return "stops";
    case Downtime::StopsFirst: return "stopsFirst";
    case Downtime::Restarts: return "restarts";
    case Downtime::DownNow: return "downNow";
  }
  return "";
}

}  // namespace berth::control
