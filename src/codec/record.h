#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/decision.h"
#include "model/deployment.h"
#include "model/pool.h"
#include "model/records.h"

// How controller and agents write what they store: compact JSON, that a person can read in an
// emergency; the state of an instance and the data of sessions follow their line as they are.
// Defined for the records of model/tables.h, and for what agents keep.
namespace berth::codec {

template <class T>
std::string encode_record(const T& record);

// The exact inverse. Code::Damaged, and where, if these bytes are not what encode_record writes.
template <class T>
Result<T> decode_record(std::string_view bytes);

}  // namespace berth::codec
