#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "codec/tree.h"

// What readers have to say about texts.
namespace berth::codec {

enum class Level { Error, Warning };

struct Note {
  Level level = Level::Error;
  std::size_t file = 0;
  Position at;
  std::string path;
  std::string what;
};

// Collects notes, a bounded number of them: nobody reads the thousandth, and hostile input could
// cause millions.
class Notes {
 public:
  static constexpr std::size_t kKeptMax = 100;

  // The file that the following notes are about.
  void set_file(std::size_t file) { file_ = file; }

  void add(Level level, Position at, std::string path, std::string what);

  // Whether a further note would only be counted, so that its text need not be made.
  bool is_full() const { return kept_.size() == kKeptMax; }
  std::size_t error_count() const { return error_count_; }
  bool has_error_at(std::size_t file, Position at) const;

  // By file and position. If some were not kept, a last one says how many.
  std::vector<Note> sorted() const;

 private:
  std::size_t file_ = 0;
  std::vector<Note> kept_;
  std::size_t error_count_ = 0;
  std::size_t left_out_ = 0;
  std::size_t left_out_errors_ = 0;
};

}  // namespace berth::codec
