#include "model/decision.h"

#include <algorithm>
#include <charconv>

namespace berth::model {
namespace {

constexpr char kBetween = '|';  // in no name of a node, nor in any word of ours

std::string_view cut(std::string_view& text, char end) {
  const std::string_view field = text.substr(0, text.find(end));
  text.remove_prefix(std::min(field.size() + 1, text.size()));
  return field;
}

std::string_view next_field(std::string_view& line) { return cut(line, kBetween); }

std::int64_t number_in(std::string_view field) {
  std::int64_t number = 0;
  std::from_chars(field.data(), field.data() + field.size(), number);
  return number;
}

NodeAnswer answer_in(std::string_view line) {
  NodeAnswer answer{.node = NodeId(next_field(line)), .reason = {}, .behind = {}, .what = {}};
  answer.reason = from_string<Reason>(next_field(line));
  answer.behind = from_string<Preference>(next_field(line));
  answer.asked = number_in(next_field(line));
  answer.has = number_in(next_field(line));
  answer.what = line;
  return answer;
}

void append(std::string& line, std::string_view field) {
  line += kBetween;
  line += field;
}

void append(std::string& line, std::int64_t number) {
  append(line, number == 0 ? std::string() : std::to_string(number));
}

}  // namespace

// Fields that say nothing are left out at the end. What it is about comes last, with whatever is in
// it but the end of a line.
void append_line(std::string& lines, const NodeAnswer& answer) {
  if (!lines.empty()) lines += '\n';
  lines += answer.node.value();
  append(lines, answer.reason ? to_string(*answer.reason) : std::string_view());
  append(lines, answer.behind ? to_string(*answer.behind) : std::string_view());
  append(lines, answer.asked);
  append(lines, answer.has);
  append(lines, answer.what);
  std::replace(lines.end() - static_cast<std::ptrdiff_t>(answer.what.size()), lines.end(), '\n',
               ' ');
  if (answer.what.empty()) lines.erase(lines.find_last_not_of(kBetween) + 1);
}

NodeAnswers answers_of(const std::vector<NodeAnswer>& nodes, std::uint32_t left_out) {
  std::string lines;
  for (const NodeAnswer& answer : nodes) append_line(lines, answer);
  return {.lines = SharedText(lines), .left_out = left_out};
}

std::vector<NodeAnswer> NodeAnswers::nodes() const {
  std::vector<NodeAnswer> nodes;
  for (std::string_view rest = lines.text(); !rest.empty();) {
    nodes.push_back(answer_in(cut(rest, '\n')));
  }
  return nodes;
}

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
