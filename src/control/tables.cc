#include "control/tables.h"

#include "base/check.h"

namespace berth::control {
namespace {

template <class Visit>
void with_table(Table wanted, Visit visit) {
  std::size_t position = 0;
  const auto look_at = [&](const auto& table) {
    if (Table{position++} == wanted) visit(table);
  };
  std::apply([&](const auto&... tables) { (look_at(tables), ...); }, model::kTables);
}

}  // namespace

std::string_view to_string(Table table) {
  std::string_view name;
  with_table(table, [&](const auto& found) { name = found.name; });
  CHECK(!name.empty(), "unknown table");
  return name;
}

void apply(Durable& durable, const Write& write) {
  with_table(write.table, [&]<class Found>(const Found& table) {
    if (write.record) {
      table.put(durable, write.record->get<typename Found::Record>());
      return;
    }
    const auto key = model::read_key<typename Found::Key>(write.key);
    CHECK(key.has_value(), "a key that its table cannot have");
    table.erase(durable, *key);
  });
}

}  // namespace berth::control
