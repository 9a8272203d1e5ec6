#pragma once

#include <string_view>

#include "base/result.h"
#include "codec/tree.h"

namespace berth::codec {

// One JSON value, for what programs have written: positions are not kept. Code::Damaged if it is
// not JSON or nested beyond reason.
Result<Tree> read_json(std::string_view text);

}  // namespace berth::codec
