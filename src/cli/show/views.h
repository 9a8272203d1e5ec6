#pragma once

#include <string>
#include <vector>

#include "berth/v1/api.pb.h"
#include "cli/ask/objects.h"
#include "cli/show/console.h"
#include "cli/show/json_text.h"
#include "cli/show/plan_table.h"
#include "cli/show/table.h"

// What the control plane lists, for people and for programs.
//
// For programs every object is flat and has the same fields whether they say something or not, so
// that jq needs no guards; figures are numbers. They are part of the contract with scripts:
//
//   instance  item subject index version type state reason message node runtime movingTo unverified
//             proven away since (null: not known) restarts
//             exitCode (null: has not ended) priority uid gid usage{cpu,ram}
//   node      node type state liveness silentForMs cordoned draining capacity{cpu,ram}
//             reserved{cpu,ram} used{cpu,ram} (null: not measured) labels priority instances
//             ready (True, False, Unknown) conditions[{type,status,reason,message,lastTransition,
//             lastHeartbeat}] runtimes[{name,type,kind,ready,graced,primary,reason,message,
//             notReadySince (null: it is ready),graceMs,evicting}]
//             storeProblem (empty: its agent can write)
//   event     number time kind about text
//   documents as in manifests
namespace berth::cli {

// "Active", "Failed(InsufficientCpu)", "Active(Unverified)": major(reason).
std::string state_text(const v1::Instance& instance);
Tone tone_of(const v1::Instance& instance);

// "Reachable", "Unreachable(12s)", "Reachable,Cordoned".
std::string state_text(const v1::Node& node);
Tone tone_of(const v1::Node& node);

// How much of it is used, and where that stands with its thresholds: "92% above max for 20s".
enum class Resource { Cpu, Ram };
std::string load_text(const v1::Node& node, Resource resource);

// "telemetry/vehicle/0  Active  on n1": a change as one line.
std::string instance_line(const v1::Instance& instance, const Style& style);
std::string node_line(const v1::Node& node, const Style& style);
std::string event_line(const v1::Event& event, const Style& style);

Table instances_table(const std::vector<v1::Instance>& instances, Detail detail);
Table nodes_table(const std::vector<v1::Node>& nodes, Detail detail);
Table events_table(const std::vector<v1::Event>& events);

Json json_of(const v1::Instance& instance);
Json json_of(const v1::Node& node);
Json json_of(const v1::Event& event);

// "3 active, 1 failed": how many are in which state, in words.
std::string count_of_states(const std::vector<v1::Instance>& instances);

// "90s", "12m", "5h".
std::string short_duration(std::int64_t ms);

// The local time of day with the date; milliseconds since 1970.
std::string local_time(std::int64_t time_ms);

}  // namespace berth::cli
