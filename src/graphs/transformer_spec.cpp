#include <fmt/format.h>

#include <cmath>

#include "graphs/transformer_reader.hpp"

/// What stands in front of the blocks of a transformer, and behind them.
namespace scalecalc::graphs {

using Kind = Part::Kind;

namespace {

constexpr const char* no_final_modulation =
    "a condition modulates the norms of branches, and not this one behind them";

}  // namespace

TransformerReader::TransformerReader(const Understood& known)
    : known_(known), items_(&known.items), names_(known) {
  spec_ = default_spec(ModelSpec::Kind::transformer);
}

std::optional<ModelSpec> TransformerReader::run() {
  if (!known_.memory.empty() && !encoder()) return std::nullopt;
  if (!begin()) return std::nullopt;
  const auto count = blocks();
  if (!count) return std::nullopt;
  if (spec_.encoder_decoder)
    spec_.decoder_layers = *count == spec_.layers ? Expr::symbol("N") : Expr(Rational(*count));
  else
    spec_.layers = *count;
  if (!end() || (known_.condition && !condition()) || !set_shapes() || !is_one_ || !set_weights())
    return std::nullopt;
  spec_.names = names_.take({"block[", "encoder.block["});
  return spec_;
}

const Item* TransformerReader::at(std::size_t ahead) const {
  return next_ + ahead < items_->size() ? &(*items_)[next_ + ahead] : nullptr;
}

const Part* TransformerReader::part_at(std::size_t ahead) const {
  const Item* item = at(ahead);
  return item == nullptr || item->kind != Item::Kind::part ? nullptr : &known_.part(item->part);
}

bool TransformerReader::is(Kind kind, std::size_t ahead) const {
  const Part* part = part_at(ahead);
  return part != nullptr && part->kind == kind;
}

/// The first of two stacks.
bool TransformerReader::encoder() {
  items_ = &known_.memory;
  prefix_ = "encoder.";
  spec_.encoder_decoder = true;
  if (known_.part((*items_)[0].part).kind != Kind::embedding || !begin()) return false;
  const auto count = blocks();
  if (!count || causal_ != false || !final_norm() || at() != nullptr) return false;
  spec_.layers = *count;
  spec_.memory.sequence = spec_.sequence;
  spec_.memory.second = spec_.input.second;
  causal_.reset();
  relative_table_.reset();
  windows_.clear();
  items_ = &known_.items;
  prefix_.clear();
  return true;
}

bool TransformerReader::begin() {
  const Part& root = known_.part((*items_)[0].part);
  spec_.batch = known_.graph.batch;
  next_ = 1;
  spec_.input.positions = 0;
  if (root.kind == Kind::embedding ? !begin_words(root) : !begin_patches(root)) return false;
  for (; is(Kind::table); ++next_) {
    const Part& part = *part_at();
    if (part.is_segment && spec_.input.kind != InputKind::tokens) return false;
    table(part);
  }
  agree(positions_, spec_.input.positions);
  if (is(Kind::norm)) {
    spec_.input.norm = true;
    norm(at()->part, prefix_ + "input.norm");
    ++next_;
  }
  if (is(Kind::dropout)) {
    agree(rate_, part_at()->rate);
    places_.input = true;
    ++next_;
  }
  return is_one_;
}

bool TransformerReader::begin_words(const Part& root) {
  spec_.input.kind = InputKind::tokens;
  spec_.width = root.features;
  spec_.sequence = root.tokens;
  const std::int64_t rows = known_.program.tensors[root.weight].sizes[0];
  if (spec_.encoder_decoder && prefix_.empty()) {
    if (rows != rows_) return false;
    known_.remarks.insert(
        "each stack has an embedding of its own here: where the model has one for both, its "
        "gradient is the sum of theirs");
  }
  rows_ = rows;
  words_ = root.weight;
  names_.tensor(root.weight, prefix_ + "embedding.weight");
  if (const auto figure = known_.figures.tensor(root.weight))
    spec_.input.second = neat_square(figure->std, figure->counted);
  agree(second_, spec_.input.second);
  if (is(Kind::function) && part_at()->function.factor && *part_at()->function.factor > 0) {
    spec_.input.multiplier = *part_at()->function.factor;
    ++next_;
  }
  known_.remarks.insert("words are taken to be drawn evenly: --zipf says otherwise");
  return true;
}

/// A convolution whose windows touch, or a map of what the input has.
bool TransformerReader::begin_patches(const Part& root) {
  if (!is(Kind::convolution) && !is(Kind::linear)) return false;
  const Part& map = *part_at();
  const bool touches = map.kind == Kind::linear || (map.kernel == map.stride && map.padding == 0 &&
                                                    map.groups == 1 && root.height > 0);
  if (!touches || known_.program.tensors[map.weight].sizes.size() == 3) return false;
  spec_.input.patch = root.features * map.kernel * map.kernel;
  spec_.width = map.features;
  spec_.sequence = map.tokens;
  spec_.patch_bias = map.bias != nothing;
  weigh("patch", at()->part);
  names_.patches(at()->part);
  ++next_;
  if (is(Kind::class_tokens)) {
    const Part& tokens = *part_at();
    spec_.class_tokens = tokens.count;
    spec_.sequence = tokens.tokens;
    if (const auto figure = known_.figures.tensor(tokens.weight))
      spec_.input.class_std = neat(figure->std, figure->counted);
    names_.tensor(tokens.weight, "embedding.class");
    ++next_;
  }
  known_.remarks.insert(
      "the input is taken to be standard normal, independent between patches: "
      "--second and --cross say otherwise");
  return true;
}

void TransformerReader::table(const Part& part) {
  const auto figure = known_.figures.tensor(part.weight);
  if (part.is_segment) {
    spec_.input.segments = known_.program.tensors[part.weight].sizes[0];
    names_.tensor(part.weight, prefix_ + "embedding.segment");
    return;
  }
  if (part.is_grid && spec_.input.kind == InputKind::gaussian && spec_.class_tokens == 0 &&
      spec_.input.positions == 0 && !spec_.input.sinusoids) {
    spec_.input.sinusoids = true;
    names_.ignore(part.weight);
    return;
  }
  const double second = part.second ? *part.second
                        : figure    ? neat_square(figure->std, figure->counted)
                                    : 0.0;
  spec_.input.positions += second;
  if (!part.second) names_.tensor(part.weight, prefix_ + "embedding.position");
  if (!part.second && second == 0)
    known_.remarks.insert("a table of positions that is zero, or not in the file, is left out");
}

void TransformerReader::norm(std::size_t index, const std::string& path) {
  const Part& part = known_.part(index);
  agree(norm_, norm_kind(part));
  agree(eps_, part.eps);
  agree(affine_, part.weight != nothing);
  agree(offset_, part.has_offset);
  if (part.norm != Part::Norm::layer && part.norm != Part::Norm::rms) is_one_ = false;
  names_.norm(index, path);
}

bool TransformerReader::final_norm() {
  if (!has_final_norm(spec_.placement)) return true;
  if (!is(Kind::norm)) return false;
  norm(at()->part, prefix_ + "final_norm");
  ++next_;
  if (!known_.condition) return true;
  if (!is(Kind::modulation)) known_.fail(items_->at(next_ - 1).part, no_final_modulation);
  modulated_norm(at()->part, prefix_ + "final_norm");
  ++next_;
  return true;
}

bool TransformerReader::end() {
  if (!final_norm()) return false;
  if (is(Kind::pool)) {
    const bool is_first = part_at()->pool == Part::Pool::first;
    if (is_first != (spec_.class_tokens > 0)) return false;
    spec_.pool = is_first ? Pooling::class_token : Pooling::mean;
    ++next_;
  }
  if (is(Kind::linear) && is(Kind::function, 1) && is(Kind::norm, 2)) {
    spec_.head_transform = true;
    weigh("transform", at()->part);
    names_.map(at()->part, "transform");
    agree(activation_, activation_of(part_at(1)->function));
    agree(ffn_bias_, part_at()->bias != nothing);
    norm(at(2)->part, "transform.norm");
    next_ += 3;
  }
  return head();
}

namespace {

/// c of c tanh(x/c).
std::optional<double> cap_of(const Function& function) {
  const double cap = function.value(1e9);
  if (!(cap > 0) || !std::isfinite(cap)) return std::nullopt;
  for (const double x : {-2.5, -0.7, 0.1, 0.9, 3.2}) {
    const double due = cap * std::tanh(x);
    if (!(std::fabs(function.value(x * cap) - due) <= 1e-5 * std::fabs(due))) return std::nullopt;
  }
  return std::strtod(fmt::format("{:.6g}", cap).c_str(), nullptr);
}

}  // namespace

bool TransformerReader::head() {
  double factor = 1;
  if (is(Kind::function) && part_at()->function.factor && *part_at()->function.factor > 0) {
    factor = *part_at()->function.factor;
    ++next_;
  }
  if (!is(Kind::linear)) return false;
  const Part& head = *part_at();
  if (is(Kind::function, 1)) {
    const auto cap = cap_of(part_at(1)->function);
    if (!cap || at(2) != nullptr) return false;
    spec_.logit_softcap = *cap;
  } else if (at(1) != nullptr) {
    return false;
  }
  spec_.vocab = head.features;
  spec_.head_bias = head.bias != nothing;
  if (words_ != nothing && rows_ != spec_.vocab) return false;
  spec_.tie_head = words_ != nothing && is_same_tensor(head.weight);
  if (factor != 1) {
    if (!spec_.tie_head || spec_.head_bias) return false;
    spec_.init.gain["head"] = Expr(Rational::shortest(factor));
  }
  if (!spec_.tie_head) {
    weigh("head", at()->part);
    names_.map(at()->part, "head");
  } else {
    names_.tensor(head.bias, "head.bias");
  }
  return true;
}

/// One tensor under two names, or two entries of the file.
bool TransformerReader::is_same_tensor(std::size_t weight) const {
  return known_.constants.target(weight) == known_.constants.target(words_);
}

std::optional<ModelSpec> as_transformer(const Understood& known) {
  return TransformerReader(known).run();
}

}  // namespace scalecalc::graphs
