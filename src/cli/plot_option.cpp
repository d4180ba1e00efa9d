#include "cli/plot_option.hpp"
#include "cli/options.hpp"

#include <filesystem>

#include "base/text.hpp"
#include "cli/output.hpp"
#include "cli/svg_converter.hpp"
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
  add.text(kOption, path_, types::file(), "also draw: .svg, .png, .pdf, or a gnuplot script .gp");
}

void PlotOption::check() const {
  if (!is_given()) return;
  const std::string extension = extension_of(*path_);
  const bool is_converted = extension == ".png" || extension == ".pdf";
  if (extension != ".gp" && extension != ".svg" && !is_converted) {
    throw Error(ErrorKind::input, "no plot has this extension",
                std::string(kOption) + " " + base::shortened(*path_),
                "use .svg, .png or .pdf, or .gp for a gnuplot script");
  }
  const Output writable(*path_, kOption);
  if (is_converted) check_svg_converter();
}

void PlotOption::write(const report::Figure& figure) const {
  if (!is_given()) return;
  const std::string extension = extension_of(*path_);
  const Output output(*path_, kOption);
  if (extension == ".gp") return output.write(report::to_gnuplot(figure));
  const std::string svg = report::to_svg(figure);
  if (extension == ".svg") return output.write(svg);
  output.write(converted(svg, extension == ".pdf" ? ImageFormat::pdf : ImageFormat::png));
}

}  // namespace scalecalc::cli
