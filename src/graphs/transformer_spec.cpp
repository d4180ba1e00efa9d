#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "graphs/describe.hpp"

namespace scalecalc::graphs {
namespace {

using Kind = Part::Kind;

/// Reads items from the front; `is_one` becomes false where they are no transformer.
class TransformerReader {
 public:
  explicit TransformerReader(const Understood& known) : known_(known), names_(known) {
    spec_ = default_spec(ModelSpec::Kind::transformer);
  }

  std::optional<ModelSpec> run() {
    if (!begin() || !blocks() || !end()) return std::nullopt;
    set_norms();
    if (!is_one_ || !set_weights()) return std::nullopt;
    spec_.names = names_.take("block[");
    return spec_;
  }

 private:
  const Item* at(std::size_t ahead = 0) const {
    return next_ + ahead < known_.items.size() ? &known_.items[next_ + ahead] : nullptr;
  }
  const Part* part_at(std::size_t ahead = 0) const {
    const Item* item = at(ahead);
    return item == nullptr || item->kind != Item::Kind::part ? nullptr : &known_.part(item->part);
  }
  bool is(Kind kind, std::size_t ahead = 0) const {
    const Part* part = part_at(ahead);
    return part != nullptr && part->kind == kind;
  }
  /// All must be equal.
  template <class Value>
  void agree(std::optional<Value>& held, const Value& value) {
    if (held && !(*held == value)) is_one_ = false;
    held = value;
  }

  bool begin() {
    const Part& root = known_.part(known_.items[0].part);
    spec_.batch = known_.graph.batch;
    next_ = 1;
    if (root.kind == Kind::embedding)
      begin_words(root);
    else if (!begin_patches(root))
      return false;
    for (; is(Kind::table); ++next_)
      if (!table(*part_at(), at()->part)) return false;
    if (is(Kind::norm)) {
      spec_.input.norm = true;
      norm(at()->part, "input.norm");
      ++next_;
    }
    if (is(Kind::dropout)) {
      agree(rate_, part_at()->rate);
      places_.input = true;
      ++next_;
    }
    return is_one_;
  }

  void begin_words(const Part& root) {
    spec_.input.kind = InputKind::tokens;
    spec_.width = root.features;
    spec_.sequence = root.tokens;
    rows_ = known_.program.tensors[root.weight].sizes[0];
    words_ = root.weight;
    names_.tensor(root.weight, "embedding.weight");
    if (const auto figure = known_.figures.tensor(root.weight))
      spec_.input.second = neat_square(figure->std, figure->counted);
    if (is(Kind::function) && part_at()->function.factor && *part_at()->function.factor > 0) {
      spec_.input.multiplier = *part_at()->function.factor;
      ++next_;
    }
    known_.remarks.insert("words are taken to be drawn evenly: --zipf says otherwise");
  }

  /// A convolution whose windows touch, or a map of what the input has.
  bool begin_patches(const Part& root) {
    if (!is(Kind::convolution) && !is(Kind::linear)) return false;
    const Part& map = *part_at();
    const bool touches =
        map.kind == Kind::linear ||
        (map.kernel == map.stride && map.padding == 0 && map.groups == 1 && root.height > 0);
    if (!touches || known_.program.tensors[map.weight].sizes.size() == 3) return false;
    spec_.input.patch = root.features * map.kernel * map.kernel;
    spec_.width = map.features;
    spec_.sequence = map.tokens;
    spec_.patch_bias = map.bias != nothing;
    weigh("patch", at()->part);
    // As a matrix it has another shape than the kernel.
    if (map.kind == Kind::linear) names_.map(at()->part, "patch");
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

  bool table(const Part& part, std::size_t index) {
    const auto figure = known_.figures.tensor(part.weight);
    if (part.is_segment) {
      spec_.input.segments = known_.program.tensors[part.weight].sizes[0];
      names_.tensor(part.weight, "embedding.segment");
      return spec_.input.kind == InputKind::tokens;
    }
    const double second = part.second ? *part.second
                          : figure    ? neat_square(figure->std, figure->counted)
                                      : 0.0;
    spec_.input.positions += second;
    if (!part.second) names_.tensor(part.weight, "embedding.position");
    if (!part.second && second == 0)
      known_.remarks.insert("a table of positions that is zero, or not in the file, is left out");
    (void)index;
    return true;
  }

  void norm(std::size_t index, const std::string& path) {
    const Part& part = known_.part(index);
    agree(norm_, norm_kind(part));
    agree(eps_, part.eps);
    agree(affine_, part.weight != nothing);
    agree(offset_, part.has_offset);
    if (part.norm != Part::Norm::layer && part.norm != Part::Norm::rms) is_one_ = false;
    names_.norm(index, path);
  }

  bool blocks() {
    std::int64_t count = 0;
    std::optional<bool> is_post;
    for (; at() != nullptr && at()->kind == Item::Kind::residual; ++count) {
      const std::string path =
          fmt::format("block[{}].{}", count / 2, count % 2 == 0 ? "attn" : "ffn");
      bool is_pre = false;
      if (!sublayer(*at(), path, count % 2 == 0, is_pre)) return false;
      ++next_;
      agree(is_post, !is_pre);
      if (!is_pre) {
        if (!is(Kind::norm)) return false;
        norm(at()->part, path + ".norm");
        ++next_;
      }
    }
    if (count < 2 || count % 2 != 0 || !is_one_) return false;
    spec_.layers = count / 2;
    spec_.placement = *is_post ? Placement::post : Placement::pre;
    if (*is_post && !spec_.input.norm) return false;
    if (*is_post) spec_.input.norm = false;  // it has one always
    return true;
  }

  bool sublayer(const Item& item, const std::string& path, bool is_attention, bool& is_pre) {
    if (!item.shortcut.empty() || item.skip != 1 || item.branch != 1) return false;
    agree(has_scale_, item.scale != nothing);
    if (item.scale != nothing) {
      const Part& scale = known_.part(item.scale);
      const auto figure = known_.figures.tensor(scale.weight);
      if (!figure || !figure->is_constant || figure->mean <= 0) return false;
      if (known_.program.tensors[scale.weight].sizes != Sizes{spec_.width}) return false;
      agree(layer_scale_, neat(figure->mean, INT64_MAX / 2));
      names_.tensor(scale.weight, path + ".scale");
    }
    std::vector<const Item*> body;
    for (const Item& one : item.body) body.push_back(&one);
    const auto kind_of = [&](std::size_t i) {
      return i < body.size() && body[i]->kind == Item::Kind::part
                 ? std::optional(known_.part(body[i]->part).kind)
                 : std::nullopt;
    };
    if (!body.empty() && kind_of(body.size() - 1) == Kind::dropout) {
      agree(rate_, known_.part(body.back()->part).rate);
      places_.branch = true;
      body.pop_back();
      agree(has_branch_dropout_, true);
    } else {
      agree(has_branch_dropout_, false);
    }
    if (kind_of(0) == Kind::norm) {
      is_pre = true;
      norm(body[0]->part, path + ".norm");
      body.erase(body.begin());
    }
    if (is_attention)
      return body.size() == 1 && body[0]->kind == Item::Kind::attention &&
             attention(*body[0], path);
    return feed_forward(body, path);
  }

  bool attention(const Item& item, const std::string& path) {
    const Part& part = known_.part(item.attention);
    if (item.mix_norm != nothing) return false;
    agree(window_, part.window);
    if ((item.q_norm == nothing) != (item.k_norm == nothing)) return false;
    if (known_.part(item.o).features != spec_.width) return false;
    agree(heads_, part.heads);
    agree(kv_heads_, part.kv_heads);
    agree(head_width_, part.head_width);
    agree(causal_, part.is_causal);
    agree(scale_, part.score_scale);
    agree(softcap_, part.softcap);
    agree(turns_, part.turns ? std::pair(part.turns->base, part.turns->width)
                             : std::pair(0.0, std::int64_t{0}));
    agree(qk_norm_, item.q_norm != nothing);
    for (const std::size_t norm : {item.q_norm, item.k_norm}) {
      if (norm == nothing) continue;
      if (known_.part(norm).norm != Part::Norm::rms || !known_.part(norm).is_of_heads) return false;
      known_.remarks.insert(
          "norms of queries and keys have no gains and no eps here: gradients of these are left "
          "out");
    }
    for (const auto& [role, index] :
         {std::pair{"q", item.q}, {"k", item.k}, {"v", item.v}, {"o", item.o}}) {
      weigh(role, index);
      names_.map(index, path + "." + role);
    }
    agree(qkv_bias_, known_.part(item.q).bias != nothing);
    agree(qkv_bias_, known_.part(item.k).bias != nothing);
    agree(qkv_bias_, known_.part(item.v).bias != nothing);
    agree(o_bias_, known_.part(item.o).bias != nothing);
    return true;
  }

  bool feed_forward(const std::vector<const Item*>& body, const std::string& path) {
    std::size_t i = 0;
    const bool is_gated = !body.empty() && body[0]->kind == Item::Kind::gated;
    agree(gated_, is_gated);
    if (is_gated) {
      weigh("ffn_gate", body[0]->gate);
      weigh("ffn_in", body[0]->in);
      names_.map(body[0]->gate, path + ".gate");
      names_.map(body[0]->in, path + ".in");
      agree(activation_, body[0]->function.text == "x" ? std::string("identity")
                                                       : activation_of(body[0]->function));
      agree(ffn_, known_.part(body[0]->in).features);
      agree(ffn_bias_, known_.part(body[0]->in).bias != nothing);
      i = 1;
    } else {
      if (body.size() < 3 || body[0]->kind != Item::Kind::part || body[1]->kind != Item::Kind::part)
        return false;
      const Part &in = known_.part(body[0]->part), &function = known_.part(body[1]->part);
      if (in.kind != Kind::linear || function.kind != Kind::function) return false;
      weigh("ffn_in", body[0]->part);
      names_.map(body[0]->part, path + ".in");
      agree(activation_, activation_of(function.function));
      agree(ffn_, in.features);
      agree(ffn_bias_, in.bias != nothing);
      i = 2;
    }
    if (i + 1 != body.size() || body[i]->kind != Item::Kind::part) return false;
    const Part& out = known_.part(body[i]->part);
    if (out.kind != Kind::linear || out.features != spec_.width) return false;
    agree(ffn_bias_, out.bias != nothing);
    weigh("ffn_out", body[i]->part);
    names_.map(body[i]->part, path + ".out");
    return true;
  }

  bool end() {
    if (spec_.placement == Placement::pre) {
      if (!is(Kind::norm)) return false;
      norm(at()->part, "final_norm");
      ++next_;
    }
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
    if (!is(Kind::linear) || at(1) != nullptr) return false;
    const Part& head = *part_at();
    spec_.vocab = head.features;
    spec_.head_bias = head.bias != nothing;
    if (words_ != nothing && rows_ != spec_.vocab) return false;
    spec_.tie_head = words_ != nothing && is_same_tensor(head.weight);
    if (!spec_.tie_head) {
      weigh("head", at()->part);
      names_.map(at()->part, "head");
    } else {
      names_.tensor(head.bias, "head.bias");
    }
    return true;
  }

  /// One tensor under two names, or two entries of the file.
  bool is_same_tensor(std::size_t weight) const {
    return known_.constants.target(weight) == known_.constants.target(words_);
  }

  void set_norms() {
    spec_.norm = norm_.value_or(NormKind::none);
    spec_.norm_eps = eps_.value_or(0);
    spec_.norm_affine = affine_.value_or(false);
    spec_.gain_offset = offset_.value_or(false);
    spec_.heads = heads_.value_or(1);
    if (kv_heads_ && *kv_heads_ != spec_.heads) spec_.kv_heads = *kv_heads_;
    if (head_width_ && *head_width_ * spec_.heads != spec_.width) spec_.head_width = *head_width_;
    spec_.causal = causal_.value_or(false);
    const double due = 1 / std::sqrt(static_cast<double>(head_width_.value_or(1)));
    if (scale_ && std::fabs(*scale_ / due - 1) > 1e-5)
      spec_.attention_scale = Expr(Rational::shortest(*scale_));
    spec_.attention_softcap = softcap_.value_or(0);
    if (turns_ && turns_->second > 0) {
      spec_.rotary_base = turns_->first;
      spec_.rotary_fraction =
          static_cast<double>(turns_->second) / static_cast<double>(*head_width_);
    }
    spec_.window = window_.value_or(0);
    spec_.qk_norm = qk_norm_.value_or(false);
    spec_.ffn = ffn_.value_or(1);
    spec_.gated = gated_.value_or(false);
    spec_.activation = activation_.value_or("gelu");
    spec_.layer_scale = layer_scale_.value_or(0);
    const bool q = qkv_bias_.value_or(false), o = o_bias_.value_or(false),
               f = ffn_bias_.value_or(false);
    spec_.bias = q && o && f;
    if (!spec_.bias) {
      if (o) spec_.attention_bias = true;
      if (q != o) spec_.qkv_bias = q;
      if (f) spec_.ffn_bias = true;
    }
    if (spec_.patch_bias && *spec_.patch_bias == spec_.bias) spec_.patch_bias.reset();
    if (rate_) {
      spec_.dropout = *rate_;
      spec_.dropout_place = places_;
    }
  }

  void weigh(const std::string& role, std::size_t index) {
    const Part& part = known_.part(index);
    if (const auto figure = known_.figures.weight(part)) {
      weights_[role].push_back(*figure);
      is_uniform_ = is_uniform_ && figure->is_uniform;
    }
    if (const auto figure = known_.figures.bias(part)) biases_.push_back(*figure);
  }

  /// A std for all, and gains of roles that have another. False where biases are drawn, each
  /// layer's with a std of its own.
  bool set_weights() {
    if (weights_.empty()) return true;
    double least = HUGE_VAL, most = 0;
    for (const Figure& bias : biases_) {
      least = std::min(least, bias.std);
      most = std::max(most, bias.std);
    }
    if (most > 0) {
      const bool can_be_list = !spec_.tie_head && spec_.input.patch == 0 && spec_.class_tokens == 0;
      if (least < 0.8 * most && can_be_list) return false;
      spec_.init.bias_variance = neat_square(pooled(biases_)->std, pooled(biases_)->counted);
      if (least < 0.8 * most)
        known_.remarks.insert("biases differ between layers: all have their root mean square here");
    }
    const Figure base = base_of(weights_);
    const double std = neat(base.std, base.counted);
    if (std <= 0) return false;
    spec_.init.scheme = "std";
    spec_.init.std = std;
    if (is_uniform_) spec_.init.distribution = Distribution::uniform;
    for (const auto& [role, figures] : weights_) {
      for (const Figure& one : figures)
        if (std::fabs(one.std / pooled(figures)->std - 1) > 0.1)
          known_.remarks.insert(
              "weights of one role differ between blocks by more than a tenth: all "
              "have their root mean square here");
      const Figure own = *pooled(figures);
      set_gain(role, own.std / std, std::min(own.counted, base.counted));
    }
    return true;
  }

  void set_gain(const std::string& role, double gain, std::int64_t counted) {
    const double error =
        3 * std::sqrt(1.0 / static_cast<double>(std::max<std::int64_t>(counted, 1)));
    if (std::fabs(gain - 1) <= error) return;
    if (role == "transform") {
      known_.remarks.insert("the map in front of the head is drawn as the others");
      return;
    }
    // A branch's last map, of 2N branches (GPT-2).
    const double of_depth = 1 / std::sqrt(2.0 * static_cast<double>(spec_.layers));
    if (std::fabs(gain / of_depth - 1) <= error && (role == "o" || role == "ffn_out")) {
      spec_.init.gain[role] = pow(2 * Expr::symbol("N"), Expr(Rational(-1, 2)));
      return;
    }
    spec_.init.gain[role] = Expr(Rational::shortest(neat(gain, counted)));
  }

  const Understood& known_;
  FoundNames names_;
  ModelSpec spec_;
  std::size_t next_ = 0, words_ = nothing;
  std::int64_t rows_ = 0;
  bool is_one_ = true, is_uniform_ = true;
  RoleFigures weights_;
  std::vector<Figure> biases_;
  std::optional<NormKind> norm_;
  std::optional<double> eps_, scale_, softcap_, rate_, layer_scale_;
  std::optional<bool> affine_, offset_, causal_, gated_, qkv_bias_, o_bias_, ffn_bias_, qk_norm_,
      has_scale_, has_branch_dropout_;
  std::optional<std::int64_t> heads_, kv_heads_, head_width_, ffn_, window_;
  std::optional<std::string> activation_;
  std::optional<std::pair<double, std::int64_t>> turns_;
  DropoutPlaces places_{false, false, false, false};
};

}  // namespace

std::optional<ModelSpec> as_transformer(const Understood& known) {
  return TransformerReader(known).run();
}

}  // namespace scalecalc::graphs
