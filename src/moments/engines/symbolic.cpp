#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "moments/engines/cancel.hpp"
#include "moments/engines/laws.hpp"
#include "moments/engines/stack.hpp"
#include "moments/engines/symbolic_sites.hpp"
#include "moments/trace_of.hpp"

namespace scalecalc {
namespace moments {
namespace {

constexpr const char* kIndex = "l";
constexpr std::size_t kLongest = 4000;  ///< characters of a formula that is shown

/// A layer of the stream, where it stands, and what is known before and behind it.
struct Step {
  Unit unit;
  StreamFormulas stream;      ///< before it
  GradientFormulas gradient;  ///< behind it
  bool in_stack = false;
};

/// Steps that are one block of a stack, or one layer by itself.
struct Group {
  std::vector<std::size_t> steps;
  Expr count = 1;          ///< blocks
  std::int64_t first = 0;  ///< index of the first in the paths
  bool is_stack = false;
};

/// "block[1].attn" -> "block[l].attn".
std::string with_index(std::string path) {
  const std::size_t open = path.find('['), close = path.find(']');
  if (open == std::string::npos || close == std::string::npos) return path;
  return path.replace(open + 1, close - open - 1, kIndex);
}

std::string block_name(const Layer& layer) {
  const std::string path = std::visit([](const auto& op) { return op.path; }, layer.op);
  const std::size_t close = path.find(']');
  return close == std::string::npos ? std::string() : path.substr(0, close + 1);
}

class Symbolic {
 public:
  explicit Symbolic(const ModelSpec& spec) : spec_(spec), calculus_(spec) {
    ModelSpec small = distinct_sizes(spec);
    if (spec.kind != ModelSpec::Kind::layers) small.layers = std::min<std::int64_t>(spec.layers, 3);
    network_ = build_network(small);
  }

  FormulaSites run() {
    forward();
    backward();
    for (const Group& group : groups_)
      for (const std::size_t step : group.steps) add_sites(steps_[step], group);
    found_.laws = stream_laws(calculus_, network_);
    const Contents contents = contents_of(network_.layers);
    if (contents.alibi) calculus_.assume("attention", "ALiBi's biases of the scores are left out");
    if (contents.relative)
      calculus_.assume("attention", "learnt biases of the scores are left out");
    if (contents.window) calculus_.assume("attention", "windows are left out");
    if (contents.causal)
      calculus_.assume("attention", "tokens are alike: under a mask too, each sees all T keys");
    calculus_.assume("formulas", "leading order in 1/width and T/width");
    found_.assumptions = calculus_.assumptions();
    found_.values = calculus_.values();
    return std::move(found_);
  }

 private:
  // ---- the way up -----------------------------------------------------------------------------

  /// The first block of an mlp maps features to width, so that alike ones begin with the second.
  std::int64_t first_of_stack() const {
    if (spec_.kind == ModelSpec::Kind::transformer) return 0;
    return spec_.placement == Placement::none && spec_.features == spec_.width ? 0 : 1;
  }

  /// Of alike blocks the first stands for all.
  void collect_groups() {
    const std::string stack = spec_.kind == ModelSpec::Kind::transformer ? "block[" : "layer[";
    const std::string first = fmt::format("{}{}]", stack, first_of_stack());
    std::string before;
    for (std::size_t i = 0; i < network_.layers.size(); ++i) {
      const std::string name = block_name(network_.layers[i]);
      const bool of_stack = spec_.kind != ModelSpec::Kind::layers && name.starts_with(stack);
      const bool ahead = of_stack && first_of_stack() == 1 && name == stack + "0]";
      if (of_stack && !ahead && name != first) continue;
      const bool joins = of_stack && !ahead && name == before;
      if (!joins) groups_.push_back(of_stack && !ahead ? new_stack() : Group{});
      groups_.back().steps.push_back(i);
      before = name;
    }
  }
  Group new_stack() const {
    Group group;
    group.is_stack = true;
    group.first = first_of_stack();
    group.count = Expr::symbol("N") - Expr(group.first);
    return group;
  }

  void forward() {
    collect_groups();
    StreamFormulas stream{Expr(0), exact(network_.input_second), exact(network_.input_cross)};
    place_.width = network_.features;
    place_.tokens = network_.sequence;
    if (place_.tokens == 1) stream.cross = Expr(0);
    input(stream);
    for (Group& group : groups_) group.is_stack ? stack(group, stream) : single(group, stream);
  }

  void input(const StreamFormulas& stream) {
    if (network_.input == InputKind::tokens) return;
    FormulaSite site;
    site.path = site.kind = "input";
    site.second = *stream.second;
    site.cross = *stream.cross;
    site.has_cross = place_.tokens > 1;
    site.has_gradient = false;
    found_.sites.push_back(std::move(site));
  }

  std::size_t add(std::size_t layer, const StreamFormulas& stream) {
    place_.is_head = layer + 1 == network_.layers.size();
    Step step;
    step.unit = make_unit(calculus_, network_, network_.layers[layer], place_);
    step.stream = stream;
    const Unit& unit = step.unit;
    place_ = {unit.width, unit.tokens, unit.out.mean.is_zero(), unit.normalised, false};
    steps_.push_back(std::move(step));
    return steps_.size() - 1;
  }

  void single(Group& group, StreamFormulas& stream) {
    for (std::size_t& layer : group.steps) {
      layer = add(layer, stream);
      stream = through(steps_[layer].unit, stream);
    }
  }

  std::vector<std::size_t> add_all(const std::vector<std::size_t>& layers) {
    std::vector<std::size_t> steps;
    for (const std::size_t layer : layers) steps.push_back(add(layer, {}));
    return steps;
  }

  /// A stream that has no mean keeps none, unless a block gives it one.
  void stack(Group& group, StreamFormulas& stream) {
    const Place start = place_;
    const std::vector<std::size_t> layers = group.steps;
    const std::size_t kept = steps_.size();
    group.steps = add_all(layers);
    if (start.zero_mean && !place_.zero_mean) {
      steps_.resize(kept);
      place_ = start;
      place_.zero_mean = false;
      group.steps = add_all(layers);
    }
    const StreamFormulas before = solve_forward(units(group), stream);
    StreamFormulas at = before;
    for (const std::size_t step : group.steps) {
      steps_[step].stream = at;
      steps_[step].in_stack = true;
      at = through(steps_[step].unit, at);
    }
    stream = at_index(before, group.count);
  }

  std::vector<Unit> units(const Group& group) const {
    std::vector<Unit> block;
    for (const std::size_t step : group.steps) block.push_back(steps_[step].unit);
    return block;
  }

  static StreamFormulas at_index(StreamFormulas stream, const Expr& index) {
    for (std::optional<Expr>* one : {&stream.mean, &stream.second, &stream.cross})
      if (*one) *one = substitute(**one, {{kIndex, index}});
    return stream;
  }

  // ---- the way down ---------------------------------------------------------------------------

  void backward() {
    GradientFormulas gradient;
    for (std::size_t i = groups_.size(); i-- > 0;) {
      Group& group = groups_[i];
      if (group.is_stack)
        stack_back(group, gradient);
      else
        for (std::size_t u = group.steps.size(); u-- > 0;) pass_back(group.steps[u], gradient);
    }
  }

  void pass_back(std::size_t step, GradientFormulas& gradient) {
    steps_[step].gradient = gradient;
    gradient = back_through(steps_[step].unit, steps_[step].stream, gradient);
  }

  void stack_back(Group& group, GradientFormulas& gradient) {
    std::vector<StreamFormulas> streams;
    for (const std::size_t step : group.steps) streams.push_back(steps_[step].stream);
    GradientFormulas at = solve_backward(units(group), streams, gradient, group.count);
    for (std::size_t u = group.steps.size(); u-- > 0;) pass_back(group.steps[u], at);
    gradient = at;
    for (std::optional<Expr>* one : {&gradient.second, &gradient.cross, &gradient.aligned})
      if (*one) *one = substitute(**one, {{kIndex, Expr(0)}});
  }

  /// In the index of the paths.
  Expr shown(const Expr& formula, const Step& step, const Group& group) const {
    const Expr put = cancelled(put_known(formula, step.stream, step.gradient));
    if (group.first == 0 || !group.is_stack) return put;
    return substitute(put, {{kIndex, Expr::symbol(kIndex) - Expr(group.first)}});
  }

  void add_sites(const Step& step, const Group& group) {
    for (const UnitSite& from : step.unit.sites) {
      FormulaSite site;
      site.path = group.is_stack ? with_index(from.path) : from.path;
      site.kind = from.kind;
      site.has_cross = from.has_cross;
      site.in_stack = step.in_stack;
      site.second = shown(from.x.second, step, group);
      site.grad_second = shown(from.gradient.second, step, group);
      if (from.has_cross) {
        site.cross = shown(from.x.cross, step, group);
        site.grad_cross = shown(from.gradient.cross, step, group);
      }
      found_.sites.push_back(std::move(site));
    }
  }

  const ModelSpec& spec_;
  Formulas calculus_;
  Network network_;
  std::vector<Step> steps_;
  std::vector<Group> groups_;
  Place place_;
  FormulaSites found_;
};

/// What the symbols of an unsolved recursion stand for.
std::string note_of(const FormulaSite& site) {
  const std::vector<std::pair<const char*, const char*>> meanings = {
      {"mu", "mean of the stream before this layer"},
      {"m", "second of the stream before this layer"},
      {"r", "cross of the stream before this layer"},
      {"g", "grad_second behind this layer"},
      {"k", "grad_cross behind this layer"},
      {"h", "part of that gradient along x"},
      {"s", "variance of the scores before this layer"},
      {"u", "their covariance between two queries"},
      {"gs", "sum over keys of the squared gradient that the layers behind give a query's scores"},
      {"ks", "the same sum of products of two queries"}};
  std::string text;
  for (const auto& [symbol, meaning] : meanings)
    if (site.uses(symbol))
      text += fmt::format("{}{}: {}", text.empty() ? "recursion; " : ", ", symbol, meaning);
  if (!text.empty()) return text;
  return site.in_stack ? "solved" : "";
}

SymbolicSite written(const FormulaSite& from) {
  SymbolicSite site;
  site.path = from.path;
  site.kind = from.kind;
  site.note = note_of(from);
  const auto put = [&](const Expr& formula, std::string& text, std::string* latex) {
    text = formula_text(formula);
    const bool readable = text.size() <= kLongest;
    if (!readable)
      site.note += fmt::format("{}a formula of {} characters is left out",
                               site.note.empty() ? "" : "; ", text.size());
    if (!readable) text.clear();
    if (readable && latex) *latex = formula_text(formula, Notation::latex);
  };
  put(from.second, site.second, &site.second_latex);
  if (from.has_cross) put(from.cross, site.cross, nullptr);
  if (from.has_gradient) put(from.grad_second, site.grad_second, &site.grad_second_latex);
  if (from.has_gradient && from.has_cross) put(from.grad_cross, site.grad_cross, nullptr);
  return site;
}

}  // namespace

bool FormulaSite::uses(std::string_view symbol) const {
  return second.contains(symbol) || cross.contains(symbol) || grad_second.contains(symbol) ||
         grad_cross.contains(symbol);
}

FormulaSites symbolic_sites(const ModelSpec& spec) {
  if (spec.tie_head)
    throw Error(ErrorKind::input,
                "formulas take the head for independent of the words, and it is tied",
                "--engine symbolic", "use --engine quadrature, or --tie-head=false");
  const bool of_list =
      std::any_of(spec.layer_list.begin(), spec.layer_list.end(),
                  [](const LayerSpec& layer) { return layer.type == LayerSpec::Type::encoder; });
  if (spec.encoder_decoder || of_list)
    throw Error(ErrorKind::input, "formulas follow one stream, and an encoder has another",
                "--engine symbolic", "use --engine quadrature, or a model without an encoder");
  if (!spec.norm_scale.is_one())
    throw Error(ErrorKind::input,
                "formulas follow blocks that are alike, and norm_scale is not the same in all",
                "--engine symbolic", "use --engine quadrature, or --norm-scale 1");
  if (spec.value_residual != 0)
    throw Error(ErrorKind::input,
                "formulas follow blocks one by one, and value_residual reads the first in all",
                "--engine symbolic", "use --engine quadrature, or --value-residual 0");
  if (spec.modulation != AdaptiveNorm::none)
    throw Error(ErrorKind::input,
                "formulas follow one stream, and a condition that modulates it is another",
                "--engine symbolic", "use --engine quadrature, or --modulation none");
  if (spec.class_tokens > 0)
    throw Error(ErrorKind::input,
                "formulas follow tokens that are alike, and class tokens are unlike the others",
                "--engine symbolic", "use --engine quadrature, or --class-tokens 0");
  if (spec.pool == Pooling::last_token)
    throw Error(ErrorKind::input,
                "formulas follow tokens that are alike, and the head reads the last alone",
                "--engine symbolic", "use --engine quadrature, or --pool none");
  return Symbolic(spec).run();
}

}  // namespace moments

SymbolicTrace propagate_symbolic(const ModelSpec& spec) {
  moments::FormulaSites found = moments::symbolic_sites(spec);
  SymbolicTrace trace;
  for (const moments::FormulaSite& site : found.sites)
    trace.sites.push_back(moments::written(site));
  trace.laws = std::move(found.laws);
  trace.assumptions = std::move(found.assumptions);
  return trace;
}

}  // namespace scalecalc
