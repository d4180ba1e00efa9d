#include "moments/engines/formulas.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "moments/gaussian_function.hpp"

namespace scalecalc::moments {
namespace {

// Primes, so that no size is another by chance; small ones, so that any number of heads fits.
constexpr std::int64_t kHeadWidth = 11, kWidth = 1009, kFfn = 2003, kVocab = 2011, kFeatures = 2017,
                       kMemory = 2027, kPatch = 2029, kEmbedding = 2039, kHeadClasses = 2053;

/// One entry of weights whose spec gives no formula.
Expr numeric_variance(const Linear& layer) {
  if (layer.weight_norm == WeightNorm::demodulated) return 1 / Expr(layer.fan_in);
  const Expr std = exact(layer.multiplier) * exact(layer.std);
  return std * std;
}

std::int64_t unless_one(std::int64_t size, std::int64_t distinct) {
  return size <= 1 ? size : distinct;
}

}  // namespace

ModelSpec distinct_sizes(const ModelSpec& spec) {
  ModelSpec made = spec;
  if (spec.kind == ModelSpec::Kind::layers) return made;
  const bool transformer = spec.kind == ModelSpec::Kind::transformer;
  const bool shared_out = transformer && spec.head_width == 0;
  made.width = shared_out ? spec.heads * kHeadWidth : unless_one(spec.width, kWidth);
  if (spec.head_width != 0) made.head_width = unless_one(spec.head_width, kHeadWidth);
  if (transformer && spec.qk_norm && made.width == spec.heads) made.width *= 2;
  made.ffn = unless_one(spec.ffn, kFfn);
  made.vocab = unless_one(spec.vocab, kVocab);
  if (spec.head_classes > 1) made.head_classes = kHeadClasses;
  made.features = spec.features == spec.width ? made.width : unless_one(spec.features, kFeatures);
  made.memory.sequence = unless_one(spec.memory.sequence, kMemory);
  if (spec.input.patch > 1) made.input.patch = kPatch;
  if (spec.input.embedding_width > 1) made.input.embedding_width = kEmbedding;
  return made;
}

Formulas::Formulas(const ModelSpec& spec)
    : numbers_(spec.kind == ModelSpec::Kind::layers),
      grouped_(spec.kv_heads > 0 && spec.kv_heads != spec.heads) {
  const ModelSpec sizes = distinct_sizes(spec);
  const auto name = [&](std::int64_t n, const char* text, std::int64_t value) {
    if (n > 1) names_.try_emplace(n, Expr::symbol(text));
    values_[text] = static_cast<double>(value);
  };
  name(sizes.width, "width", spec.width);
  name(sizes.ffn, "ffn", spec.ffn);
  name(sizes.vocab, "vocab", spec.vocab);
  if (spec.head_classes > 0) name(sizes.head_classes, "head_classes", spec.head_classes);
  name(sizes.features, "features", spec.features);
  name(sizes.memory.sequence, "memory", spec.memory.sequence);
  if (spec.input.patch > 0) name(sizes.input.patch, "patch", spec.input.patch);
  if (spec.input.embedding_width > 0)
    name(sizes.input.embedding_width, "embedding_width", spec.input.embedding_width);
  const std::int64_t kv_heads = spec.kv_heads > 0 ? spec.kv_heads : spec.heads;
  if (spec.kind == ModelSpec::Kind::transformer)
    for (const auto& [heads, text] : {std::pair{spec.heads, "heads"}, {kv_heads, "kv_heads"}})
      names_.try_emplace(heads * head_width(sizes),
                         Expr::symbol(text) * Expr::symbol("head_width"));
  const std::vector<std::pair<const char*, std::int64_t>> others = {
      {"N", spec.layers},    {"T", spec.sequence},   {"B", spec.batch},
      {"heads", spec.heads}, {"kv_heads", kv_heads}, {"head_width", head_width(spec)}};
  for (const auto& [text, value] : others) values_[text] = static_cast<double>(value);

  if (spec.features == spec.width) known_.emplace("features", Expr::symbol("width"));
  if (spec.alpha && spec.alpha->is_one()) known_.emplace("alpha", 1);
  if (spec.lambda && spec.lambda->is_one()) known_.emplace("lambda", 1);
  const Bindings depth = {{"N", static_cast<double>(spec.layers)}};
  values_["alpha"] = spec.alpha ? evaluate(*spec.alpha, depth) : 1;
  values_["lambda"] = spec.lambda ? evaluate(*spec.lambda, depth) : 1;
}

Expr Formulas::size(std::int64_t n, std::string_view name) const {
  if (n <= 1 || numbers_) return n;
  const auto known = names_.find(n);
  if (name == "tokens" && (known == names_.end() || known->second != Expr::symbol("memory")))
    return Expr::symbol("T");
  if (name == "batch") return Expr::symbol("B");
  if (name == "kv_heads") return Expr::symbol(grouped_ ? "kv_heads" : "heads");
  if (name == "heads" || name == "head_width") return Expr::symbol(std::string(name));
  return known == names_.end() ? Expr(n) : known->second;
}

Expr Formulas::plain(const Expr& formula) const {
  return substitute(formula, known_);
}

Expr Formulas::variance(const Linear& layer) const {
  const bool given = layer.weight_norm == WeightNorm::none && layer.variance_formula;
  return given ? plain(*layer.variance_formula) : numeric_variance(layer);
}

Expr Formulas::bias_variance(const Linear& layer) const {
  if (!layer.bias) return 0;
  return exact(layer.bias_std) * exact(layer.bias_std);
}

Expr Formulas::skip(const Residual& layer) const {
  return layer.skip_formula ? plain(*layer.skip_formula) : exact(layer.skip);
}

Expr Formulas::branch(const Residual& layer) const {
  return layer.branch_formula ? plain(*layer.branch_formula) : exact(layer.branch);
}

Expr Formulas::scale(const Attention& layer) const {
  return layer.scale_formula ? plain(*layer.scale_formula) : exact(layer.scale);
}

Formulas::Function Formulas::function(const std::string& name) {
  std::unique_ptr<Activation>& kept = functions_[name];
  if (!kept) kept = std::make_unique<Activation>(activation_of(name));
  return kept.get();
}

const ClosedForm& Formulas::formula(Function f, Moment moment, InputMean mean) {
  const std::string key =
      fmt::format("{}:{}:{}", to_string(moment), static_cast<int>(mean), f->name());
  const auto known = closed_.find(key);
  if (known != closed_.end()) return known->second;
  return closed_[key] = closed_form(*f, moment, mean);
}

Expr Formulas::expectation(Function f, Moment moment, const Token<Expr>& u) {
  const Expr variance = variance_of(u);
  const InputMean mean = u.mean.is_zero() ? InputMean::zero : InputMean::symbol;
  if (const ClosedForm& found = formula(f, moment, mean); found.formula)
    return substitute(*found.formula, {{"q", variance}, {"mu", u.mean}});
  return unevaluated(*f, moment, u.mean, variance);
}

/// Tokens of one formula are alike, so u stands for both.
Expr Formulas::pair(Function f, Moment moment, const Token<Expr>& u, const Token<Expr>&,
                    const Expr& cross) {
  const Expr variance = variance_of(u), covariance = cross - u.mean * u.mean;
  const Expr c = covariance / variance;
  const InputMean mean = u.mean.is_zero() ? InputMean::zero : InputMean::symbol;
  if (const ClosedForm& found = formula(f, moment, mean); found.formula) {
    try {
      return substitute(*found.formula, {{"q", variance}, {"mu", u.mean}, {"c", c}});
    } catch (const Error&) {  // a limit of the formula (c = 1) that its terms do not have
    }
  }
  return unevaluated(*f, moment, u.mean, variance, c);
}

Expr Formulas::softmax_second(const HeadSoftmax& head, const Expr& tau2) const {
  return Expr::function("P2", {head.classes, tau2});
}

/// Logits of one formula are alike.
Expr Formulas::softmax_cross(const HeadSoftmax& head, const Expr& tau2, const Expr&,
                             const Expr& cross) const {
  return Expr::function("O", {head.classes, tau2, cross / tau2});
}

/// E ln sum e^z has no name of its own; log V + tau2/2 is its limit of many classes.
Expr Formulas::log_sum(std::int64_t classes, const Expr& tau2) const {
  return log(size(classes, "classes")) + tau2 / 2;
}

const WidthMoments& Formulas::width(Function, double, double) const {
  static const WidthMoments none;
  return none;
}

Expr Formulas::without_abs(const Expr& formula) const {
  const Expr inner = rebuilt(formula, [&](const Expr& part) { return without_abs(part); });
  if (inner.kind() != Expr::Kind::function || inner.name() != "abs") return inner;
  const Expr& inside = inner.operands()[0];
  const bool known = std::find(positive_.begin(), positive_.end(), inside) != positive_.end();
  return known ? inside : inner;
}

void Formulas::assume(std::string_view rule, std::string_view text) {
  const bool known = std::any_of(assumptions_.begin(), assumptions_.end(), [&](const Premise& a) {
    return a.rule == rule && a.text == text;
  });
  if (known) return;
  Premise made;
  made.rule = rule;
  made.text = text;
  made.first_site = site_;
  assumptions_.push_back(std::move(made));
}

void Formulas::assume(std::string_view rule, std::string_view text, std::string_view name, double,
                      double limit) {
  assume(rule, text);
  for (Premise& made : assumptions_)
    if (made.rule == rule && made.text == text)
      made.condition = fmt::format("{} is below {:.3g}", name, limit);
}

/// One key has all the weight, whatever its score.
Expr softmax_p2(const Formulas& calculus, std::int64_t keys, const Expr& tau2) {
  if (keys == 1) return 1;
  return Expr::function("P2", {calculus.size(keys, "tokens"), tau2});
}

Expr softmax_a(const Formulas& calculus, std::int64_t keys, const Expr& tau2) {
  if (keys == 1) return 0;
  return Expr::function("A", {calculus.size(keys, "tokens"), tau2});
}

Expr softmax_overlap(const Formulas& calculus, std::int64_t keys, const Expr& tau2, const Expr& c) {
  if (keys == 1) return 1;
  return Expr::function("O", {calculus.size(keys, "tokens"), tau2, c});
}

Expr softmax_a_prime(const Formulas& calculus, std::int64_t keys, const Expr& tau2, const Expr& c) {
  if (keys == 1) return 0;
  return Expr::function("A_prime", {calculus.size(keys, "tokens"), tau2, c});
}

}  // namespace scalecalc::moments
