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

// Whether everything has gone back, so that there is nothing left to do.
bool is_over(const model::RolloutRecord& rollout);

// Why the instance runs an older version than what is asked for; nullptr: it does not, or not yet.
const model::Problem* rolled_back_because(const Context& context, const model::InstanceKey& key);

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

// The item of the request was edited under the version that it asks for. Not while the request goes
// from one version to another: then what runs follows at once.
bool begin_restarts(Context& context, const RequestKey& key, const std::string& version);

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
