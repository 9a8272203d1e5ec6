#include "model/runtime.h"

#include "base/check.h"
#include "model/condition.h"

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

ConditionType condition_of(RuntimeKind kind) {
  switch (kind) {
    case RuntimeKind::Container: return ConditionType::ContainerRuntimeReady;
    case RuntimeKind::Vm: return ConditionType::VmRuntimeReady;
    case RuntimeKind::Function: return ConditionType::FunctionRuntimeReady;
    case RuntimeKind::Component: return ConditionType::ComponentRuntimeReady;
  }
  CHECK(false, "unknown kind of runtimes");
}

ConditionStatus status_of(Readiness readiness) {
  switch (readiness) {
    case Readiness::Ready: return ConditionStatus::True;
    case Readiness::NotReady: return ConditionStatus::False;
    case Readiness::Unknown: return ConditionStatus::Unknown;
  }
  CHECK(false, "unknown readiness");
}

}  // namespace berth::model
