#include "transcript.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

namespace berth::scenarios {
namespace {

constexpr std::string_view kSeparator = "----";

class Lines {
 public:
  explicit Lines(const std::string& text) : in_(text) {}

  bool next(std::string& line) {
    if (!std::getline(in_, line)) return false;
    ++number_;
    return true;
  }
  std::size_t number() const { return number_; }

 private:
  std::istringstream in_;
  std::size_t number_ = 0;
};

bool is_between_steps(const std::string& line) { return line.empty() || line.front() == '#'; }

std::string until(Lines& lines, std::string_view end) {
  std::string block;
  std::string line;
  while (lines.next(line) && line != end) block += line + '\n';
  return block;
}

void take_directive(const std::string& line, Step& step) {
  std::istringstream words(line);
  words >> step.command;
  for (std::string word; words >> word;) step.arguments.push_back(word);
}

std::string read_file(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string directive_of(const Step& step) {
  std::string text = step.command;
  for (const std::string& argument : step.arguments) text += ' ' + argument;
  return text;
}

}  // namespace

Transcript parse_transcript(const std::string& text) {
  Transcript transcript;
  Lines lines(text);
  std::string line;
  while (lines.next(line)) {
    if (is_between_steps(line)) {
      transcript.rest += line + '\n';
      continue;
    }
    Step step;
    step.line = lines.number();
    step.preamble = std::exchange(transcript.rest, "");
    take_directive(line, step);
    step.input = until(lines, kSeparator);
    step.answer = until(lines, "");
    transcript.steps.push_back(std::move(step));
  }
  return transcript;
}

std::string to_text(const Transcript& transcript) {
  std::string text;
  for (const Step& step : transcript.steps) {
    text += step.preamble + directive_of(step) + '\n' + step.input;
    text += std::string(kSeparator) + '\n' + step.answer + '\n';
  }
  text += transcript.rest;
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

void play(const std::string& path, const std::function<std::string(const Step&)>& answer) {
  Transcript transcript = parse_transcript(read_file(path));
  EXPECT_FALSE(transcript.steps.empty()) << path << " has no steps";
  const bool rewrite = std::getenv("BERTH_REWRITE") != nullptr;
  for (Step& step : transcript.steps) {
    const std::string given = answer(step);
    if (!rewrite) {
      EXPECT_EQ(given, step.answer) << path << ':' << step.line << ": " << step.command;
    }
    step.answer = given;
  }
  if (rewrite) std::ofstream(path) << to_text(transcript);
}

}  // namespace berth::scenarios
