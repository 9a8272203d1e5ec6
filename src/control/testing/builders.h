#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/deployment.h"
#include "model/instance.h"
#include "model/item.h"
#include "model/node.h"

// Values for tests, with defaults for all that a test does not care about.
namespace berth::control {

inline model::NodeId node_id(const std::string& id) { return model::NodeId{id}; }

inline model::InstanceKey key_of(const std::string& item, std::uint32_t index = 0,
                                 const std::string& subject = "default") {
  return {model::ItemId{item}, model::SubjectId{subject}, index};
}

inline const model::InstanceKey kWeb = key_of("web");
inline const model::InstanceKey kDb = key_of("db");
inline const model::InstanceKey kA = key_of("a");
inline const model::InstanceKey kB = key_of("b");
inline const model::InstanceKey kC = key_of("c");

// A service in version 1 that asks for nothing; crun and runc can run it.
class ItemBuilder {
 public:
  explicit ItemBuilder(const std::string& id) {
    item_.id = model::ItemId{id};
    item_.version = "1";
    item_.images = {image(model::OciImage{"registry/" + id})};
  }

  ItemBuilder& version(const std::string& version) { return set(item_.version, version); }
  ItemBuilder& cpu(std::int64_t dmips) {
    item_.request.cpu = Dmips{dmips};
    return *this;
  }
  // What it uses of this quota is watched.
  ItemBuilder& cpu_alert(std::int64_t quota, const model::ThresholdRule& rule) {
    item_.quotas.cpu = Dmips{quota};
    item_.alerts.cpu = rule;
    return *this;
  }
  ItemBuilder& env(const std::string& name, const std::string& value) {
    item_.env[name] = value;
    return *this;
  }
  ItemBuilder& shared(const std::string& resource) {
    item_.shared_resources.push_back(resource);
    return *this;
  }
  ItemBuilder& state(std::int64_t bytes) {
    item_.quotas.state = Bytes{bytes};
    return *this;
  }
  ItemBuilder& moves_last_copy() { return set(item_.state_move, model::StateMove::LastCopy); }
  ItemBuilder& owner(const std::string& owner) { return set(item_.owner, model::OwnerId{owner}); }
  ItemBuilder& port(std::uint16_t number, model::Protocol protocol = model::Protocol::Tcp) {
    item_.ports.push_back({number, protocol});
    return *this;
  }
  ItemBuilder& may_reach(const std::string& item, std::uint16_t port) {
    item_.allowed_connections.push_back({model::ItemId{item}, {port, model::Protocol::Tcp}});
    return *this;
  }
  ItemBuilder& host(const std::string& name) {
    item_.hosts.push_back(name);
    return *this;
  }
  ItemBuilder& process() {
    item_.images = {image(model::CommandImage{{"/bin/" + item_.id.value()}})};
    return *this;
  }
  ItemBuilder& vm() {
    item_.images = {
        image(model::VmImage{.kernel = "vmlinuz", .initrd = "", .disk = "", .cmdline = ""})};
    return *this;
  }
  ItemBuilder& tolerates(model::Toleration toleration) {
    item_.tolerates.insert(toleration);
    return *this;
  }
  ItemBuilder& min_healthy(Duration time) {
    item_.min_healthy = time;
    return *this;
  }
  ItemBuilder& pinned() { return set(item_.balancing, model::Balancing::Disabled); }
  ItemBuilder& stop_first() { return set(item_.move, model::MovePolicy::StopFirst); }
  ItemBuilder& firmware() {
    item_.type = model::ItemType::Component;
    item_.images = {image(model::FirmwareImage{{"install"}, {}, {}})};
    return *this;
  }

  operator model::Item() const { return item_; }  // NOLINT: that is what a builder is for

 private:
  static model::Image image(model::ImageForm form) {
    return {.platform = {}, .runtimes = {}, .form = std::move(form)};
  }
  template <class T>
  ItemBuilder& set(T& field, T value) {
    field = std::move(value);
    return *this;
  }

  model::Item item_;
};

inline ItemBuilder a_service(const std::string& id) { return ItemBuilder(id); }
inline ItemBuilder a_component(const std::string& id) { return ItemBuilder(id).firmware(); }

// One instance of the item, anywhere.
class RunBuilder {
 public:
  explicit RunBuilder(const std::string& item) { run_.item = model::ItemId{item}; }

  RunBuilder& version(const std::string& version) {
    run_.version = version;
    return *this;
  }
  RunBuilder& times(std::uint32_t instances) {
    run_.instances = instances;
    return *this;
  }
  RunBuilder& on_all_runtimes() {
    run_.instances.reset();
    return *this;
  }
  RunBuilder& subject(const std::string& subject) {
    run_.subject = model::SubjectId{subject};
    return *this;
  }
  RunBuilder& priority(std::int64_t priority) {
    run_.priority = priority;
    return *this;
  }
  RunBuilder& label(const std::string& label) {
    run_.labels.push_back(label);
    return *this;
  }
  RunBuilder& on(const std::string& node) {
    run_.nodes.push_back(node_id(node));
    return *this;
  }

  operator model::RunRequest() const { return run_; }  // NOLINT: that is what a builder is for

 private:
  model::RunRequest run_;
};

inline RunBuilder a_run(const std::string& item) { return RunBuilder(item); }

inline model::Deployment a_deployment(const std::string& name, std::vector<model::RunRequest> run) {
  return {.name = name, .run = std::move(run)};
}

inline model::NodeConfig labels_of(const std::string& node, std::set<std::string> labels) {
  model::NodeConfig config;
  config.name = "labels-" + node;
  config.node = node_id(node);
  config.labels = std::move(labels);
  return config;
}

// 1000 DMIPS, 1 GiB, one ready crun.
class NodeBuilder {
 public:
  NodeBuilder() {
    info_.type = "main";
    info_.capacity = {Dmips{1000}, Bytes{1 << 30}};
    runtime("crun", model::RuntimeType::Crun);
  }

  NodeBuilder& cpu(std::int64_t dmips) {
    info_.capacity.cpu = Dmips{dmips};
    return *this;
  }
  NodeBuilder& runtime(const std::string& id, model::RuntimeType type) {
    info_.runtimes.push_back({.id = model::RuntimeId{id}, .type = type, .primary = id == "crun"});
    return *this;
  }
  NodeBuilder& address(const std::string& text) {
    info_.address = model::parse_ipv4(text);
    return *this;
  }
  NodeBuilder& with_firmware() { return runtime("mcu", model::RuntimeType::Firmware); }
  NodeBuilder& shared(const std::string& resource, std::uint32_t count) {
    info_.shared_resources.push_back({resource, count});
    return *this;
  }
  NodeBuilder& unit_wide_state(std::int64_t bytes) {
    info_.partitions.state = Bytes{bytes};
    info_.partitions.unit_wide = true;
    return *this;
  }
  NodeBuilder& state(model::NodeState state) {
    info_.state = state;
    return *this;
  }
  NodeBuilder& ready(const std::string& runtime, model::Readiness readiness) {
    find(runtime).ready = readiness;
    return *this;
  }
  NodeBuilder& grace(const std::string& runtime, Duration grace) {
    find(runtime).grace = grace;
    return *this;
  }
  NodeBuilder& nothing_marked_primary() {
    for (model::Runtime& runtime : info_.runtimes) runtime.primary = false;
    return *this;
  }
  NodeBuilder& no_runtimes() {
    info_.runtimes.clear();
    return *this;
  }

  operator model::NodeInfo() const { return info_; }  // NOLINT: that is what a builder is for

 private:
  model::Runtime& find(const std::string& runtime) {
    return *std::ranges::find(info_.runtimes, model::RuntimeId{runtime}, &model::Runtime::id);
  }

  model::NodeInfo info_;
};

inline NodeBuilder a_node() { return {}; }

}  // namespace berth::control
