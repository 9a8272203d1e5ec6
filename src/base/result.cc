#include "base/result.h"

#include "base/check.h"

namespace berth {

std::string_view to_string(Code code) {
  switch (code) {
    case Code::InvalidInput: return "invalid input";
    case Code::NotFound: return "not found";
    case Code::Conflict: return "conflict";
    case Code::Unavailable: return "unavailable";
    case Code::Exhausted: return "exhausted";
    case Code::NotDurable: return "not durable";
    case Code::Damaged: return "damaged";
    case Code::Internal: return "internal";
  }
  CHECK(false, "unknown code");
}

}  // namespace berth
