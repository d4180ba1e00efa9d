#include "cli/svg_converter.hpp"

#include <vector>

#include "base/text.hpp"
#include "cli/process.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::cli {
namespace {

std::string output_of(const std::vector<std::string>& words, const std::string& svg) {
  const auto fail = [](const std::string& what, const std::string& why) {
    return Error(ErrorKind::fault, what, "--plot: " + why,
                 "install rsvg-convert (Debian: librsvg2-bin), or take .svg");
  };
  const ProcessEnd end = run_process(words, svg);
  if (!end.found) throw fail("a .png or .pdf needs rsvg-convert, which is not here", words[0]);
  if (end.status != 0) throw fail("rsvg-convert failed", base::shortened(end.err, 200));
  return end.out;
}

}  // namespace

void check_svg_converter() {
  output_of({"rsvg-convert", "--version"}, "");
}

std::string converted(const std::string& svg, ImageFormat format) {
  if (format == ImageFormat::pdf) return output_of({"rsvg-convert", "--format", "pdf"}, svg);
  return output_of({"rsvg-convert", "--format", "png", "--zoom", "2"}, svg);
}

}  // namespace scalecalc::cli
