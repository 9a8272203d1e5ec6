#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/shim/launch.h"

// The commands of an OCI runtime (runc, crun). Each ends within a minute, or is killed.
namespace berth::runtime::shim {

struct OciOutcome {
  bool succeeded = false;
  std::string message;
};

// The sentence in what an OCI runtime wrote before it failed: its last line, without time and
// level.
std::string sentence_of(std::string_view output);

// The container's process gets these descriptors; what the runtime itself has to say of a failure
// comes through them too.
OciOutcome oci_create(const Launch& launch, const char* pid_file, int output, int error);
OciOutcome oci_start(const Launch& launch);
OciOutcome oci_resume(const Launch& launch, std::int64_t at_most_ms);
// Kills what runs; well if there is no such container.
OciOutcome oci_delete(const Launch& launch, std::int64_t at_most_ms = 60'000);

// Whether the kernel killed a process of the container for its memory.
bool ran_out_of_memory(const Launch& launch);

}  // namespace berth::runtime::shim
