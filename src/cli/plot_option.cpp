#include "cli/plot_option.hpp"
#include "cli/options.hpp"

#include <filesystem>

#include "base/text.hpp"
#include "cli/gnuplot.hpp"
#include "cli/output.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::cli {
namespace {

constexpr char kOption[] = "--plot";

std::string extension_of(const std::string& path) {
  return std::filesystem::path(path).extension().string();
}

}  // namespace

void PlotOption::add_to(CLI::App* app) {
  const Options add{app};
  add.text(kOption, path_, types::file(), "also draw: a gnuplot script .gp, .svg, or .png");
}

void PlotOption::check() const {
  if (!is_given()) return;
  const std::string extension = extension_of(*path_);
  if (extension != ".gp" && extension != ".svg" && extension != ".png") {
    throw Error(ErrorKind::input, "no plot has this extension",
                std::string(kOption) + " " + base::shortened(*path_),
                "use .gp for a gnuplot script, .svg or .png");
  }
  const Output writable(*path_, kOption);
  if (extension == ".png") check_gnuplot();
}

void PlotOption::write(const report::Figure& figure) const {
  if (!is_given()) return;
  const std::string extension = extension_of(*path_);
  const Output output(*path_, kOption);
  if (extension == ".svg") return output.write(report::to_svg(figure));
  const std::string script = report::to_gnuplot(figure);
  output.write(extension == ".gp" ? script : png_of(script, figure.panels.size()));
}

}  // namespace scalecalc::cli
