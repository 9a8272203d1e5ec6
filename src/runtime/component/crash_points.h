#pragma once

#include "base/result.h"
#include "model/names.h"

// Where a test can have the agent die, to see what a power cut there would leave.
namespace berth::runtime {

enum class CrashPoint {
  Asked,
  WritingNoted,
  SlotCleared,
  SlotHalfWritten,
  SlotUnsynced,
  SlotWritten,
  VerifyingNoted,
  Verified,
  SwitchingNoted,
  LinkMade,
  Switched,
  TryingNoted,
  ConfirmationSeen,
  ConfirmationNoted,
  RunEndNoted,
  RollBackNoted,
  RolledBack,
  OldVersionNoted,
  Discarded,
};

// The variable that says where: NAME, or NAME:N for the N-th time that the point is passed.
inline constexpr char kCrashVariable[] = "BERTH_CRASH_AT";

// Kills this process, as only SIGKILL does, if it was asked to die here.
void pass(CrashPoint point);

// What is wrong with the variable, if it is set.
Result<void> check_crash_variable();

}  // namespace berth::runtime

namespace berth::model {

template <>
struct Names<runtime::CrashPoint> {
  static constexpr std::string_view kWhat = "crash point";
  static constexpr std::array kTable{
      Word<runtime::CrashPoint>{runtime::CrashPoint::Asked, "asked"},
      Word<runtime::CrashPoint>{runtime::CrashPoint::WritingNoted, "writing-noted"},
      Word<runtime::CrashPoint>{runtime::CrashPoint::SlotCleared, "slot-cleared"},
      Word<runtime::CrashPoint>{runtime::CrashPoint::SlotHalfWritten, "slot-half-written"},
      Word<runtime::CrashPoint>{runtime::CrashPoint::SlotUnsynced, "slot-unsynced"},
      Word<runtime::CrashPoint>{runtime::CrashPoint::SlotWritten, "slot-written"},
      Word<runtime::CrashPoint>{runtime::CrashPoint::VerifyingNoted, "verifying-noted"},
      Word<runtime::CrashPoint>{runtime::CrashPoint::Verified, "verified"},
      Word<runtime::CrashPoint>{runtime::CrashPoint::SwitchingNoted, "switching-noted"},
      Word<runtime::CrashPoint>{runtime::CrashPoint::LinkMade, "link-made"},
      Word<runtime::CrashPoint>{runtime::CrashPoint::Switched, "switched"},
      Word<runtime::CrashPoint>{runtime::CrashPoint::TryingNoted, "trying-noted"},
      Word<runtime::CrashPoint>{runtime::CrashPoint::ConfirmationSeen, "confirmation-seen"},
      Word<runtime::CrashPoint>{runtime::CrashPoint::ConfirmationNoted, "confirmation-noted"},
      Word<runtime::CrashPoint>{runtime::CrashPoint::RunEndNoted, "run-end-noted"},
      Word<runtime::CrashPoint>{runtime::CrashPoint::RollBackNoted, "roll-back-noted"},
      Word<runtime::CrashPoint>{runtime::CrashPoint::RolledBack, "rolled-back"},
      Word<runtime::CrashPoint>{runtime::CrashPoint::OldVersionNoted, "old-version-noted"},
      Word<runtime::CrashPoint>{runtime::CrashPoint::Discarded, "discarded"},
  };
};

}  // namespace berth::model
