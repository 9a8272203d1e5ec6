#pragma once

#include <functional>
#include <string>
#include <vector>

// A scenario as a transcript: what was said, and what was answered.
//
//   # A comment, at the start of a line between steps.
//   directive with arguments
//   lines of input, if any
//   ----
//   lines of the answer, up to an empty line
namespace berth::scenarios {

struct Step {
  std::size_t line = 0;  // of the directive, from 1
  std::string preamble;  // comments and empty lines before it, as they stand
  std::string command;
  std::vector<std::string> arguments;
  std::string input;
  std::string answer;
};

struct Transcript {
  std::vector<Step> steps;
  std::string rest;  // comments after the last step
};

Transcript parse_transcript(const std::string& text);

std::string to_text(const Transcript& transcript);

// Plays the steps of the file one after the other; each answer that differs is a test failure.
// With BERTH_REWRITE in the environment the answers are written into the file instead.
void play(const std::string& path, const std::function<std::string(const Step&)>& answer);

}  // namespace berth::scenarios
