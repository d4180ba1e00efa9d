#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "graphs/reader.hpp"

/// Sums, products and powers: residuals and gates, norms that are written out, activations, biases,
/// positions.
namespace scalecalc::graphs {
namespace {

using Kind = Value::Kind;

constexpr std::size_t longest_function = 1000;  ///< characters

std::int64_t numbers_in(const Sizes& sizes) {
  std::int64_t all = 1;
  for (const std::int64_t size : sizes) all *= size;
  return all;
}

Function joined(const Function& a, const Function& b, char sign) {
  Function both{"", fmt::format("({}) {} ({})", a.text, sign, b.text), {}, {}};
  both.value = [a, b, sign](double x) {
    const double first = a.value(x), second = b.value(x);
    return sign == '+'   ? first + second
           : sign == '-' ? first - second
           : sign == '*' ? first * second
                         : first / second;
  };
  return both;
}

}  // namespace

void Reader::arithmetic(const Node& node) {
  if (node.arguments.size() < 2) fail(node, "it has too few arguments");
  const double alpha = number(node, "alpha", 1);
  if (alpha != 1) fail(node, "it has a factor alpha");
  const bool is_reversed = node.operation == "rsub";
  const auto a = scalar(node, 0), b = scalar(node, 1);
  if (b) return with_number(node, value(node, 0), *b, is_reversed);
  if (a) return with_number(node, value(node, 1), *a, !is_reversed);
  const Value first = value(node, 0), second = value(node, 1);
  if (node.operation == "add") return plus(node, first, second, 1);
  if (node.operation == "sub") return plus(node, first, second, -1);
  if (is_reversed) return plus(node, second, first, -1);
  times(node, first, second, node.operation != "mul");
}

/// `is_first`: the number stands in front, as 1 of 1 - x.
void Reader::with_number(const Node& node, const Value& given, double number, bool is_first) {
  const std::string& operation = node.operation;
  const bool adds = operation == "add", subtracts = operation == "sub" || operation == "rsub",
             multiplies = operation == "mul";
  const double sign = subtracts && !is_first ? -1 : 1;
  if (given.kind == Kind::words) return same(node);
  if (given.kind == Kind::numbers || given.kind == Kind::angles)
    return scale_numbers(node, given, number, is_first);
  if (given.kind == Kind::parameter && adds && number == 1) {
    Value out = given;
    out.maker = here_;
    out.has_one = true;
    result(node) = std::move(out);
    return;
  }
  if (given.kind == Kind::statistic) {
    Value out = given;
    out.maker = here_;
    if (adds)
      out.statistic.eps += out.statistic.power == 1 ? number : 0;
    else if (operation != "mul" && operation != "sub" && is_first && number == 1)
      out.statistic.power = -out.statistic.power;
    else
      fail(node, "what it makes of a mean is no norm");
    result(node) = std::move(out);
    return;
  }
  if (given.kind == Kind::scores && (multiplies || (!adds && !subtracts && !is_first)))
    return scale_scores(node, given, multiplies ? number : 1 / number);
  if (given.kind == Kind::scores && adds && number == 0) return same(node);
  if (given.kind != Kind::signal && given.kind != Kind::negated)
    fail(node, "it changes what is no signal by a number");
  if ((adds || (subtracts && !is_first)) && number == 0) return same(node);
  if ((multiplies || (!adds && !subtracts && !is_first)) && given.kind == Kind::signal) {
    const double factor = multiplies ? number : 1 / number;
    if (factor == 1) return same(node);
    if (!std::isfinite(factor)) fail(node, "it divides by 0");
    // Heads of queries are scaled before they are whole.
    if (!is_last(given.view)) {
      Value out = given;
      out.maker = here_;
      out.factor *= factor;
      result(node) = std::move(out);
      return;
    }
    return apply(node, whole(node, given), scaled(factor));
  }
  const Value input = whole(node, given);
  if (adds) return apply(node, input, shifted(number));
  if (subtracts && !is_first) return apply(node, input, shifted(sign * number));
  const double c = number;
  if (subtracts)
    return apply(node, input, {"", fmt::format("{} - x", c), [c](double x) { return c - x; }, {}});
  apply(node, input, {"", fmt::format("{}/x", c), [c](double x) { return c / x; }, {}});
}

void Reader::power(const Node& node) {
  const Value& given = value(node, 0);
  const auto exponent = scalar(node, 1);
  if (!exponent) fail(node, "its exponent is no number");
  const double p = *exponent;
  if (given.kind == Kind::statistic) {
    Value out = given;
    out.maker = here_;
    out.statistic.power *= p;
    result(node) = std::move(out);
    return;
  }
  if (given.kind == Kind::signal && !is_last(given.view) && p == 2) {  // of a norm of heads
    const Value input = projection(node, given);
    Part part = graph_.parts[input.part];
    part.kind = Part::Kind::function;
    part.inputs = {input.part};
    part.function = {"square", "x^2", [](double x) { return x * x; }, {}};
    part.square_of = input.part;
    return become(node, add(node, std::move(part)), input.view);
  }
  if (p == 2) {
    const Value input = whole(node, given);
    apply(node, input, {"square", "x^2", [](double x) { return x * x; }, {}});
    graph_.parts[result(node).part].square_of = input.part;
    return;
  }
  apply(node, whole(node, given),
        {"", fmt::format("x^{}", p), [p](double x) { return std::pow(x, p); }, {}});
}

void Reader::root(const Node& node) {
  const Value& given = value(node, 0);
  if (given.kind != Kind::statistic) fail(node, "it takes the root of what is no mean of squares");
  Value out = given;
  out.maker = here_;
  out.statistic.power *= node.operation == "sqrt" ? 0.5 : -0.5;
  result(node) = std::move(out);
}

void Reader::negate(const Node& node) {
  const Value& given = value(node, 0);
  if (given.kind == Kind::signal && !given.turns &&
      count(axes_of(given.view, Axis::Of::feature)) != graph_.parts[given.part].features) {
    Value out = given;
    out.maker = here_;
    out.kind = Kind::negated;
    result(node) = std::move(out);
    return;
  }
  apply(node, whole(node, given), scaled(-1));
}

std::pair<std::size_t, Function> Reader::base_of(std::size_t part) const {
  const Part& known = graph_.parts[part];
  if (known.kind == Part::Kind::function) return {known.inputs[0], known.function};
  return {part, Function()};
}

void Reader::apply(const Node& node, const Value& signal, const Function& function) {
  const auto [base, inner] = base_of(signal.part);
  Part part;
  part.kind = Part::Kind::function;
  part.inputs = {base};
  part.features = graph_.parts[base].features;
  part.tokens = graph_.parts[base].tokens;
  part.height = graph_.parts[base].height;
  part.function = inner.text == "x" ? function : composed(function, inner);
  if (part.function.text.size() > longest_function)
    fail(node,
         "it computes a function of more than " + std::to_string(longest_function) + " characters");
  become(node, add(node, std::move(part)), signal.view);
}

void Reader::plus(const Node& node, const Value& a, const Value& b, double sign) {
  const auto is = [&](Kind first, Kind second) { return a.kind == first && b.kind == second; };
  if (is(Kind::by_table, Kind::by_table) && sign > 0 && (rotate(node, a, b) || rotate(node, b, a)))
    return;
  if (is(Kind::signal, Kind::statistic) && sign < 0 && b.statistic.is_mean &&
      b.statistic.part == a.part) {
    Part part = graph_.parts[a.part];
    part.kind = Part::Kind::centred;
    part.inputs = {a.part};
    part.weight = part.bias = nothing;
    return become(node, add(node, std::move(part)), a.view);
  }
  if (a.kind == Kind::scores && b.kind == Kind::constant && sign > 0)
    return mask_scores(node, a, b.tensor, Scores::Masks::is_added);
  if (a.kind == Kind::scores && b.kind == Kind::table && sign > 0) {
    Scores scores = *a.scores;
    bias_scores(node, scores, b);
    return become_scores(node, std::move(scores));
  }
  if (is(Kind::table, Kind::constant) && sign > 0) {
    Value out = a;
    out.maker = here_;
    out.added.push_back(b.tensor);
    result(node) = std::move(out);
    return;
  }
  if (sign > 0) {
    const bool is_turned = (b.kind == Kind::signal || b.kind == Kind::scores ||
                            (b.kind == Kind::table && a.kind == Kind::constant)) &&
                           a.kind != Kind::signal && a.kind != Kind::negated && a.kind != b.kind;
    if (is_turned) return plus(node, b, a, 1);
    if (is(Kind::table, Kind::table)) {
      Value out = a;
      out.maker = here_;
      out.tables.insert(out.tables.end(), b.tables.begin(), b.tables.end());
      result(node) = std::move(out);
      return;
    }
    if (is(Kind::signal, Kind::table)) {
      if (!b.added.empty()) fail(node, "a table and a constant are added in one");
      return plus_tables(node, a, b.tables);
    }
    if (is(Kind::signal, Kind::parameter)) return plus_parameter(node, a, b);
    if (is(Kind::signal, Kind::constant)) return plus_constant(node, a, b.tensor);
  }
  join(node, a, b, sign > 0 ? '+' : '-');
}

void Reader::times(const Node& node, const Value& a, const Value& b, bool divides) {
  if (!divides && (times_numbers(node, a, b) || times_numbers(node, b, a))) return;
  if (!divides && (b.kind == Kind::signal || b.kind == Kind::turned) && a.kind != Kind::signal)
    return times(node, b, a, false);
  if (a.kind == Kind::signal && b.kind == Kind::statistic) {
    if (b.statistic.power != (divides ? 0.5 : -0.5)) fail(node, "it is no norm");
    return norm_of(node, a, b.statistic);
  }
  if (!divides && b.kind == Kind::constant && (a.kind == Kind::signal || a.kind == Kind::turned)) {
    Value out = a;
    out.maker = here_;
    out.is_turned = a.kind == Kind::turned;
    out.kind = Kind::by_table;
    out.tensor = b.tensor;
    result(node) = std::move(out);
    return;
  }
  if (!divides && a.kind == Kind::signal && b.kind == Kind::parameter)
    return times_parameter(node, a, b);
  join(node, a, b, divides ? '/' : '*');
}

void Reader::norm_of(const Node& node, const Value& signal, const Statistic& statistic) {
  const Part& own = graph_.parts[signal.part];
  const bool is_centred = own.kind == Part::Kind::centred;
  const std::size_t from = is_centred ? own.inputs[0] : signal.part;
  if (statistic.is_mean || statistic.is_centred != is_centred || statistic.part != from)
    fail(node, "it divides by what is no root mean square of itself");
  Part part;
  part.kind = Part::Kind::norm;
  part.norm = is_centred ? Part::Norm::layer : Part::Norm::rms;
  part.eps = statistic.eps;
  part.inputs = {from};
  part.is_of_heads = !is_last(signal.view);
  part.features = own.features;
  part.tokens = own.tokens;
  part.height = own.height;
  become(node, add(node, std::move(part)), signal.view);
}

void Reader::times_parameter(const Node& node, const Value& signal, const Value& parameter) {
  Part part = graph_.parts[signal.part];
  const std::int64_t size = numbers_in(sizes(parameter.tensor));
  const std::int64_t last =
      count(signal.view.dims.empty() ? std::vector<Axis>() : signal.view.dims.back());
  if (part.kind == Part::Kind::norm && part.weight == nothing && size == last) {
    part.weight = parameter.tensor;
    part.has_offset = parameter.has_one;
    return become(node, add(node, std::move(part)), signal.view);
  }
  const Value input = whole(node, signal);
  if (parameter.has_one || (size != 1 && size != graph_.parts[input.part].features))
    fail(node, "it multiplies by a parameter that is neither a gain of a norm nor of a branch");
  part = Part();
  part.kind = Part::Kind::scale;
  part.weight = parameter.tensor;
  part.inputs = {input.part};
  part.features = graph_.parts[input.part].features;
  part.tokens = graph_.parts[input.part].tokens;
  part.height = graph_.parts[input.part].height;
  become(node, add(node, std::move(part)), input.view);
}

void Reader::plus_parameter(const Node& node, const Value& signal, const Value& parameter) {
  const std::int64_t size = numbers_in(sizes(parameter.tensor));
  Part part = graph_.parts[signal.part];
  const std::int64_t last =
      count(signal.view.dims.empty() ? std::vector<Axis>() : signal.view.dims.back());
  const bool is_map = part.kind == Part::Kind::linear || part.kind == Part::Kind::convolution ||
                      (part.kind == Part::Kind::norm && part.weight != nothing);
  if (is_map && part.bias == nothing && size == last && !parameter.has_one) {
    part.bias = parameter.tensor;
    return become(node, add(node, std::move(part)), signal.view);
  }
  plus_tables(node, signal, {{parameter.tensor, false, size == last, nothing}});
}

void Reader::plus_tables(const Node& node, const Value& signal, const std::vector<Table>& tables) {
  Value input = whole(node, signal);
  if (!is_last(input.view)) fail(node, "rows of a table are added to what are no tokens");
  std::size_t made = input.part;
  for (const Table& table : tables) {
    const Part& before = graph_.parts[made];
    const Sizes& shape = sizes(table.tensor);
    if (shape.empty() || shape.back() != before.features)
      fail(node, "a parameter is added that has other sizes than the features",
           "biases of maps and tables of positions are known");
    Part part;
    part.kind = Part::Kind::table;
    part.inputs = {made};
    part.weight = table.tensor;
    part.is_segment = table.is_segment;
    part.is_grid = !table.is_lookup && is_grid(table.tensor, before.tokens, before.features);
    part.features = before.features;
    part.tokens = before.tokens;
    part.height = before.height;
    made = add(node, std::move(part));
  }
  become(node, made, input.view);
}

/// Positions that are not learnt, as sines.
void Reader::plus_constant(const Node& node, const Value& signal, std::size_t constant) {
  const Value input = whole(node, signal);
  const Sizes& shape = sizes(constant);
  const std::int64_t all = numbers_in(shape);
  if (!is_last(input.view) || shape.empty() || shape.back() != graph_.parts[input.part].features)
    fail(node, "a table is added that has other sizes than the features");
  constexpr std::int64_t most = 4096;
  double sum = 0;
  std::int64_t counted = 0;
  for (std::int64_t at = 0; at < all; at += std::max<std::int64_t>(1, all / most)) {
    Sizes index(shape.size(), 0);
    std::int64_t rest = at;
    for (std::size_t i = shape.size(); i-- > 0; rest /= std::max<std::int64_t>(1, shape[i]))
      index[i] = rest % std::max<std::int64_t>(1, shape[i]);
    const auto entry = constants_.at(constant, index);
    if (!entry) fail(node, "the values of the table that it adds are not known");
    sum += *entry * *entry;
    ++counted;
  }
  Part part = graph_.parts[input.part];
  part.kind = Part::Kind::table;
  part.inputs = {input.part};
  part.weight = part.bias = nothing;
  part.second = counted > 0 ? sum / static_cast<double>(counted) : 0;
  if (*part.second == 0) return become(node, input.part, input.view);
  part.is_grid = is_grid(constant, part.tokens, part.features);
  if (part.is_grid && constants_.sources(constant) == std::vector{constant}) part.weight = constant;
  if (!part.is_grid)
    remarks_.insert(
        "positions that are no parameters are taken as independent learnt rows of their mean "
        "square: "
        "overlaps of neighbouring tokens may differ");
  become(node, add(node, std::move(part)), input.view);
}

void Reader::join(const Node& node, const Value& given, const Value& other, char sign) {
  const Value a = whole(node, given), b = whole(node, other);
  const auto [base_a, of_a] = base_of(a.part);
  const auto [base_b, of_b] = base_of(b.part);
  if (base_a == base_b && a.view == b.view) {
    Part part = graph_.parts[base_a];
    part.kind = Part::Kind::function;
    part.inputs = {base_a};
    part.weight = part.bias = nothing;
    part.function = joined(of_a, of_b, sign);
    if (part.function.text.size() > longest_function)
      fail(node, "it computes a function of more than " + std::to_string(longest_function) +
                     " characters");
    return become(node, add(node, std::move(part)), a.view);
  }
  if (sign == '/' || sign == '-')
    fail(node,
         std::string("two tensors that hang on the input are ") +
             (sign == '/' ? "divided" : "subtracted"),
         "sums, gates and heads of attention are known");
  if (modulate(node, a, b, sign) || modulate(node, b, a, sign)) return;
  const Part& first = graph_.parts[a.part];
  if (!(a.view == b.view) || first.features != graph_.parts[b.part].features)
    fail(node, "it joins tensors of other dimensions: one is repeated over the other's",
         "sums and gates of equal sizes are known");
  Part part;
  part.kind = sign == '+' ? Part::Kind::sum : Part::Kind::product;
  part.inputs = {a.part, b.part};
  part.features = first.features;
  part.tokens = first.tokens;
  part.height = first.height;
  become(node, add(node, std::move(part)), a.view);
}

}  // namespace scalecalc::graphs
