#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "controld/api/call.h"

namespace berth::controld {

// The last changes that watchers were told, each with a revision of its own, so that one who comes
// back goes on where it was. Revisions begin with the time of day at which the history does: those
// of another history, or of another process, are never taken for its own. Not thread-safe.
class WatchHistory {
 public:
  static constexpr std::size_t kKept = 4096;

  explicit WatchHistory(std::size_t kept = kKept);

  struct Entry {
    std::uint64_t revision = 0;
    std::string topic;     // "nodes"
    std::string name;      // "node/n1"
    api::AnswerPtr plain;  // without a revision; null: for those who are told revisions only
    api::AnswerPtr numbered;
  };

  // Some changes were not told: whoever has seen something has missed these.
  void begin_anew();

  // Its answer with the revision is made when it is first asked for.
  Entry& add(std::string topic, std::string name, api::AnswerPtr plain);

  // The last one that was given, or with which the history begins.
  std::uint64_t revision() const { return revision_; }

  // Whether all that came after this revision is still known.
  bool reaches(std::uint64_t revision) const;

  std::deque<Entry>& entries() { return entries_; }  // oldest first

 private:
  const std::size_t kept_;
  std::uint64_t begin_ = 0;  // what came after it is known
  std::uint64_t revision_ = 0;
  std::deque<Entry> entries_;
};

// The answer with the revision in it.
const api::AnswerPtr& numbered(WatchHistory::Entry& entry);

}  // namespace berth::controld
