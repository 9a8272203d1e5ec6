#include "model/runtime.h"

namespace berth::model {

RuntimeKind kind_of(RuntimeType type) {
  switch (type) {
    case RuntimeType::Crun:
    case RuntimeType::Runc:
    case RuntimeType::Process: return RuntimeKind::Container;
    case RuntimeType::Vm: return RuntimeKind::Vm;
    case RuntimeType::Wasm: return RuntimeKind::Function;
    case RuntimeType::Rootfs:
    case RuntimeType::Boot:
    case RuntimeType::Firmware: return RuntimeKind::Component;
  }
  CHECK(false, "unknown runtime type");
}

}  // namespace berth::model
