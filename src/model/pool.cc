#include "model/pool.h"

namespace berth::model {

std::string to_string(const SessionKey& key) { return key.ns + "/" + key.name; }

}  // namespace berth::model
