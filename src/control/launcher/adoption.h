#pragma once

namespace berth::control {

struct Context;

// Components that were there before us become part of the cluster.
void adopt_components(Context& context);

}  // namespace berth::control
