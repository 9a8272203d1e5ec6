#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "base/result.h"
#include "codec/manifest.h"

namespace berth::cli {

// The texts that `-f` names, in the order given: a file, `-` for standard input, a directory for
// its *.yaml and *.yml in name order. The error names all that could not be read, one per line.
Result<std::vector<codec::SourceFile>> read_sources(const std::vector<std::string>& names,
                                                    std::istream& in);

}  // namespace berth::cli
