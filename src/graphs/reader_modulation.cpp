#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "graphs/reader.hpp"

/// What is of each sample beside its tokens: a time, a label, and what they make of norms and
/// branches.
namespace scalecalc::graphs {
namespace {

using Kind = Value::Kind;

/// Entries of a constant that are looked at.
constexpr std::int64_t most_entries = 4096;
/// Of tables that are computed in float.
constexpr double float_table = 1e-4;
/// Steps of a diffusion.
constexpr double most_time = 1000;

}  // namespace

void Reader::scale_numbers(const Node& node, const Value& numbers, double number, bool is_first) {
  const bool multiplies = node.operation == "mul",
             divides = !multiplies && !is_first && node.operation != "add" &&
                       node.operation != "sub" && node.operation != "rsub";
  const double factor = multiplies ? number : 1 / number;
  if ((!multiplies && !divides) || !(std::fabs(factor) > 0) || !std::isfinite(factor))
    fail(node, "it changes one number of each sample by another",
         "a factor is known, in front of sines and cosines");
  Value out = numbers;
  out.maker = here_;
  out.factor *= factor;
  result(node) = std::move(out);
}

/// Of each sample its number times every entry of a constant.
bool Reader::times_numbers(const Node& node, const Value& numbers, const Value& constant) {
  if (numbers.kind != Kind::numbers || constant.kind != Kind::constant) return false;
  const Sizes &own = sizes(node.outputs[0]), &row = sizes(constant.tensor);
  std::int64_t entries = 1;
  for (const std::int64_t size : row) entries *= size;
  if (own.size() != 2 || own[0] != sizes(numbers.input)[0] || own[1] != entries) return false;
  Value out = numbers;
  out.maker = here_;
  out.kind = Kind::angles;
  out.tensor = constant.tensor;
  result(node) = std::move(out);
  return true;
}

void Reader::wave(const Node& node, const Value& angles) {
  if (node.operation != "sin" && node.operation != "cos")
    fail(node, "it is a function of one number of each sample",
         "sines and cosines of it, one behind the other, are known");
  Value out = angles;
  out.maker = here_;
  out.kind = Kind::waves;
  out.is_turned = node.operation == "sin";
  result(node) = std::move(out);
}

/// Sines and cosines of the same angles w t, one behind the other: their mean square is 1/2, and of
/// two times that are drawn evenly from 0 to T the product (1/2) (sin(w T/2)/(w T/2))^2.
bool Reader::join_waves(const Node& node, const std::vector<const Value*>& values) {
  if (values.size() != 2 || values[0]->kind != Kind::waves || values[1]->kind != Kind::waves)
    return false;
  const Value &first = *values[0], &second = *values[1];
  const Sizes& own = sizes(node.outputs[0]);
  if (first.tensor != second.tensor || first.factor != second.factor ||
      first.input != second.input || first.is_turned == second.is_turned || own.size() != 2 ||
      dimension(node, integer(node, "dim", 0), 2) != 1)
    fail(node, "it joins waves that are not the sines and the cosines of one time",
         "both of the same angles, one behind the other, are known");
  const bool is_whole = first.factor == 1;
  const double time = is_whole ? most_time : std::fabs(first.factor);
  remarks_.insert(fmt::format(
      "the input '{}' is taken to be a time that is drawn evenly from 0 to {}: --condition-cross "
      "says otherwise",
      base::shortened(program_.tensors[first.input].name), is_whole ? most_time : 1.0));
  std::int64_t entries = 1;
  for (const std::int64_t size : sizes(first.tensor)) entries *= size;
  if (own[1] != 2 * entries)
    fail(node, "the graph contradicts itself: it joins more than it is given");
  const std::int64_t step = std::max<std::int64_t>(1, entries / most_entries);
  double sum = 0;
  std::int64_t counted = 0;
  for (std::int64_t i = 0; i < entries; i += step, ++counted) {
    Sizes index(sizes(first.tensor).size(), 0);
    for (std::size_t dim = 0; dim < index.size(); ++dim)
      if (sizes(first.tensor)[dim] > 1) index[dim] = i;
    const auto rate = constants_.at(first.tensor, index);
    if (!rate) fail(node, "the rates of its waves are not known");
    const double half = *rate * time / 2, mean = half == 0 ? 1 : std::sin(half) / half;
    sum += mean * mean;
  }
  Part part;
  part.kind = Part::Kind::waves;
  part.features = own[1];
  part.second = 0.5;
  part.cross = counted > 0 ? sum / (2 * static_cast<double>(counted)) : 0;
  View view{{{}, {{Axis::Of::feature, own[1], 1}}}, 0, 0};
  if (own[0] != 1) view.dims[0].push_back({Axis::Of::batch, own[0], 1});
  become(node, add(node, std::move(part)), std::move(view));
  return true;
}

/// A row of each sample.
void Reader::look_up(const Node& node, const Value& table, const Value& labels) {
  const Sizes& shape = sizes(table.tensor);
  const Sizes& own = sizes(node.outputs[0]);
  if (labels.factor != 1 || shape.size() != 2 || program_.tensors[labels.input].is_float ||
      own.size() != 2 || table.rows != 0 || table.is_flipped)
    fail(node, "it looks up what is no label of each sample");
  Part part;
  part.kind = Part::Kind::embedding;
  part.weight = table.tensor;
  part.features = shape[1];
  View view{{{}, {}}, 0, 0};
  if (own[0] != 1) view.dims[0].push_back({Axis::Of::batch, own[0], 1});
  if (shape[1] != 1) view.dims[1].push_back({Axis::Of::feature, shape[1], 1});
  become(node, add(node, std::move(part)), std::move(view));
}

/// x (1 + s) and x s of tokens x and a vector s of their sample, and what is added to that.
bool Reader::modulate(const Node& node, const Value& x, const Value& of_sample, char sign) {
  const std::size_t rank = x.view.dims.size();
  if (!is_last(x.view) || of_sample.view.dims.size() != rank || graph_.parts[x.part].tokens < 2 ||
      graph_.parts[of_sample.part].tokens != 1)
    return false;
  View repeated = of_sample.view;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::vector<Axis>& axes = x.view.dims[i];
    const bool is_tokens =
        !axes.empty() && std::all_of(axes.begin(), axes.end(),
                                     [](const Axis& a) { return a.of == Axis::Of::token; });
    if (is_tokens && repeated.dims[i].empty()) repeated.dims[i] = axes;
  }
  if (!(repeated == x.view)) return false;
  Part part = graph_.parts[x.part];
  if (sign == '+') {
    const bool has_factor =
        part.kind == Part::Kind::modulation && part.inputs.size() == 2 && part.has_one;
    if (!has_factor)
      fail(node, "a vector of each sample is added to its tokens",
           "x (1 + s) + t of a norm x and maps s and t of a condition is known");
    part.inputs.push_back(of_sample.part);
    become(node, add(node, std::move(part)), x.view);
    return true;
  }
  if (sign != '*') return false;
  const auto [base, function] = base_of(of_sample.part);
  const bool has_one = function.text == shifted(1).text;
  Part made;
  made.kind = Part::Kind::modulation;
  made.inputs = {x.part, has_one ? base : of_sample.part};
  made.has_one = has_one;
  made.features = part.features;
  made.tokens = part.tokens;
  made.height = part.height;
  become(node, add(node, std::move(made)), x.view);
  return true;
}

/// Whether a table is that of a square grid: sines and cosines of the row and of the column, in
/// either order, of rates 10000^(-i/(width/4)).
bool Reader::is_grid(std::size_t table, std::int64_t tokens, std::int64_t width) const {
  const auto side = static_cast<std::int64_t>(std::llround(std::sqrt(tokens)));
  const Sizes& shape = sizes(table);
  std::int64_t entries = 1;
  for (const std::int64_t size : shape) entries *= size;
  if (side * side != tokens || tokens < 2 || width < 4 || width % 4 != 0 || shape.empty() ||
      shape.back() != width || entries % width != 0 || entries / width != tokens)
    return false;
  const bool is_computed = constants_.is_constant(table);
  const std::vector<double>& held = is_computed ? std::vector<double>() : constants_.values(table);
  const std::int64_t count = width / 4;
  // An odd number of entries apart, so that features of all kinds are looked at.
  const std::int64_t step = std::max<std::int64_t>(1, entries / most_entries) | 1;
  bool by_row = true, by_column = true;
  for (std::int64_t at = 0; at < entries && (by_row || by_column); at += step) {
    std::optional<double> entry;
    if (is_computed) {
      Sizes index(shape.size(), 0);
      std::int64_t rest = at;
      for (std::size_t i = shape.size(); i-- > 0; rest /= shape[i]) index[i] = rest % shape[i];
      entry = constants_.at(table, index);
    } else if (at < static_cast<std::int64_t>(held.size())) {
      entry = held[static_cast<std::size_t>(at)];
    }
    if (!entry) return false;
    const std::int64_t token = at / width, part = at % width / count;
    const double rate =
        std::pow(10000.0, -static_cast<double>(at % count) / static_cast<double>(count));
    const auto due = [&](bool rows_first) {
      const bool is_row = (part < 2) == rows_first;
      const double angle = rate * static_cast<double>(is_row ? token / side : token % side);
      return part % 2 == 0 ? std::sin(angle) : std::cos(angle);
    };
    by_row = by_row && std::fabs(*entry - due(true)) <= float_table;
    by_column = by_column && std::fabs(*entry - due(false)) <= float_table;
  }
  return by_row || by_column;
}

}  // namespace scalecalc::graphs
