#pragma once

#include <string>

#include "scalecalc/network.hpp"

namespace CLI {
class App;
}

namespace scalecalc::cli {

/// The options that describe a block; empty text is "not given".
struct ModelOptions {
  std::string width, heads, ffn, sequence, vocab, batch, activation, norm, cross;
  bool causal = false;

  void add_to(CLI::App* app);
  /// A transformer of the defaults with what is given. Throws Error(input).
  ModelSpec spec() const;
  /// Overrides what is given. Without --ffn, its ratio to the width is kept. Throws Error.
  void apply_to(ModelSpec& spec) const;
  /// What is given, as it was written: "--width 65 --heads 4".
  std::string given() const;
};

}  // namespace scalecalc::cli
