#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

// The tag of an agent: eight hex digits of its own, by which what it makes on the machine is told
// apart from what other agents make there, also those of nodes with the same name: control groups,
// network namespaces, devices, tables of the firewall, directories below /run.
namespace berth::agentd {

struct TagPlaces {
  std::filesystem::path state_dir;
  std::string node;
  std::filesystem::path run_dir = "/run/berth";  // in it a directory for each tag of the machine
};

// The tag that this agent has; "" if it never had one. It is in a file of its own. Should that be
// lost, what the agent has made tells it: its runs, its directory below /run, or, if an earlier
// release has made that, its name.
std::string find_tag(const TagPlaces& places);

// The same, or a new one, which is kept; a copy of a state directory gets a new one, too. That it
// could not be written down, on a full disk say, is logged, and keeps nobody from starting.
std::string take_tag(const TagPlaces& places);

std::filesystem::path tag_file(const std::filesystem::path& state_dir);

}  // namespace berth::agentd
