#pragma once

#include "base/result.h"

namespace berth::cli {

// What scripts may rely on; `berth --help` lists them.
enum class ExitCode {
  Done = 0,
  OtherError = 1,
  NotEverythingPlaced = 2,
  InvalidInput = 3,
  NotFound = 4,
  Timeout = 5,
  Unreachable = 6,
  Busy = 7,      // of `session open` only: as many wait as may be served
  Changes = 10,  // of `plan` only
  Interrupted = 130,
};

// The only place that knows which failure ends the program how.
inline ExitCode exit_code_of(const Error& error) {
  switch (error.code) {
    case Code::InvalidInput: return ExitCode::InvalidInput;
    case Code::NotFound: return ExitCode::NotFound;
    case Code::Unavailable: return ExitCode::Unreachable;
    case Code::NotDurable: return ExitCode::Timeout;  // it may become so, or not
    default: return ExitCode::OtherError;
  }
}

}  // namespace berth::cli
