#pragma once

#include <vector>

#include "control/context.h"
#include "placement/snapshot.h"

// Changes of version, instance by instance: see docs/adr/0020.
namespace berth::control {

// The instances of a run request that there is a record of.
std::vector<const model::InstanceRecord*> records_of(const Durable& durable, const RequestKey& key);

// The version that each run request asks for.
std::map<RequestKey, std::string> asked_versions(const Durable& durable);

// Whether the instance has gone back to the old version, although the new one is asked for.
bool has_gone_back(const model::RolloutRecord& rollout, const model::InstanceKey& key);

// Whether it has failed, and there was something to go back to. One that replaces a rollout by the
// version that this came from has not.
bool has_failed(const model::RolloutRecord& rollout);

// Whether everything has gone back, so that the new version is done with.
bool is_over(const model::RolloutRecord& rollout);

// The version that the instance has when nothing is left to do for it.
const std::string& goal_of(const model::RolloutRecord& rollout, const model::InstanceKey& key);

// "request/web/default".
std::string name_of(const RequestKey& key);

// "version 1 to 2".
std::string in_words(const model::RolloutRecord& rollout);

// Whether there is something left to do: to update, to start anew, or to watch.
bool is_under_way(const model::RolloutRecord& rollout);

// The problem of an instance that runs something older than what is asked for, and will not be
// updated by itself; nullopt: it has none.
std::optional<model::Problem> why_it_is_behind(const Context& context,
                                               const model::InstanceRecord& record);

// Whether nothing more happens by itself: it is done, has failed, or waits for nodes that are away.
bool is_at_rest(const Context& context, const RequestKey& key);

// Whether it runs a new version that has yet to prove itself. Until then it is not paused: what
// stands still proves nothing.
bool is_on_trial(const Context& context, const model::InstanceRecord& record);

// Whether it shall be started anew because its item was edited, and it is not its turn yet: until
// then it is left alone.
bool awaits_restart(const Context& context, const model::InstanceRecord& record);

// The requests of which something runs by the item.
std::set<RequestKey> requests_running(const Durable& durable, const model::ItemKey& item);

// The document of a version that the request runs was edited: what runs is started anew, one after
// the other; what waits for another version anyway keeps what it has until then.
void begin_restarts(Context& context, const RequestKey& key, const std::string& version);

// Starts with another version from here on, whatever it ran before.
void forget_outdated(Context& context, const model::InstanceKey& instance);

// Which version each instance of the request has now.
placement::Versions versions_of(const Context& context, const model::RolloutRecord& rollout);

// What runs of the instance, or where, has changed.
void look_at_rollout_again(Context& context, const model::InstanceKey& instance);

// The instance has not come up in the new version: everything goes back, or only this one where
// what works is kept.
void give_up(Context& context, const RequestKey& key, const model::InstanceKey& instance,
             const model::Problem& problem);

// Has a failed rollout tried once more, because somebody asks for it again.
void try_again(Context& context, const RequestKey& key);

}  // namespace berth::control
