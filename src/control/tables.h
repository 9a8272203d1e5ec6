#pragma once

#include <cstddef>
#include <memory>
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

// A record of any table, as it was then. It is not larger than a pointer to it, for many of them
// wait for the disk at a time.
template <class... Records>
class AnyOf {
 public:
  template <class R>
  explicit AnyOf(const R& record) : record_(std::make_shared<const R>(record)) {}

  // REQUIRES: it is of this table.
  template <class R>
  const R& get() const {
    return *std::get<std::shared_ptr<const R>>(record_);
  }
  template <class Visitor>
  decltype(auto) visit(const Visitor& visitor) const {
    return std::visit([&](const auto& record) -> decltype(auto) { return visitor(*record); },
                      record_);
  }

  friend bool operator==(const AnyOf& a, const AnyOf& b) {
    const auto equals = [&b]<class R>(const R& record) { return record == b.get<R>(); };
    return a.record_.index() == b.record_.index() && a.visit(equals);
  }

 private:
  std::variant<std::shared_ptr<const Records>...> record_;
};

template <class... Tables>
auto any_record(const std::tuple<Tables...>&) -> AnyOf<typename Tables::Record...>;
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
