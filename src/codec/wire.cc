#include "codec/wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "codec/describe_records.h"
#include "codec/json_reader.h"
#include "codec/json_writer.h"
#include "codec/reader.h"
#include "codec/rules.h"
#include "codec/text.h"
#include "codec/wire_parts.h"

namespace berth::codec {
namespace {

using namespace wire;

v1::Hindrance to_wire(model::Hindrance hindrance) {
  switch (hindrance) {
    case model::Hindrance::None: return v1::HINDRANCE_UNSPECIFIED;
    case model::Hindrance::BeingFetched: return v1::BEING_FETCHED;
    case model::Hindrance::RuntimeNotReady: return v1::RUNTIME_NOT_READY;
    case model::Hindrance::StoreNotWritable: return v1::STORE_NOT_WRITABLE;
    case model::Hindrance::PortTaken: return v1::PORT_TAKEN;
  }
  CHECK(false, "unknown hindrance");
}

// The wire takes only UTF-8: a message with anything else would be refused as a whole.
std::string to_utf8(std::string_view text) {
  std::string clean;
  while (!text.empty()) {
    const std::size_t valid = valid_utf8_prefix(text);
    clean += text.substr(0, valid);
    text.remove_prefix(valid);
    if (text.empty()) break;
    clean += '?';
    text.remove_prefix(1);
  }
  return clean;
}

std::string for_people(std::string_view text) {
  std::string clean = to_utf8(text.substr(0, WireLimits::kTextBytesMax + 4));
  std::ranges::replace(clean, '\0', '?');
  clean.resize(std::min(clean.size(), WireLimits::kTextBytesMax));
  clean.resize(valid_utf8_prefix(clean));
  return clean;
}

v1::CommandNumber to_wire(const model::CommandNumber& number) {
  v1::CommandNumber out;
  out.set_epoch(number.epoch);
  out.set_number(number.number);
  return out;
}

v1::InstanceSpec to_wire(const model::InstanceSpec& spec) {
  v1::InstanceSpec out;
  *out.mutable_key() = codec::to_wire(spec.key);
  write_json(*out.mutable_item(), spec.item);
  out.set_image(spec.image);
  out.set_runtime(spec.runtime.value());
  out.set_priority(spec.priority);
  out.set_uid(spec.uid);
  out.set_gid(spec.gid);
  if (spec.network) write_json(*out.mutable_network(), *spec.network);
  out.set_paused(spec.paused);
  return out;
}

v1::ToldOrders to_wire(const model::ToldOrders& told) {
  v1::ToldOrders out;
  for (const auto& spec : told.run) *out.add_run() = to_wire(spec);
  if (told.network) write_json(*out.mutable_network(), *told.network);
  return out;
}

v1::SavedState to_wire(const model::SavedState& state) {
  v1::SavedState out;
  *out.mutable_key() = codec::to_wire(state.key);
  out.set_generation(state.generation);
  out.set_digest(state.digest);
  out.set_content(state.content);
  return out;
}

v1::NodeMeasurement to_wire(const model::NodeMeasurement& measurement) {
  v1::NodeMeasurement out;
  *out.mutable_traffic() = codec::to_wire(measurement.traffic);
  for (const auto& partition : measurement.partitions) {
    *out.add_partitions() = codec::to_wire(partition);
  }
  return out;
}

v1::ReportedStatus to_wire(const model::ReportedStatus& status) {
  v1::ReportedStatus out;
  *out.mutable_key() = codec::to_wire(status.key);
  out.set_type(std::string(model::to_string(status.type)));
  out.set_version(status.version);
  out.set_runtime(status.runtime.value());
  out.set_state(codec::to_wire(status.state));
  if (status.problem != model::Problem{}) *out.mutable_problem() = codec::to_wire(status.problem);
  if (status.exit_code) out.set_exit_code(*status.exit_code);
  out.set_restarts(status.restarts);
  out.set_finished(status.finished);
  out.set_stopping(status.stopping);
  out.set_prepare_only(status.prepare_only);
  if (status.usage != model::Usage{}) *out.mutable_usage() = codec::to_wire(status.usage);
  if (status.footprint != model::Footprint{}) {
    *out.mutable_footprint() = codec::to_wire(status.footprint);
  }
  return out;
}

// By the rules of manifests: what was written as a record has passed them before.
template <class T>
Result<T> document_of(const std::string& json, const Path& at,
                      std::size_t bytes_max = WireLimits::kDocumentBytesMax) {
  if (json.size() > bytes_max) return wrong(at, "is too long");
  const auto tree = read_json(json);
  if (!tree) return wrong(at, tree.error().message);
  Notes notes;
  auto document = initial<T>();
  Reader(Form::Manifest, notes).read(*tree, document, at);
  for (const Note& note : notes.sorted()) {
    if (note.level == Level::Error) return invalid_input(note.path + ": " + note.what);
  }
  CHECK(notes.error_count() == 0, "an error has a note");
  return document;
}

model::CommandNumber read(const v1::CommandNumber& number) {
  return {number.epoch(), number.number()};
}

Result<model::Receipt> read(const v1::Receipt& receipt, const Path& at) {
  model::Receipt out;
  out.cluster = TRY(text_by(Name{}, receipt.cluster(), Path(at, "cluster")));
  out.number = read(receipt.number());
  out.seal = TRY(text_by(Name{}, receipt.seal(), Path(at, "seal")));
  out.life = receipt.life();
  return out;
}

Result<model::NodeNetwork> read_network(const std::string& json, const Path& at) {
  return document_of<model::NodeNetwork>(json, at, WireLimits::kNetworkBytesMax);
}

Result<model::InstanceKey> read(const v1::InstanceKey& key, const Path& at) {
  model::InstanceKey out;
  out.item = TRY(id_of<model::ItemId>(key.item(), Path(at, "item")));
  out.subject = TRY(id_of<model::SubjectId>(key.subject(), Path(at, "subject")));
  out.index = key.index();
  return out;
}

Result<model::Usage> read(const v1::Usage& usage, const Path& at) {
  return model::Usage{Dmips(TRY(integer_in(kDmips, usage.cpu(), Path(at, "cpu")))),
                      Bytes(TRY(integer_in(kBytes, usage.ram(), Path(at, "ram"))))};
}

Result<model::Traffic> read(const v1::Traffic& traffic, const Path& at) {
  model::Traffic out;
  out.received = TRY(integer_in(kBytes, traffic.received(), Path(at, "received")));
  out.sent = TRY(integer_in(kBytes, traffic.sent(), Path(at, "sent")));
  return out;
}

Result<Bytes> read_bytes(std::int64_t bytes, const Path& at) {
  return Bytes(TRY(integer_in(kBytes, bytes, at)));
}

Result<model::PartitionUsage> read(const v1::PartitionUsage& partition, const Path& at) {
  model::PartitionUsage out;
  out.name = TRY(text_by(Name{}, partition.name(), Path(at, "name")));
  out.size = TRY(read_bytes(partition.size(), Path(at, "size")));
  out.used = TRY(read_bytes(partition.used(), Path(at, "used")));
  return out;
}

Result<model::Footprint> read(const v1::Footprint& footprint, const Path& at) {
  model::Footprint out;
  out.storage = TRY(read_bytes(footprint.storage(), Path(at, "storage")));
  out.state = TRY(read_bytes(footprint.state(), Path(at, "state")));
  out.traffic = TRY(read(footprint.traffic(), Path(at, "traffic")));
  return out;
}

Result<model::SavedState> read(const v1::SavedState& state, const Path& at) {
  if (state.content().size() > WireLimits::kStateBytesMax) {
    return wrong(Path(at, "content"), "is too long");
  }
  model::SavedState out;
  out.key = TRY(read(state.key(), Path(at, "key")));
  out.generation = state.generation();
  out.digest = TRY(text_by(Name{}, state.digest(), Path(at, "digest")));
  out.content = state.content();
  return out;
}

// An agent of an earlier release says it in words only.
model::Hindrance hindrance_in_words(std::string_view reason) {
  if (reason == "Pulling") return model::Hindrance::BeingFetched;
  if (reason == "RuntimeNotReady") return model::Hindrance::RuntimeNotReady;
  if (reason == "StoreNotWritable") return model::Hindrance::StoreNotWritable;
  return model::Hindrance::None;
}

Result<model::Hindrance> read(v1::Hindrance hindrance, std::string_view reason, const Path& at) {
  switch (hindrance) {
    case v1::HINDRANCE_UNSPECIFIED: return hindrance_in_words(reason);
    case v1::BEING_FETCHED: return model::Hindrance::BeingFetched;
    case v1::RUNTIME_NOT_READY: return model::Hindrance::RuntimeNotReady;
    case v1::STORE_NOT_WRITABLE: return model::Hindrance::StoreNotWritable;
    case v1::PORT_TAKEN: return model::Hindrance::PortTaken;
    default: return wrong(at, "is not known");
  }
}

Result<model::Problem> read(const v1::Problem& problem, const Path& at) {
  model::Problem out;
  out.reason = TRY(text_for_people(problem.reason(), Path(at, "reason")));
  out.message = TRY(text_for_people(problem.message(), Path(at, "message")));
  out.hindrance = TRY(read(problem.hindrance(), out.reason, Path(at, "hindrance")));
  return out;
}

Result<model::InstanceState> read(v1::InstanceState state, const Path& at) {
  switch (state) {
    case v1::ACTIVATING: return model::InstanceState::Activating;
    case v1::ACTIVE: return model::InstanceState::Active;
    case v1::INACTIVE: return model::InstanceState::Inactive;
    case v1::FAILED: return model::InstanceState::Failed;
    case v1::PAUSED: return model::InstanceState::Paused;
    default: return wrong(at, fmt::format("{} is no state", static_cast<int>(state)));
  }
}

Result<model::ItemType> read_type(const std::string& word, const Path& at) {
  const auto type = model::from_string<model::ItemType>(word);
  if (!type) return wrong(at, in_quotes(word) + " is no type of an item");
  return *type;
}

// What the agent takes for granted when it looks for the image. A pool is called otherwise than
// what its instances run.
Result<void> check_whole(const model::InstanceSpec& spec, const Path& at) {
  if (spec.item.id != spec.key.item && !model::is_pool_instance(spec.key)) {
    return wrong(Path(at, "item"), fmt::format("is {}, but the key says {}", spec.item.id.value(),
                                               spec.key.item.value()));
  }
  if (spec.image >= spec.item.images.size()) {
    return wrong(Path(at, "image"), fmt::format("there is no image {}", spec.image));
  }
  return {};
}

Result<model::InstanceSpec> read_with(model::InstanceKey key, const v1::InstanceSpec& spec,
                                      const Path& at) {
  model::InstanceSpec out;
  out.key = std::move(key);
  out.item = TRY(document_of<model::Item>(spec.item(), Path(at, "item")));
  out.image = spec.image();
  out.runtime = TRY(id_of<model::RuntimeId>(spec.runtime(), Path(at, "runtime")));
  out.priority = TRY(integer_in(kPriority, spec.priority(), Path(at, "priority")));
  out.uid = spec.uid();
  out.gid = spec.gid();
  if (!spec.network().empty()) {
    out.network = TRY(document_of<model::InstanceNetwork>(spec.network(), Path(at, "network")));
  }
  out.paused = spec.paused();
  TRY(check_whole(out, at));
  return out;
}

Result<model::InstanceSpec> read(const v1::InstanceSpec& spec, const Path& at) {
  auto key = TRY(read(spec.key(), Path(at, "key")));
  return read_with(std::move(key), spec, at);
}

// Of an instance whose data are being erased nothing is left that had a version or a runtime, and
// an agent that was restarted meanwhile knows neither.
bool is_only_erased(const v1::ReportedStatus& status) {
  return status.stopping() && status.state() == v1::INACTIVE && status.version().empty() &&
         status.runtime().empty();
}

Result<model::ReportedStatus> read(const v1::ReportedStatus& status, const Path& at) {
  model::ReportedStatus out;
  out.key = TRY(read(status.key(), Path(at, "key")));
  out.type = TRY(read_type(status.type(), Path(at, "type")));
  if (!is_only_erased(status)) {
    out.version = TRY(text_by(Version{}, status.version(), Path(at, "version")));
    out.runtime = TRY(id_of<model::RuntimeId>(status.runtime(), Path(at, "runtime")));
  }
  out.state = TRY(read(status.state(), Path(at, "state")));
  out.problem = TRY(read(status.problem(), Path(at, "problem")));
  out.restarts = status.restarts();
  out.finished = status.finished();
  out.stopping = status.stopping();
  out.prepare_only = status.prepare_only();
  out.usage = TRY(read(status.usage(), Path(at, "usage")));
  out.footprint = TRY(read(status.footprint(), Path(at, "footprint")));
  if (status.has_exit_code()) out.exit_code = status.exit_code();
  return out;
}

template <class T, class List>
Result<std::vector<T>> read_all(const List& list, const Path& at) {
  return read_list<T>(list, at, WireLimits::kInstancesMax,
                      [](const auto& one, const Path& here) { return read(one, here); });
}

Result<model::ToldOrders> read(const v1::ToldOrders& told, const Path& at) {
  model::ToldOrders out;
  out.run = TRY(read_all<model::InstanceSpec>(told.run(), Path(at, "run")));
  if (!told.network().empty()) {
    out.network = TRY(read_network(told.network(), Path(at, "network")));
  }
  return out;
}

Result<model::NodeMeasurement> read(const v1::NodeMeasurement& measurement, const Path& at) {
  model::NodeMeasurement out;
  out.traffic = TRY(read(measurement.traffic(), Path(at, "traffic")));
  out.partitions =
      TRY(read_all<model::PartitionUsage>(measurement.partitions(), Path(at, "partitions")));
  return out;
}

Result<model::NodeInfo> read_node(const std::string& json, const Path& at) {
  model::Node node;
  node.info = TRY(document_of<model::NodeInfo>(json, at));
  for (const Remark& remark : remarks_on(node)) {
    if (remark.level == Level::Error) return wrong(Path(at, remark.path), remark.what);
  }
  return std::move(node.info);
}

}  // namespace

v1::InstanceSpec wire::write_spec(const model::InstanceSpec& spec) { return to_wire(spec); }

Result<model::InstanceSpec> wire::read_spec(model::InstanceKey key, const v1::InstanceSpec& spec,
                                            const Path& at) {
  return read_with(std::move(key), spec, at);
}

Result<model::Usage> wire::read_usage(const v1::Usage& usage, const Path& at) {
  return read(usage, at);
}

Result<model::Problem> wire::read_problem(const v1::Problem& problem, const Path& at) {
  return read(problem, at);
}

v1::InstanceKey to_wire(const model::InstanceKey& key) {
  v1::InstanceKey out;
  out.set_item(key.item.value());
  out.set_subject(key.subject.value());
  out.set_index(key.index);
  return out;
}

v1::Usage to_wire(const model::Usage& usage) {
  v1::Usage out;
  out.set_cpu(usage.cpu.count());
  out.set_ram(usage.ram.count());
  return out;
}

v1::Traffic to_wire(const model::Traffic& traffic) {
  v1::Traffic out;
  out.set_received(traffic.received);
  out.set_sent(traffic.sent);
  return out;
}

v1::PartitionUsage to_wire(const model::PartitionUsage& partition) {
  v1::PartitionUsage out;
  out.set_name(partition.name);
  out.set_size(partition.size.count());
  out.set_used(partition.used.count());
  return out;
}

v1::Footprint to_wire(const model::Footprint& footprint) {
  v1::Footprint out;
  out.set_storage(footprint.storage.count());
  out.set_state(footprint.state.count());
  *out.mutable_traffic() = to_wire(footprint.traffic);
  return out;
}

v1::Problem to_wire(const model::Problem& problem) {
  v1::Problem out;
  out.set_reason(for_people(problem.reason));
  out.set_message(for_people(problem.message));
  out.set_hindrance(to_wire(problem.hindrance));
  return out;
}

v1::InstanceState to_wire(model::InstanceState state) {
  switch (state) {
    case model::InstanceState::Activating: return v1::ACTIVATING;
    case model::InstanceState::Active: return v1::ACTIVE;
    case model::InstanceState::Inactive: return v1::INACTIVE;
    case model::InstanceState::Failed: return v1::FAILED;
    case model::InstanceState::Paused: return v1::PAUSED;
  }
  CHECK(false, "unknown state");
}

v1::Receipt to_wire(const model::Receipt& receipt) {
  v1::Receipt out;
  out.set_cluster(receipt.cluster);
  *out.mutable_number() = to_wire(receipt.number);
  out.set_seal(receipt.seal);
  out.set_life(receipt.life);
  return out;
}

v1::Command to_wire(const model::Command& command) {
  v1::Command out;
  *out.mutable_number() = to_wire(command.number);
  if (command.base) *out.mutable_base() = to_wire(*command.base);
  for (const auto& spec : command.run) {
    *(spec.prepare_only ? out.add_prepare() : out.add_run()) = to_wire(spec);
  }
  for (const auto& key : command.stop) *out.add_stop() = to_wire(key);
  for (const auto& key : command.keep) *out.add_keep() = to_wire(key);
  out.set_report_fully(command.report_fully);
  if (command.network) write_json(*out.mutable_network(), *command.network);
  for (const auto& state : command.states) *out.add_states() = to_wire(state);
  for (const auto& key : command.erase) *out.add_erase() = to_wire(key);
  out.set_report_told(command.report_told);
  if (command.receipt) *out.mutable_receipt() = to_wire(*command.receipt);
  return out;
}

v1::Report to_wire(const model::Report& report) {
  v1::Report out;
  out.set_boot_id(report.boot_id);
  out.set_revision(report.revision);
  *out.mutable_acted() = to_wire(report.acted);
  out.set_full(report.full);
  if (report.node) {
    model::NodeInfo node = *report.node;
    out.set_store_problem(to_utf8(std::exchange(node.store_problem, {})));
    write_json(*out.mutable_node(), node);
  }
  for (const auto& [runtime, time] : report.not_ready_for) {
    (*out.mutable_not_ready_for_us())[runtime.value()] = time.count();
  }
  if (report.usage) *out.mutable_usage() = to_wire(*report.usage);
  for (const auto& status : report.instances) *out.add_instances() = to_wire(status);
  for (const auto& key : report.gone) *out.add_gone() = to_wire(key);
  if (report.measurement) *out.mutable_measurement() = to_wire(*report.measurement);
  for (const auto& state : report.states) *out.add_states() = to_wire(state);
  if (report.receipt) *out.mutable_receipt() = to_wire(*report.receipt);
  if (report.told) *out.mutable_told() = to_wire(*report.told);
  for (const auto& runtime : report.untold_runtimes) out.add_untold_runtimes(runtime.value());
  out.set_in_doubt(report.in_doubt);
  if (report.pool) *out.mutable_pool() = write_pool(*report.pool);
  return out;
}

Result<model::InstanceKey> from_wire(const v1::InstanceKey& key) {
  const bool is_of_pool = !key.item().empty() && key.item().front() == model::kPoolMark;
  return is_of_pool ? read_pool_key(key, Path()) : read(key, Path());
}

Result<model::Command> from_wire(const v1::Command& command) {
  const Path top;
  if (!command.has_number()) return wrong(Path(top, "number"), "is missing");
  if (command.has_base() && command.keep_size() > 0) {
    return wrong(Path(top, "keep"), "only a full command can have it");
  }
  model::Command out;
  out.number = read(command.number());
  out.run = TRY(read_all<model::InstanceSpec>(command.run(), Path(top, "run")));
  auto prepare = TRY(read_all<model::InstanceSpec>(command.prepare(), Path(top, "prepare")));
  for (model::InstanceSpec& spec : prepare) {
    spec.prepare_only = true;
    out.run.push_back(std::move(spec));
  }
  out.stop = TRY(read_all<model::InstanceKey>(command.stop(), Path(top, "stop")));
  out.keep = TRY(read_all<model::InstanceKey>(command.keep(), Path(top, "keep")));
  out.states = TRY(read_all<model::SavedState>(command.states(), Path(top, "states")));
  out.erase = TRY(read_all<model::InstanceKey>(command.erase(), Path(top, "erase")));
  out.report_fully = command.report_fully();
  if (!command.network().empty()) {
    out.network = TRY(read_network(command.network(), Path(top, "network")));
  }
  out.report_told = command.report_told();
  if (command.has_receipt()) out.receipt = TRY(read(command.receipt(), Path(top, "receipt")));
  if (command.has_base()) out.base = read(command.base());
  return out;
}

Result<model::Report> from_wire(const v1::Report& report) {
  const Path top;
  model::Report out;
  out.boot_id = TRY(text_by(Label{}, report.boot_id(), Path(top, "bootId")));
  out.revision = report.revision();
  out.acted = read(report.acted());
  out.full = report.full();
  out.in_doubt = report.in_doubt();
  out.instances = TRY(read_all<model::ReportedStatus>(report.instances(), Path(top, "instances")));
  out.gone = TRY(read_all<model::InstanceKey>(report.gone(), Path(top, "gone")));
  out.states = TRY(read_all<model::SavedState>(report.states(), Path(top, "states")));
  if (report.has_measurement()) {
    out.measurement = TRY(read(report.measurement(), Path(top, "measurement")));
  }
  if (!report.node().empty()) {
    out.node = TRY(read_node(report.node(), Path(top, "node")));
    out.node->store_problem = report.store_problem();
  }
  for (const auto& [runtime, time] : report.not_ready_for_us()) {
    const Path at(top, "notReadyForUs");
    const auto id = TRY(id_of<model::RuntimeId>(runtime, at));
    if (time < 0) return wrong(at, "is negative");
    out.not_ready_for.emplace(id, Duration(time));
  }
  for (const std::string& runtime : report.untold_runtimes()) {
    const auto id = TRY(id_of<model::RuntimeId>(runtime, Path(top, "untoldRuntimes")));
    out.untold_runtimes.push_back(id);
  }
  if (report.has_usage()) out.usage = TRY(read(report.usage(), Path(top, "usage")));
  if (report.has_receipt()) out.receipt = TRY(read(report.receipt(), Path(top, "receipt")));
  if (report.has_told()) out.told = TRY(read(report.told(), Path(top, "told")));
  if (report.has_pool()) out.pool = TRY(read_pool(report.pool(), Path(top, "pool")));
  return out;
}

}  // namespace berth::codec
