#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/container/bundle.h"
#include "runtime/runtime.h"
#include "runtime/shim/launch.h"

// Control groups, of both versions: a machine has one or the other, or a mixture.
namespace berth::runtime {

// The group of all that an agent runs, by its tag; each of its instances has one below.
std::string cgroup_of_agent(const std::string& tag);
// The same of runs that an earlier release has started, which knew only the names of nodes.
std::string cgroup_of_node(const std::string& node);
// The group that a run is in; "" if it is in none of its own.
std::string cgroup_of(const shim::Launch& launch);

// The files in which the kernel counts the processes that it killed for this group's memory.
std::vector<std::string> oom_files_of(const std::string& cgroup);

// nullopt: there is no such group.
std::optional<Consumption> consumption_of(const std::string& cgroup);

// Makes a group with these limits, for what no OCI runtime makes one for; well if it is there. Its
// "cgroup.procs" files, one for each controller that is needed: who writes itself there is in it.
Result<std::vector<std::string>> make_cgroup(const std::string& cgroup,
                                             const ContainerLimits& limits);

// Puts a run that no OCI runtime looks after into a group of its own.
Result<void> limit_run(const std::string& tag, const model::InstanceKey& key,
                       const model::RunId& run, const ContainerLimits& limits,
                       shim::Launch& launch);

// Why runs cannot be held to shares of the processor here; "" if they can. Makes a group and
// removes it.
std::string why_no_cpu_limits(const std::string& tag);

// Removes a group that is empty.
void remove_cgroup(const std::string& cgroup);

// Removes the groups of an agent in which nothing runs, also those of an earlier release.
void remove_cgroups_of(const std::string& tag, const std::string& node);

void kill_cgroup(const std::string& cgroup);  // all that is in it, frozen or not

// Kills all that is in the group, and removes it.
void clear_cgroup(const std::string& cgroup);

// Why no group can be made; "" if nothing is known to be in the way. Looks, and changes nothing.
std::string why_no_cgroups();

}  // namespace berth::runtime
