#pragma once

#include <string>
#include <vector>

#include "berth/v1/api.pb.h"
#include "codec/manifest.h"

// Which documents files speak of, before anybody asks whether they are right.
namespace berth::cli {

struct DocumentName {
  std::string kind;  // "Item"
  std::string name;  // of what has versions "name@version"

  friend auto operator<=>(const DocumentName&, const DocumentName&) = default;
};

// In the order of the file. What has no kind or name is skipped: reading it properly tells why.
std::vector<DocumentName> document_names(const codec::SourceFile& file);

// The documents of the cluster as files, without those that `files` replace, and then these: to be
// read as one manifest.
std::vector<codec::SourceFile> overlaid(const v1::Cluster& cluster,
                                        std::vector<codec::SourceFile> files);

}  // namespace berth::cli
