#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "codec/tree.h"
#include "runtime/shim/files.h"

namespace berth::runtime {

// A conversation with the emulator of a virtual machine (QMP): orders and answers, one after the
// other. An emulator has one at a time; who comes second waits for the end of the first. Not
// thread-safe.
class Qmp {
 public:
  // By the socket in a run's directory. Whatever is said takes no longer than this, all in all.
  static Result<Qmp> open(const std::filesystem::path& run_directory, Duration patience = 10s);

  // What is returned. NotFound: there is no emulator any more. An order that is refused is
  // Unavailable, in the emulator's words.
  Result<codec::Tree> order(std::string_view command);

 private:
  using Clock = std::chrono::steady_clock;

  Qmp(shim::Fd socket, Clock::time_point until) : socket_(std::move(socket)), until_(until) {}

  Result<codec::Tree> next();

  shim::Fd socket_;
  Clock::time_point until_;
  std::string heard_;
};

}  // namespace berth::runtime
