#include "bench/session_rows.h"

#include <algorithm>
#include <stdexcept>

#include "bench/clusters.h"
#include "codec/manifest.h"

namespace berth::bench {

std::string verdict(bool reached) { return reached ? "reached" : "not reached"; }

std::string with_commas(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
  return text;
}

model::Item served_by(model::ImageForm form, std::vector<std::string> arguments) {
  model::Item item = plain_item();
  item.id = model::ItemId{"served"};
  item.images.front().form = std::move(form);
  item.args = std::move(arguments);
  item.ports = {{7000, model::Protocol::Tcp}};
  return item;
}

model::Application served(const std::string& name, std::uint32_t ready) {
  model::Application application;
  application.name = name;
  application.ns = kSessionNamespace;
  application.item = model::ItemId{"served"};
  application.scaling.minimum = ready;
  application.scaling.maximum = std::max(ready, 1u);
  application.scaling.burst.reset();
  application.sessions.reuse = true;
  return application;
}

// Until it is durable.
void apply(const RealUnit& unit, const std::vector<model::Document>& documents) {
  v1::ApplyRequest request;
  auto& file = *request.add_files();
  file.set_name("bench.yaml");
  for (const model::Document& document : documents) {
    file.set_text(file.text() + codec::to_json(document) + "\n---\n");
  }
  const auto done = client::stream<v1::ApplyEvent>(
      unit.client(), {.method = client::Method::Post, .path = "/v1/apply", .body = &request},
      [](const v1::ApplyEvent& event) { return !event.has_accepted(); });
  if (!done) throw std::runtime_error("apply: " + done.error().message);
}

std::vector<Row> sessions() {
  std::vector<Row> rows;
  add_session_units(rows);
  add_session_cold(rows);
  add_session_core(rows);
  return rows;
}

}  // namespace berth::bench
