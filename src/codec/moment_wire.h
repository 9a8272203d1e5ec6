#pragma once

#include "berth/v1/api.pb.h"
#include "placement/moment.h"

// What a cluster's documents cannot say, as a message: the command line plans from both.
namespace berth::codec {

v1::ClusterMoment to_wire(const placement::Moment& moment);

// From a control plane, which is believed.
placement::Moment from_wire(const v1::ClusterMoment& message);

}  // namespace berth::codec
