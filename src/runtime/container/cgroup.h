#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/runtime.h"

// Control groups, of both versions: a machine has one or the other, or a mixture.
namespace berth::runtime {

// The files in which the kernel counts the processes that it killed for this group's memory.
std::vector<std::string> oom_files_of(const std::string& cgroup);

// nullopt: there is no such group.
std::optional<Consumption> consumption_of(const std::string& cgroup);

// Removes a group that is empty.
void remove_cgroup(const std::string& cgroup);

void kill_cgroup(const std::string& cgroup);  // all that is in it

// Kills all that is in the group, and removes it.
void clear_cgroup(const std::string& cgroup);

// Why no group can be made; "" if nothing is known to be in the way. Looks, and changes nothing.
std::string why_no_cgroups();

}  // namespace berth::runtime
