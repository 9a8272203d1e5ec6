#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "model/manifest.h"

// Manifests: what people write, as text, and what it means. docs: `berth schema`.
namespace berth::codec {

struct SourceFile {
  std::string name;
  std::string text;
};

struct Diagnostic {
  enum class Level { Error, Warning };

  Level level = Level::Error;
  std::string file;
  std::size_t line = 1;    // from 1
  std::size_t column = 1;  // from 1, in characters
  std::string path;        // "spec.images[0].runtimes"; empty: the document or the file
  std::string what;
};

// "demo.yaml:12:5: error: spec.images[0].runtimes: ...", as compilers write it.
std::string to_string(const Diagnostic& diagnostic);

struct ParsedManifest {
  model::Manifest documents;  // empty if anything is wrong: taken whole or not at all
  std::vector<Diagnostic> diagnostics;

  // Whether there are no errors; warnings are fine.
  bool ok() const;
};

// Reads the documents of all files, in order, and checks each alone and all together. Tells all
// that is wrong at once, by file and position; of more than 100 diagnostics the first 100 and how
// many more there are.
ParsedManifest parse_manifests(const std::vector<SourceFile>& files);

// The same for files that are to be laid over documents that are there already: they may refer to
// those and replace them (same kind and name; of items also the version). Tells what the files
// bring or break, always at a position in the files. Of stored items only id, version, type and
// quotas matter.
ParsedManifest parse_manifests(const std::vector<SourceFile>& files, const model::Manifest& stored);

// Checks each document alone, and that none is there twice. If it is not ok, parse_manifests tells
// why; if it is, the documents may still not fit together, or to what is stored.
ParsedManifest parse_each(const std::vector<SourceFile>& files);

// The document as compact JSON in the form of manifests; parse_manifests gives the same one back.
std::string to_json(const model::Document& document);

}  // namespace berth::codec
