#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/bench.h"
#include "bench/real_unit.h"
#include "model/application.h"
#include "model/document.h"
#include "model/item.h"

// The parts of the benchmark of sessions, and how its rows look.
namespace berth::bench {

void add_session_core(std::vector<Row>& rows);
void add_session_units(std::vector<Row>& rows);
void add_session_cold(std::vector<Row>& rows);

// What is asked for in them.
inline constexpr char kSessionNamespace[] = "bench";
model::Item served_by(model::ImageForm form, std::vector<std::string> arguments);
model::Application served(const std::string& name, std::uint32_t ready);
// Until it is durable.
void apply(const RealUnit& unit, const std::vector<model::Document>& documents);

// "reached" or "not reached".
std::string verdict(bool reached);
// 1,000,000.
std::string with_commas(std::uint64_t number);

}  // namespace berth::bench
