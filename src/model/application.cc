#include "model/application.h"

#include "base/check.h"

namespace berth::model {

std::string to_string(const ApplicationKey& key) { return key.ns + "/" + key.name; }

InstanceKey pool_instance(const ApplicationKey& application, std::uint32_t number) {
  return {ItemId{kPoolMark + application.ns}, SubjectId{application.name}, number};
}

ApplicationKey application_of(const InstanceKey& key) {
  CHECK(is_pool_instance(key), "an instance of a pool");
  return {key.item.value().substr(1), key.subject.value()};
}

}  // namespace berth::model
