#include "model/decision.h"

namespace berth::model {

std::string to_string(const DecisionRecord& decision) {
  std::string text(to_string(decision.kind));
  text += ' ';
  text += decision.text;
  if (decision.reason) {
    text += ": ";
    text += to_string(*decision.reason);
  }
  if (decision.because.empty()) return text;
  text += ", because ";
  return text += decision.because;
}

}  // namespace berth::model
