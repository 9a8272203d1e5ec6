#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "control/events.h"
#include "control/state.h"

// What the records say of changes of version: see docs/adr/0020.
namespace berth::control {

// The instances of a run request that there is a record of.
std::vector<const model::InstanceRecord*> records_of(const Durable& durable, const RequestKey& key);

// The requests of which something runs by the item.
std::set<RequestKey> requests_running(const Durable& durable, const model::ItemKey& item);

// The instances of the request that run this version.
std::set<std::uint32_t> indices_running(const Durable& durable, const RequestKey& key,
                                        const std::string& version);

// Whether the instance has gone back to the old version, although the new one is asked for.
bool has_gone_back(const model::RolloutRecord& rollout, const model::InstanceKey& key);

// Whether it has failed, and there was something to go back to. One that replaces a rollout by the
// version that this came from has not.
bool has_failed(const model::RolloutRecord& rollout);

// Whether everything has gone back, so that the new version is done with.
bool is_over(const model::RolloutRecord& rollout);

// The version that the instance has when nothing is left to do for it.
const std::string& goal_of(const model::RolloutRecord& rollout, const model::InstanceKey& key);

// Whether there is something left to do: to update, to start anew, or to watch.
bool is_under_way(const model::RolloutRecord& rollout);

// Whether it runs a new version that has yet to prove itself. Until then it is not paused: what
// stands still proves nothing.
bool is_on_trial(const Durable& durable, const model::InstanceRecord& record);

// "request/web/default".
std::string name_of(const RequestKey& key);

// "version 1 to 2".
std::string in_words(const model::RolloutRecord& rollout);

}  // namespace berth::control
