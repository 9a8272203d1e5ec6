#include "model/item.h"

namespace berth::model {
namespace {

struct TypesOfForm {
  using Types = std::vector<RuntimeType>;
  Types operator()(const OciImage&) const { return {RuntimeType::Crun, RuntimeType::Runc}; }
  Types operator()(const CommandImage&) const { return {RuntimeType::Process}; }
  Types operator()(const WasmImage&) const { return {RuntimeType::Wasm}; }
  Types operator()(const VmImage&) const { return {RuntimeType::Vm}; }
  Types operator()(const RootfsImage&) const { return {RuntimeType::Rootfs}; }
  Types operator()(const BootImage&) const { return {RuntimeType::Boot}; }
  Types operator()(const FirmwareImage&) const { return {RuntimeType::Firmware}; }
};

}  // namespace

std::vector<RuntimeType> runtime_types_of(const ImageForm& form) {
  return std::visit(TypesOfForm{}, form);
}

std::vector<RuntimeType> runtime_types_of(const Item& item, const Image& image) {
  if (!image.runtimes.empty()) return image.runtimes;
  if (!item.runtimes.empty()) return item.runtimes;
  return runtime_types_of(image.form);
}

bool is_pinned(const Item& item) {
  return item.type == ItemType::Component || item.balancing == Balancing::Disabled;
}

bool keeps_state(const Item& item) {
  return item.quotas.state.value_or(Bytes{}) > Bytes{} ||
         item.request.state.value_or(Bytes{}) > Bytes{};
}

bool hands_state_over(const Item& item) {
  return keeps_state(item) && item.state_move == StateMove::HandOver;
}

}  // namespace berth::model
