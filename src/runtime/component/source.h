#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "runtime/supervision/interrupt.h"
#include "runtime/supervision/supervisor.h"

namespace berth::runtime {

// A file that a component comes from.
struct Source {
  std::filesystem::path path;
  std::string digest;  // "sha256:..." that it must have; "": any

  friend bool operator==(const Source&, const Source&) = default;
};

// "os-2.tar.zst", or pinned: "os-2.tar.zst@sha256:...". It is in
// `directory` or below it.
Result<Source> parse_source(const std::string& reference, const std::filesystem::path& directory);

bool is_there(const Source& source);

// How long something may take, and what ends it earlier.
struct Patience {
  Duration deadline{};
  const Interrupt& interrupt;
};

// "sha256:..." of a file.
Started<std::string> digest_of(const std::filesystem::path& file, const Patience& patience);

// VerificationFailed if the file does not have this digest.
Started<void> check_digest(const std::filesystem::path& file, const std::string& digest,
                           const Patience& patience);

// Runs a program that must end with 0; else `reason`, with its last words.
Started<void> run_tool(std::vector<std::string> argv, const std::string& reason,
                       const Patience& patience);

}  // namespace berth::runtime
