#pragma once

#include "base/result.h"
#include "codec/not_durable.h"

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
  Changes = 10,  // of `plan` only
  Interrupted = 130,
};

// The only place that knows which failure ends the program how.
inline ExitCode exit_code_of(const Error& error) {
  // It may become so, or not: as when the time is up.
  if (error.message.starts_with(codec::kNotDurableYet)) return ExitCode::Timeout;
  switch (error.code) {
    case Code::InvalidInput: return ExitCode::InvalidInput;
    case Code::NotFound: return ExitCode::NotFound;
    case Code::Unavailable: return ExitCode::Unreachable;
    default: return ExitCode::OtherError;
  }
}

}  // namespace berth::cli
