#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/result.h"

namespace berth::runtime {

// The program that runs virtual machines on this machine, and how it does.
struct Emulator {
  std::string program;
  bool is_accelerated = false;      // by KVM; else processors are emulated, many times slower
  std::string why_not_accelerated;  // in words for people
};

// Why the device of KVM makes no machine, "" if it does. Takes a moment, and does not mean that the
// machine would run: see below.
std::string why_no_kvm();

// Tries for real, with a guest of five bytes in a file that is made for it: there are machines on
// which KVM makes guests and does not run them. Half a second; longer where it hangs.
Result<Emulator> try_emulator(const std::string& program, const std::filesystem::path& guest);

// The rate of this machine's time stamp counter, which emulated processors share; 0: it has none.
// Measured once, in some milliseconds.
std::uint64_t time_stamp_khz();

}  // namespace berth::runtime
