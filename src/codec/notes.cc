#include "codec/notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace berth::codec {

void Notes::add(Level level, Position at, std::string path, std::string what) {
  if (level == Level::Error) ++error_count_;
  if (!is_full()) {
    kept_.push_back({level, file_, at, std::move(path), std::move(what)});
    return;
  }
  ++left_out_;
  if (level == Level::Error) ++left_out_errors_;
}

bool Notes::has_error_at(std::size_t file, Position at) const {
  return std::ranges::any_of(kept_, [&](const Note& note) {
    return note.level == Level::Error && note.file == file && note.at == at;
  });
}

std::vector<Note> Notes::sorted() const {
  std::vector<Note> notes = kept_;
  std::ranges::stable_sort(notes, {},
                           [](const Note& note) { return std::tie(note.file, note.at); });
  if (left_out_ == 0) return notes;
  Note more = notes.back();
  more.level = left_out_errors_ > 0 ? Level::Error : Level::Warning;
  more.path.clear();
  more.what = fmt::format("and {} more", left_out_);
  notes.push_back(std::move(more));
  return notes;
}

}  // namespace berth::codec
