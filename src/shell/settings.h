#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.h"
#include "base/result.h"
#include "base/time.h"

namespace berth::shell {

// One thing that can be configured. In the file "store.path: x" (nested or dotted), in the
// environment PROGRAM_STORE_PATH, on the command line --store-path x or --store-path=x; a word
// inside of a name counts too: "dmips.perCore" is --dmips-per-core. One whose default is "true" or
// "false" may stand alone on the command line.
//
// A name with a "*" is a family: any word may stand there, "runtime.*.type" is "runtime.mine.type"
// and --runtime-mine-type. Its members are there only when they were said, and not in the
// environment.
struct Setting {
  std::string name;                // "store.path"
  std::string what;                // one line for --help
  std::string value;               // the default
  std::string origin = "default";  // where the default comes from
};

// The configuration of a daemon: command line over environment over files over defaults, and where
// each value came from. The files: --config FILE (else /etc/berth/PROGRAM.yaml if it is there), and
// the *.yaml of the directory beside it of the same name with ".d" instead of ".yaml", in the order
// of their names, the last word counts. Verbs and flags like --help are the caller's to take out.
class Settings {
 public:
  // An error names every wrong flag, key and file, with a suggestion for a mistyped name.
  static Result<Settings> load(std::string_view program, std::vector<Setting> known,
                               const std::vector<std::string>& arguments);

  const std::string& text(std::string_view name) const;
  bool flag(std::string_view name) const;  // true, false
  Result<std::int64_t> number(std::string_view name) const;
  Result<Duration> duration(std::string_view name) const;      // "2s", "500ms"
  Result<Bytes> bytes(std::string_view name) const;            // "64Mi"
  std::vector<std::string> list(std::string_view name) const;  // comma separated, trimmed

  // The words that were said in place of the "*" of families that begin with this word.
  std::vector<std::string> members(std::string_view family) const;
  bool was_said(std::string_view name) const { return values_.contains(name); }  // of a member

  // The names of those whose value is not the same in both.
  std::vector<std::string> differences(const Settings& other) const;

  // An error about the value of a setting, that says where it came from.
  Error wrong(std::string_view name, std::string_view why) const;

  // "name  value  where it came from", one line each.
  std::string show() const;

 private:
  struct Value {
    std::string text;
    std::string origin;  // "default", "file x.yaml:3", "environment BERTHD_X", "command line"
  };
  const Value& value(std::string_view name) const;
  std::map<std::string, Value, std::less<>> values_;
};

// The text of --help.
std::string help_for(std::string_view program, std::string_view what,
                     const std::vector<Setting>& known);

}  // namespace berth::shell
