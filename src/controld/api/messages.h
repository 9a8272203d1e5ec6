#pragma once

#include <vector>

#include "berth/v1/api.pb.h"
#include "control/events.h"
#include "controld/events/logged_event.h"
#include "controld/watch/views.h"

// What leaves the control plane, as messages of the API.
namespace berth::controld::api {

v1::Instance to_message(const InstanceView& view);
v1::Instance to_message(const model::InstanceStatus& status);
v1::Node to_message(const NodeView& view);
v1::Event to_message(const LoggedEvent& event);
v1::Pool to_message(const PoolView& view);
v1::Session to_message(const model::SessionStatus& status);
v1::Accepted to_message(const control::Accepted& accepted);
v1::Consequence to_message(const control::Consequence& consequence);
v1::Finished to_message(const control::Finished& finished);

}  // namespace berth::controld::api
