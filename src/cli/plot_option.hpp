#pragma once

#include <optional>
#include <string>

#include "scalecalc/plot.hpp"

namespace CLI {
class App;
}

namespace scalecalc::cli {

/// --plot FILE: a figure of the results, as the extension says: .svg by the program's own writer,
/// .png and .pdf the same image by rsvg-convert, .gp a gnuplot script.
class PlotOption {
 public:
  void add_to(CLI::App* app);
  bool is_given() const { return path_.has_value(); }
  /// Before the work begins. Throws Error(input) for no path or another extension, as Output does
  /// for its path, and Error(fault) where a .png or .pdf is asked for and there is no rsvg-convert.
  void check() const;
  /// Does nothing where it is not given. Throws Error(fault).
  void write(const report::Figure& figure) const;

 private:
  std::optional<std::string> path_;
};

}  // namespace scalecalc::cli
