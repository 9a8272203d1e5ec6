#include "runtime/component/slot_record.h"

#include <fmt/format.h>

#include <cstdint>

#include "codec/json_parts.h"
#include "codec/json_reader.h"
#include "codec/record.h"
#include "codec/scalar.h"

namespace berth::runtime {
namespace {

using codec::Tree;

// Of what a slot was filled with; what is larger is left out, for the record must stay small.
constexpr std::size_t kSpecBytesMax = 256 << 10;

Error damaged(std::string message) { return {Code::Damaged, std::move(message)}; }

std::string encode(const std::optional<model::InstanceSpec>& spec) {
  const std::string text = spec ? codec::json::text(codec::encode_record(*spec)) : "";
  return text.size() > kSpecBytesMax ? "" : text;
}

std::string encode(const model::RunId& run) {
  return codec::json::object({{"epoch", std::to_string(run.generation.epoch)},
                              {"number", std::to_string(run.generation.number)},
                              {"attempt", std::to_string(run.attempt)}});
}

std::string encode(const std::optional<Component>& component) {
  if (!component) return "";
  const model::FoundRun& found = component->found;
  return codec::json::object({{"item", codec::json::text(found.key.item.value())},
                              {"subject", codec::json::text(found.key.subject.value())},
                              {"index", std::to_string(found.key.index)},
                              {"version", codec::json::text(found.version)},
                              {"identity", codec::json::text(component->identity)},
                              {"revert", codec::json::texts(component->revert)},
                              {"run", encode(found.run)},
                              {"ended", component->ended ? "true" : "false"},
                              {"spec", encode(found.spec)}});
}

// A number that may be left out.
template <class Number>
Result<Number> number_at(const Tree& tree, std::string_view name) {
  const Tree* member = codec::json::member(tree, name);
  if (member == nullptr) return Number{};
  const auto number = codec::parse_integer<Number>(member->text);
  if (!number) return damaged(fmt::format("{}: {}", name, number.error().message));
  return *number;
}

Result<std::string> required_text(const Tree& tree, std::string_view name) {
  std::string text = codec::json::text_at(tree, {name});
  if (text.empty()) return damaged(fmt::format("{} is missing", name));
  return text;
}

Result<model::RunId> decode_run(const Tree& tree) {
  const Tree* member = codec::json::member(tree, "run");
  if (member == nullptr) return model::RunId{};
  model::RunId run;
  run.generation.epoch = TRY(number_at<std::uint64_t>(*member, "epoch"));
  run.generation.number = TRY(number_at<std::uint64_t>(*member, "number"));
  run.attempt = TRY(number_at<std::uint32_t>(*member, "attempt"));
  return run;
}

Result<Component> decode_component(const Tree& tree) {
  Component component;
  model::FoundRun& found = component.found;
  found.key.item = model::ItemId(TRY(required_text(tree, "item")));
  const std::string subject = codec::json::text_at(tree, {"subject"});
  found.key.subject = model::SubjectId(subject.empty() ? "default" : subject);
  found.key.index = TRY(number_at<std::uint32_t>(tree, "index"));
  found.version = TRY(required_text(tree, "version"));
  found.type = model::ItemType::Component;
  found.run = TRY(decode_run(tree));
  if (auto spec = codec::decode_record<model::InstanceSpec>(codec::json::text_at(tree, {"spec"}))) {
    found.spec = *std::move(spec);
  }
  component.identity = codec::json::text_at(tree, {"identity"});
  component.ended = codec::json::text_at(tree, {"ended"}) == "true";
  if (const Tree* revert = codec::json::member(tree, "revert")) {
    for (const Tree& argument : revert->children) component.revert.push_back(argument.text);
  }
  return component;
}

Result<std::optional<Component>> decode_slot(const Tree& tree, Slot slot) {
  const Tree* slots = codec::json::member(tree, "slots");
  const Tree* held =
      slots != nullptr ? codec::json::member(*slots, model::to_string(slot)) : nullptr;
  if (held == nullptr) return std::optional<Component>();
  auto component = decode_component(*held);
  if (component) return std::optional(*std::move(component));
  return damaged(fmt::format("slot {}: {}", model::to_string(slot), component.error().message));
}

template <class Enum>
Result<Enum> word_at(const Tree& tree, std::string_view name, Enum otherwise) {
  const Tree* member = codec::json::member(tree, name);
  if (member == nullptr) return otherwise;
  const auto value = model::from_string<Enum>(member->text);
  if (!value)
    return damaged(
        fmt::format("{}: \"{}\" is no {}", name, member->text, model::Names<Enum>::kWhat));
  return *value;
}

}  // namespace

std::string encode(const SlotState& state) {
  const std::string confirmed =
      state.confirmed ? codec::json::text(model::to_string(*state.confirmed)) : "";
  return codec::json::object(
             {{"phase", codec::json::text(model::to_string(state.phase))},
              {"confirmed", confirmed},
              {"slots", codec::json::object({{"a", encode(state.a)}, {"b", encode(state.b)}})}}) +
         "\n";
}

Result<SlotState> decode_slot_state(std::string_view bytes) {
  const Tree tree = TRY(codec::read_json(bytes));
  if (tree.kind != Tree::Kind::Map) return damaged("it is no JSON object");
  SlotState state;
  state.phase = TRY(word_at(tree, "phase", Phase::Settled));
  if (codec::json::member(tree, "confirmed") != nullptr) {
    state.confirmed = TRY(word_at(tree, "confirmed", Slot::A));
  }
  state.a = TRY(decode_slot(tree, Slot::A));
  state.b = TRY(decode_slot(tree, Slot::B));
  if (state.phase != Phase::Settled && !component_in(state, spare_slot(state))) {
    return damaged("an update is under way, but nothing says to what");
  }
  return state;
}

}  // namespace berth::runtime
