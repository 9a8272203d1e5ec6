#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>

#include "model/tables.h"

// The writes of the control plane, as its tables (model/tables.h) have them.
namespace berth::control {

using model::Durable;
using model::KeyOf;
using model::kTableOf;
using model::RequestKey;

// A table by its position in the list.
enum class Table : std::size_t {};

template <class Record>
constexpr Table table_of() {
  return Table{model::kPositionOf<Record>};
}

// As the store has it.
std::string_view to_string(Table table);

template <class... Tables>
auto any_record(const std::tuple<Tables...>&) -> std::variant<typename Tables::Record...>;
using Record = decltype(any_record(model::kTables));

// A durable change; no record = the key is erased.
struct Write {
  Table table{};
  std::string key;
  std::optional<Record> record;

  friend bool operator==(const Write&, const Write&) = default;
};

template <class R>
Write put_write(const R& record) {
  return {table_of<R>(), model::key_text(kTableOf<R>.key_of(record)), Record(record)};
}
template <class R>
Write erase_write(const KeyOf<R>& key) {
  return {table_of<R>(), model::key_text(key), std::nullopt};
}

// REQUIRES: the write was made of these tables.
void apply(Durable& durable, const Write& write);

}  // namespace berth::control
