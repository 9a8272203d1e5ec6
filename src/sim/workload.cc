#include "sim/workload.h"

#include <fmt/format.h>

#include <set>

#include "sim/draw.h"

namespace berth::sim {
namespace {

constexpr std::int64_t kMebibyte = 1 << 20;

model::Image oci(const char* arch) {
  model::Image image;
  image.platform.os = "linux";
  image.platform.arch = arch;
  image.form = model::OciImage{fmt::format("images/{}", arch)};
  return image;
}

model::Image command() {
  model::Image image;
  image.form = model::CommandImage{{"/usr/bin/service"}};
  return image;
}

std::vector<model::Image> draw_images(Random& random) {
  switch (random.below(5)) {
    case 0: return {oci("amd64")};
    case 1: return {oci("arm64"), oci("amd64")};
    case 2: return {command()};
    case 3: return {oci("amd64"), command()};
    default: return {oci("amd64"), oci("arm64")};
  }
}

template <class Q>
std::optional<Q> maybe(Random& random, std::uint64_t percent, std::int64_t low, std::int64_t high) {
  const Q drawn(random.between(low, high));
  if (!draw_percent(random, percent)) return std::nullopt;
  return drawn;
}

}  // namespace

Workload::Workload(Random random, const Cluster& cluster) : random_(random), cluster_(cluster) {
  const auto count = static_cast<std::size_t>(random_.between(4, 9));
  for (std::size_t i = 0; i < count; ++i) draw_line(i);
}

void Workload::draw_line(std::size_t index) {
  Line line;
  const bool component = draw_percent(random_, 20);
  line.item = component ? draw_component(index) : draw_service(index);
  line.fixed_needs = model::is_pinned(line.item);
  line.deployment = fmt::format("d{}", random_.below(4));
  line.request = draw_request(line.item);
  lines_.push_back(std::move(line));
}

model::Item Workload::draw_service(std::size_t index) {
  model::Item item;
  item.id = model::ItemId(fmt::format("svc{}", index));
  item.version = "1";
  item.images = draw_images(random_);
  draw_needs(item);
  item.skip_resource_limits = draw_percent(random_, 5);
  if (draw_percent(random_, 20)) item.shared_resources.push_back("camera");
  if (draw_percent(random_, 10)) item.shared_resources.push_back("bus");
  if (draw_percent(random_, 15)) item.balancing = model::Balancing::Disabled;
  if (draw_percent(random_, 25)) item.move = model::MovePolicy::StopFirst;
  if (index % 4 == 3) item.state_move = model::StateMove::LastCopy;
  if (draw_percent(random_, 10)) item.tolerates.insert(model::Toleration::RuntimeNotReady);
  if (draw_percent(random_, 10)) item.tolerates.insert(model::Toleration::NodeNotReady);
  if (draw_percent(random_, 25)) item.health = model::HealthCheck{.probe = model::TcpCheck{80}};
  if (draw_percent(random_, 10)) {
    item.args = {"finish", fmt::format("{}", random_.between(5, 120))};
    item.restart.mode = model::RestartMode::OnFailure;
  } else if (draw_percent(random_, 10)) {
    item.restart.mode = model::RestartMode::Never;
  }
  item.owner = model::OwnerId(fmt::format("owner{}", random_.below(3)));
  if (draw_percent(random_, 20)) item.hosts.push_back(item.id.value() + ".local");
  draw_connections(item);
  return item;
}

void Workload::draw_connections(model::Item& item) {
  item.ports.clear();
  item.allowed_connections.clear();
  if (draw_percent(random_, 60)) item.ports.push_back({80, model::Protocol::Tcp});
  if (draw_percent(random_, 20)) item.ports.push_back({53, model::Protocol::Udp});
  if (!draw_percent(random_, 50)) return;
  const model::ItemId other(fmt::format("svc{}", random_.below(9)));
  item.allowed_connections.push_back({other, {80, model::Protocol::Tcp}});
}

model::Item Workload::draw_component(std::size_t index) {
  model::Item item;
  item.id = model::ItemId(fmt::format("rootfs{}", index));
  item.type = model::ItemType::Component;
  item.version = "1";
  model::Image image;
  image.form = model::RootfsImage{"rootfs.tar"};
  item.images.push_back(image);
  return item;
}

void Workload::draw_needs(model::Item& item) {
  item.quotas = {.cpu = maybe<Dmips>(random_, 80, 100, 4000),
                 .ram = maybe<Bytes>(random_, 80, 16 * kMebibyte, 1024 * kMebibyte),
                 .storage = maybe<Bytes>(random_, 40, kMebibyte, 256 * kMebibyte),
                 .state = maybe<Bytes>(random_, 40, kMebibyte, 8 * kMebibyte)};
  item.request = {.cpu = maybe<Dmips>(random_, 50, 50, 2000),
                  .ram = maybe<Bytes>(random_, 50, 16 * kMebibyte, 512 * kMebibyte),
                  .storage = {},
                  .state = {}};
}

model::RunRequest Workload::draw_request(const model::Item& item) {
  model::RunRequest request;
  request.item = item.id;
  request.version = item.version;
  request.subject = model::SubjectId(draw_percent(random_, 50) ? "vehicle" : "default");
  request.priority = random_.between(0, 3) * 100;
  request.instances = static_cast<std::uint32_t>(random_.between(1, 4));
  if (item.type == model::ItemType::Component && draw_percent(random_, 80)) {
    request.instances = std::nullopt;
  }
  if (draw_percent(random_, 15)) request.labels.push_back("zone=edge");
  if (draw_percent(random_, 10)) request.labels.push_back("gpu=true");
  for (const model::Node& node : cluster_.nodes) {
    if (draw_percent(random_, 5)) request.nodes.push_back(node.id);
  }
  return request;
}

// --- Calls -------------------------------------------------------------------------------------

model::Deployment Workload::deployment(const std::string& name) const {
  model::Deployment result{.name = name, .run = {}};
  for (const Line& line : lines_) {
    if (line.deployment == name) result.run.push_back(line.request);
  }
  return result;
}

control::Event Workload::first_call() {
  control::ApplyCall call{.call = ++last_call_, .documents = {}, .if_revision = {}};
  for (const model::NodeConfig& config : cluster_.configs) call.documents.emplace_back(config);
  std::set<std::string> names;
  for (const Line& line : lines_) {
    call.documents.emplace_back(line.item);
    names.insert(line.deployment);
  }
  for (const std::string& name : names) call.documents.emplace_back(deployment(name));
  return call;
}

control::Event Workload::next_call() {
  const std::uint64_t dice = random_.below(100);
  if (dice < 29) return change_a_request();
  if (dice < 35) return pause_an_instance();
  if (dice < 60) return update_an_item();
  if (dice < 67) return remove_a_deployment();
  if (dice < 72) return remove_an_old_version();
  if (dice < 90) return cordon_a_node();
  if (dice < 93) return ask_for_nonsense();
  if (dice < 95) return forget_a_node();
  switch (random_.below(5)) {
    case 0: return override_variables();
    case 1: return change_a_subject();
    case 2: return delete_an_instance();
    default: return break_an_item();
  }
}

control::Event Workload::apply(const std::string& name, std::vector<model::Document> documents) {
  // The items go along, so that a call works whatever happened to earlier ones.
  for (const Line& line : lines_) {
    if (line.deployment == name) documents.emplace_back(line.item);
  }
  documents.emplace_back(deployment(name));
  return control::ApplyCall{
      .call = ++last_call_, .documents = std::move(documents), .if_revision = {}};
}

control::Event Workload::change_a_request() {
  Line& line = draw_a_line();
  if (line.request.instances && draw_percent(random_, 80)) {
    line.request.instances = static_cast<std::uint32_t>(random_.between(0, 5));
  } else {
    line.request.priority = random_.between(0, 3) * 100;
  }
  return apply(line.deployment, {});
}

control::Event Workload::update_an_item() {
  Line& line = draw_a_line();
  line.item.version = fmt::format("{}", ++last_version_);
  line.item.env["VERSION"] = line.item.version;
  if (!line.fixed_needs && draw_percent(random_, 50)) draw_needs(line.item);
  const bool is_service = line.item.type == model::ItemType::Service;
  if (is_service && draw_percent(random_, 30)) draw_connections(line.item);
  line.request.version = line.item.version;
  return apply(line.deployment, {});
}

// A version that does not come up anywhere; the next one is well again.
control::Event Workload::break_an_item() {
  Line& line = draw_a_line();
  const model::Item well = line.item;
  line.item.version = fmt::format("{}", ++last_version_);
  line.item.args = {"break"};
  line.request.version = line.item.version;
  control::Event event = apply(line.deployment, {});
  std::get<control::ApplyCall>(event).allow_partial = draw_percent(random_, 30);
  line.item = well;
  line.request.version = well.version;
  return event;
}

control::Event Workload::override_variables() {
  model::EnvOverride list{.name = fmt::format("o{}", random_.below(3)), .entries = {}};
  for (std::uint64_t i = random_.below(3); i > 0; --i) {
    model::EnvEntry entry;
    if (draw_percent(random_, 80)) entry.item = draw_a_line().item.id;
    if (draw_percent(random_, 30)) entry.index = static_cast<std::uint32_t>(random_.below(3));
    std::optional<Duration> expires;
    if (draw_percent(random_, 50)) expires = draw(random_, 1s, 120s);
    entry.variables.push_back(
        {.name = "LEVEL", .value = fmt::format("{}", random_.below(4)), .expires = expires});
    list.entries.push_back(std::move(entry));
  }
  return control::ApplyCall{.call = ++last_call_, .documents = {list}, .if_revision = {}};
}

control::Event Workload::change_a_subject() {
  const model::Subject subject{
      .id = model::SubjectId(draw_percent(random_, 50) ? "vehicle" : "default"),
      .present = draw_percent(random_, 60)};
  return control::ApplyCall{.call = ++last_call_, .documents = {subject}, .if_revision = {}};
}

// Only one that nobody asks for is really deleted.
control::Event Workload::delete_an_instance() {
  const model::RunRequest& request = draw_a_line().request;
  const model::InstanceKey key{request.item, request.subject,
                               static_cast<std::uint32_t>(random_.below(5))};
  return control::DeleteCall{++last_call_, "Instance", model::to_string(key)};
}

control::Event Workload::pause_an_instance() {
  const model::RunRequest& request = draw_a_line().request;
  const model::InstanceKey key{request.item, request.subject,
                               static_cast<std::uint32_t>(random_.below(3))};
  const auto pausing = draw_percent(random_, 60) ? model::Pausing::Paused : model::Pausing::Running;
  return control::PauseCall{++last_call_, key, pausing};
}

control::Event Workload::remove_a_deployment() {
  return control::DeleteCall{++last_call_, "Deployment", draw_a_line().deployment};
}

control::Event Workload::remove_an_old_version() {
  const std::string item = draw_a_line().item.id.value();
  const std::uint64_t version = 1 + random_.below(last_version_);
  return control::DeleteCall{++last_call_, "Item", fmt::format("{}@{}", item, version)};
}

control::Event Workload::cordon_a_node() {
  const model::NodeId& node = draw_one(random_, cluster_.nodes).id;
  if (draw_percent(random_, 25)) {
    // Over before the checkers expect rest.
    return control::DrainCall{++last_call_, node, "maintenance", Duration(2s)};
  }
  const auto scheduling =
      draw_percent(random_, 40) ? control::Scheduling::Cordoned : control::Scheduling::Allowed;
  return control::CordonCall{++last_call_, node, scheduling};
}

control::Event Workload::ask_for_nonsense() {
  model::RunRequest request = draw_a_line().request;  // as it is, it would be asked for twice
  if (draw_percent(random_, 50)) request.item = model::ItemId("unheard-of");
  const model::Deployment nonsense{.name = "nonsense", .run = {request}};
  return control::ApplyCall{.call = ++last_call_, .documents = {nonsense}, .if_revision = {}};
}

control::Event Workload::forget_a_node() {
  return control::ForgetNodeCall{++last_call_, draw_one(random_, cluster_.nodes).id};
}

}  // namespace berth::sim
