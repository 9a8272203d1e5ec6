#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "berth/v1/agent.pb.h"
#include "codec/path.h"
#include "codec/rules.h"
#include "codec/wire.h"
#include "model/pool.h"

// What the files that translate messages of the wire share.
namespace berth::codec::wire {

inline Error wrong(const Path& at, std::string_view what) {
  return invalid_input(fmt::format("{}: {}", to_string(at), what));
}

inline Result<void> check(const Flaw& flaw, const Path& at) {
  if (flaw) return wrong(at, *flaw);
  return {};
}

template <class Rule>
Result<std::string> text_by(Rule rule, const std::string& text, const Path& at) {
  TRY(check(flaw_of(std::string_view(text), rule), at));
  return text;
}

template <class Id>
Result<Id> id_of(const std::string& text, const Path& at) {
  TRY(text_by(Name{}, text, at));
  return Id(text);
}

inline Result<std::string> text_for_people(const std::string& text, const Path& at) {
  if (text.size() > WireLimits::kTextBytesMax) return wrong(at, "is too long");
  TRY(check(standing_flaw_of(text), at));
  return text;
}

inline Result<std::int64_t> integer_in(const Range& range, std::int64_t value, const Path& at) {
  if (value >= range.least && value <= range.most) return value;
  return wrong(at, fmt::format("must be {} to {}, not {}", range.least, range.most, value));
}

template <class T, class List, class ReadOne>
Result<std::vector<T>> read_list(const List& list, const Path& at, std::size_t size_max,
                                 ReadOne read_one) {
  const auto size = static_cast<std::size_t>(list.size());
  if (size > size_max) {
    return wrong(at, fmt::format("has {} entries, more than {}", size, size_max));
  }
  std::vector<T> out;
  out.reserve(size);
  for (const auto& one : list) out.push_back(TRY(read_one(one, Path(at, out.size()))));
  return out;
}

// In wire.cc.
v1::InstanceSpec write_spec(const model::InstanceSpec& spec);
Result<model::InstanceSpec> read_spec(model::InstanceKey key, const v1::InstanceSpec& spec,
                                      const Path& at);
Result<model::Usage> read_usage(const v1::Usage& usage, const Path& at);
Result<model::Problem> read_problem(const v1::Problem& problem, const Path& at);

// In pool_wire.cc.
v1::PoolReport write_pool(const model::PoolReport& report);
Result<model::PoolReport> read_pool(const v1::PoolReport& report, const Path& at);
Result<model::InstanceKey> read_pool_key(const v1::InstanceKey& key, const Path& at);

}  // namespace berth::codec::wire
