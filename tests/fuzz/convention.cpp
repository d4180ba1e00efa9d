#include <charconv>

#include "fuzz/fuzz.hpp"
#include "scalecalc/conventions.hpp"

/// Lines of other frameworks: the first line of the input; behind it, a line each, the shape (whole
/// numbers with blanks between), the layer and the framework.
namespace scalecalc::fuzz {
namespace {

std::vector<std::int64_t> shape_of(std::string_view text) {
  std::vector<std::int64_t> shape;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::int64_t size = 0; at < end;) {
    const auto [behind, code] = std::from_chars(at, end, size);
    if (code == std::errc()) shape.push_back(size);
    at = behind + 1;
  }
  return shape;
}

}  // namespace

void one(std::string_view input) {
  const auto [line, behind_line] = halves(input, '\n');
  const auto [shape, behind_shape] = halves(behind_line, '\n');
  const auto [layer, framework] = halves(behind_shape, '\n');
  ConventionRequest request;
  request.line = line;
  request.shape = shape_of(shape);
  request.layer = layer;
  request.framework = framework;
  accepts([&] { convention(request); });
}

}  // namespace scalecalc::fuzz
