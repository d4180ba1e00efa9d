#include "cli/train/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/split.hpp"
#include "base/text.hpp"
#include "cli/transfer/sizes.hpp"
#include "cli/value_type.hpp"

namespace scalecalc::cli {
namespace {

constexpr std::size_t kMostValues = 100;
constexpr double kLeastFactor = 1.01, kMostFactor = 1e6;

std::vector<std::string> key_names() {
  std::vector<std::string> names;
  for (const TuningKey& key : tuning_keys()) names.push_back(key.name);
  return names;
}

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw Error(ErrorKind::input, "--grid " + why, "got '" + base::shortened(text) + "'",
              "for example --grid lr=1e-4:1e-1:x2 or --grid decay=0,0.01,0.1");
}

double value_of(const TuningKey& key, const std::string& text) {
  if (key.is_whole)
    return static_cast<double>(parse_integer("--grid " + key.name, text,
                                             static_cast<std::int64_t>(key.least),
                                             static_cast<std::int64_t>(key.most), "100"));
  return parse_number("--grid " + key.name, text, key.least, key.most, "0.01");
}

/// The number that its ten first digits say: products of factors have more.
double rounded(double value) {
  return std::strtod(fmt::format("{:.10g}", value).c_str(), nullptr);
}

std::vector<double> geometric(const TuningKey& key, const std::string& text,
                              const std::vector<std::string>& parts) {
  if (parts.size() != 3 || !parts[2].starts_with('x'))
    refuse(text, "takes a range as FROM:TO:xFACTOR");
  const double from = value_of(key, parts[0]), to = value_of(key, parts[1]);
  const double factor = parse_number("--grid " + key.name + ", its factor", parts[2].substr(1),
                                     kLeastFactor, kMostFactor, "2");
  if (!(from > 0) || to < from) refuse(text, "takes a range that rises from above 0");
  constexpr double rounding = 1e-9;
  std::vector<double> values;
  for (double value = from; value <= to * (1 + rounding); value *= factor) {
    if (values.size() == kMostValues) refuse(text, fmt::format("has over {} values", kMostValues));
    values.push_back(key.is_whole ? std::round(value) : rounded(value));
  }
  return values;
}

std::vector<double> listed(const TuningKey& key, const std::string& text,
                           const std::string& values) {
  std::vector<double> made;
  for (const std::string& value : base::split(values, ',')) made.push_back(value_of(key, value));
  if (made.size() > kMostValues) refuse(text, fmt::format("has over {} values", kMostValues));
  std::ranges::sort(made);
  if (std::ranges::adjacent_find(made) != made.end()) refuse(text, "has a value twice");
  return made;
}

}  // namespace

GridAxis parse_grid_axis(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) refuse(text, "takes KEY=VALUES");
  const TuningKey& key = tuning_key(text.substr(0, equals));
  const std::string values = text.substr(equals + 1);
  const std::vector<std::string> parts = base::split(values, ':');
  return {key.name, parts.size() > 1 ? geometric(key, text, parts) : listed(key, text, values)};
}

void TuningFlags::add_to(CLI::App* app) {
  const Options of_grid{app, "Grid"};
  of_grid.repeated(
      "--grid", grid, {"KEY=V,...", key_names},
      "train one placement at each size, or several placements at each depth, over these "
      "values, FROM:TO:xFACTOR or a list, and find the best; again for other keys: " +
          alternatives(key_names()));
  of_grid.text("--widths", widths, "W,...",
               "of --grid: the model's widths, 32,64,128 or 32:256:x2; the first is the base");
  of_grid.text("--parametrization", parametrization, types::parametrization(),
               "of --grid: how the numbers of the first size become those of the others: " +
                   alternatives(parametrization_names()) +
                   "; or a file of one (default: the model's own inits at each size)");
  of_grid.text("--rates", rates, {"RATES", rate_sharing_names},
               "of --grid: shared: one for all parameters and sizes; solved: each parameter's, by "
               "the solver (default: solved where the parametrization is given and not standard)");
}

void TuningFlags::refuse_idle() const {
  for (const auto& [option, text] : {std::pair{"--widths", &widths},
                                     {"--parametrization", &parametrization},
                                     {"--rates", &rates}})
    if (!text->empty())
      throw Error(ErrorKind::usage, "it is of a grid, and there is none", option,
                  "add --grid lr=1e-4:1e-1:x2");
}

static std::vector<GridAxis> grid_axes(const TuningFlags& flags) {
  std::vector<GridAxis> axes;
  for (const std::string& text : flags.grid) {
    const GridAxis axis = parse_grid_axis(text);
    for (const GridAxis& earlier : axes)
      if (earlier.key == axis.key) refuse(text, "has " + axis.key + " twice");
    axes.push_back(axis);
  }
  return axes;
}

std::vector<GridAxis> placement_axes(const TuningFlags& flags) {
  for (const auto& [option, text] : {std::pair{"--widths", &flags.widths},
                                     {"--parametrization", &flags.parametrization},
                                     {"--rates", &flags.rates}})
    if (!text->empty())
      throw Error(ErrorKind::usage, "a grid is of one placement where sizes are compared", option,
                  "leave it out, or name one placement");
  return grid_axes(flags);
}

TuningOptions tuning_options(const TuningFlags& flags, const TrainOptions& train,
                             const std::vector<std::int64_t>& depths) {
  TuningOptions made;
  made.train = train;
  made.grids = grid_axes(flags);
  std::vector<std::int64_t> widths = {train.model.width};
  if (!flags.widths.empty()) widths = parse_depths("--widths", flags.widths);
  const std::vector<std::int64_t> layers =
      depths.empty() ? std::vector<std::int64_t>{train.model.layers} : depths;
  if (widths.size() + layers.size() < 3)
    throw Error(ErrorKind::usage, "--grid needs two sizes at least, to see what its best goes with",
                "scalecalc train", "for example --widths 32,64,128 or --depths 2,4,8");
  const auto add = [&](std::int64_t width, std::int64_t depth) {
    const SizeList sizes = {{GrowthAxis::width, static_cast<double>(width)},
                            {GrowthAxis::depth, static_cast<double>(depth)}};
    made.sizes.push_back(
        {width, depth,
         *sizes_from(width == widths.front() ? "--depths" : "--widths", sizes, train.model).base});
  };
  add(widths.front(), layers.front());
  for (std::size_t i = 1; i < widths.size(); ++i) add(widths[i], layers.front());
  for (std::size_t i = 1; i < layers.size(); ++i) add(widths.front(), layers[i]);
  if (!flags.parametrization.empty())
    made.parametrization = parametrization_from(flags.parametrization);
  if (flags.rates.empty()) return made;
  const std::string rates = parse_choice("--rates", flags.rates, rate_sharing_names());
  made.rates = rates == rate_sharing_names().front() ? RateSharing::shared : RateSharing::solved;
  if (!made.parametrization && made.rates == RateSharing::solved)
    throw Error(ErrorKind::usage, "the solver's rates are those of a parametrization", "--rates",
                "add --parametrization mup");
  return made;
}

}  // namespace scalecalc::cli
