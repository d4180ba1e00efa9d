#include "random_models.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "scalecalc/activation.hpp"

namespace scalecalc::random_models {
namespace {

/// A pass of this much takes some 50 ms.
constexpr double most_work = 4.5e7;

const std::vector<std::string>& expressions() {
  static const std::vector<std::string> texts = {
      "x*sigmoid(2*x)",  "sin(x) + x/2", "max(x, x/10)",  "tanh(x)^2",     "x^2/(1 + x^2)",
      "max(x - 1/2, 0)", "x + mish(x)",  "relu(x) - 2/5", "tanh(x) + 1/2", "min(abs(x), 2)"};
  return texts;
}

/// A divisor of `width` into heads of about `head_width` features.
std::int64_t heads_of(std::int64_t width, std::int64_t head_width) {
  std::int64_t heads = std::max<std::int64_t>(1, width / head_width);
  while (width % heads != 0) --heads;
  return heads;
}

std::int64_t random_divisor(Draws& draw, std::int64_t number) {
  std::vector<std::int64_t> divisors;
  for (std::int64_t k = 1; k <= number; ++k)
    if (number % k == 0) divisors.push_back(k);
  return draw.of(divisors);
}

std::int64_t tokens(Draws& draw) {
  return draw.chance(80) ? draw.of<std::int64_t>({2, 4, 16, 48}) : draw.between(2, 48);
}
std::int64_t batch(Draws& draw) {
  return draw.of<std::int64_t>({1, 1, 1, 1, 2, 2, 2, 4});
}

void draw_sizes(Draws& draw, ModelSpec& spec) {
  spec.layers = draw.of<std::int64_t>({1, 2, 3, 5, 8});
  spec.width = draw.chance(80) ? draw.of<std::int64_t>({24, 32, 48, 64, 96}) : draw.between(8, 96);
  spec.heads = draw.chance(15) ? 1 : heads_of(spec.width, draw.of<std::int64_t>({1, 4, 8, 12, 24}));
  if (draw.chance(20)) spec.kv_heads = random_divisor(draw, spec.heads);
  spec.ffn = draw.chance(80) ? spec.width * draw.of<std::int64_t>({1, 2, 4}) : draw.between(8, 200);
  spec.vocab = draw.chance(80) ? draw.of<std::int64_t>({8, 64, 300}) : draw.between(2, 100);
  spec.sequence = tokens(draw);
  spec.batch = batch(draw);
}

bool takes_alpha(const ModelSpec& spec) {
  switch (spec.placement) {
    case Placement::post:
    case Placement::pre:
    case Placement::res_post:
    case Placement::sandwich:
    case Placement::branchnorm:
    case Placement::ngpt: return true;
    case Placement::none: return spec.kind != ModelSpec::Kind::mlp;
    case Placement::sub_ln:
    case Placement::resi_dual:
    case Placement::rezero:
    case Placement::skipinit:
    case Placement::fixup: break;
  }
  return false;
}

void draw_scales(Draws& draw, ModelSpec& spec) {
  if (spec.placement == Placement::branchnorm) spec.ramp = draw.of({1.0, 0.5, 0.1});
  if (!draw.chance(25)) return;
  if (takes_alpha(spec)) spec.alpha = parse(draw.of({"(2*N)^(1/4)", "N^(1/2)", "1/2", "2"}));
  spec.lambda = parse(draw.of({"(8*N)^(-1/4)", "(2*N)^(-1/2)", "1/2", "3/2"}));
}

void draw_dropout(Draws& draw, ModelSpec& spec) {
  if (!draw.chance(25)) return;
  spec.dropout = draw.of({0.1, 0.1, 0.3});
  if (draw.chance(60)) return;
  const bool is_transformer = spec.kind == ModelSpec::Kind::transformer;
  const bool has_stream = spec.placement != Placement::resi_dual &&
                          (is_transformer || spec.placement != Placement::none);
  spec.dropout_place = {.input = draw.chance(50),
                        .branch = draw.chance(50),
                        .activation = is_transformer && draw.chance(50),
                        .stream = has_stream && draw.chance(50)};
  const DropoutPlaces none{false, false, false, false};
  if (spec.dropout_place == none) spec.dropout_place.input = true;
}

void draw_block(Draws& draw, ModelSpec& spec) {
  if (draw.chance(10)) spec.head_width = draw.of<std::int64_t>({4, 7, 16, 32});
  if (!draw.chance(20)) return;
  spec.parallel = true;
  switch (spec.placement) {
    case Placement::pre:
    case Placement::res_post:
    case Placement::sandwich:
    case Placement::sub_ln: spec.branch_norms = draw.chance(50); break;
    default: break;
  }
}

}  // namespace

std::string random_activation(Draws& draw) {
  const std::size_t from = draw.below(10);
  if (from < 6) return draw.of({"relu", "gelu", "silu", "tanh", "elu", "relu_squared"});
  if (from < 8) return draw.of(expressions());
  const std::string name = draw.of(activations()).name;
  // exp of a normal of variance 10 has no second moment that a pass could measure.
  return name == "exp" ? "softplus" : name;
}

NormKind random_norm(Draws& draw, const ModelSpec& spec) {
  const std::size_t kind = draw.below(20);
  if (kind == 0) return NormKind::scalenorm;
  if (kind == 1 && spec.sequence * spec.batch >= fewest_samples) return NormKind::batchnorm;
  if (kind == 2 && spec.sequence >= fewest_samples) return NormKind::instancenorm;
  return kind < 12 ? NormKind::layernorm : NormKind::rmsnorm;
}

void draw_input(Draws& draw, ModelSpec& spec) {
  ModelSpec::Input& input = spec.input;
  const auto cross = [&](double second) {
    return second * draw.of({0.0, 0.0, 0.1, 0.5, 0.9, 0.99});
  };
  input.second = draw.of({1.0, 1.0, 1.0, 1.0, 0.25, 2.0});
  if (spec.kind != ModelSpec::Kind::mlp && draw.chance(20)) {
    input.kind = InputKind::tokens;
    if (draw.chance(40)) input.zipf = draw.of({0.5, 1.0, 1.2});
    if (draw.chance(40)) input.positions = draw.of({0.1, 1.0});
    Draws more = draw.apart();
    if (more.chance(20)) input.segments = 2;
    if (more.chance(20)) input.multiplier = more.of({0.25, 3.0});
    const bool is_transformer = spec.kind == ModelSpec::Kind::transformer;
    if (is_transformer && spec.norm != NormKind::none && more.chance(20))
      input.norm = spec.placement != Placement::post && spec.placement != Placement::branchnorm;
  } else {
    input.cross = cross(input.second);
  }
  spec.memory.sequence = tokens(draw);
  spec.memory.second = draw.of({1.0, 0.5});
  spec.memory.cross = cross(spec.memory.second);
}

void draw_loss(Draws& draw, ModelSpec& spec) {
  if (draw.chance(25)) spec.loss = Loss::mse;
  if (spec.loss == Loss::mse) spec.target_second = draw.of({1.0, 1.0, 0.0, 0.3});
  spec.reduction = draw.of({Reduction::sum, Reduction::mean});
}

void draw_init(Draws& draw, ModelSpec& spec) {
  ModelSpec::Init& init = spec.init;
  const bool is_transformer = spec.kind == ModelSpec::Kind::transformer;
  init.scheme = draw.of({"lecun", "xavier", "he", "gpt2", "lecun", "xavier", "he", "gpt2", "bert",
                         "t5", "std", "weight_variance"});
  const bool parts = init.scheme == "gpt2" || init.scheme == "bert" || init.scheme == "t5";
  if (parts && !is_transformer) init.scheme = "lecun";
  if (init.scheme == "std") init.std = draw.of({0.02, 0.1});
  if (init.scheme == "weight_variance") init.weight_variance = draw.of({0.5, 1.0, 1.5});
  if (init.scheme == "t5") spec.attention_scale = 1;
  if (draw.chance(25))
    init.distribution =
        draw.of({Distribution::uniform, Distribution::truncated_normal, Distribution::orthogonal});
  if (draw.chance(10)) init.gain["head"] = parse(draw.of({"1/10", "1/2", "2"}));
  spec.ntk = draw.chance(6);
  spec.bias = draw.chance(20);
  if (spec.bias && draw.chance(50)) init.bias_variance = 0.05;
  spec.norm_affine = draw.chance(20);
  if (draw.chance(15)) spec.norm_eps = draw.of({1e-6, 1e-5, 1e-2});
}

double work_of(const ModelSpec& spec) {
  return static_cast<double>(parameter_count(build_network(spec))) *
         static_cast<double>(spec.sequence * spec.batch);
}

/// Words that came later: of draws of their own.
void draw_head_and_biases(Draws draw, ModelSpec& spec) {
  const bool by_token = spec.norm != NormKind::batchnorm && spec.norm != NormKind::instancenorm;
  if (spec.input.kind == InputKind::tokens && !spec.ntk && by_token &&
      spec.placement != Placement::resi_dual && draw.chance(40)) {
    spec.tie_head = true;
    spec.input.second = draw.of({0.25, 1.0, 4.0}) / static_cast<double>(spec.width);
    spec.input.positions = std::min(spec.input.positions, spec.input.second);
  }
  spec.head_transform = spec.norm != NormKind::none && draw.chance(8);
  if (!draw.chance(15)) return;
  if (draw.chance(30)) spec.attention_bias = draw.chance(50);
  if (draw.chance(30)) spec.qkv_bias = draw.chance(50);
  if (draw.chance(30)) spec.ffn_bias = draw.chance(50);
  spec.head_bias = draw.chance(50);
  if (!spec.bias && biases_of(spec).any() && draw.chance(50)) spec.init.bias_variance = 0.05;
}

/// Two stacks: what the encoder reads is the memory.
void draw_stacks(Draws& draw, ModelSpec& spec) {
  if (!draw.chance(15)) return;
  spec.encoder_decoder = true;
  spec.decoder_layers = parse(draw.of({"N", "N", "N/2", "N + 1", "1", "3"}));
  if (draw.chance(25)) {
    if (takes_alpha(spec)) spec.decoder_alpha = parse(draw.of({"(3*M)^(1/4)", "M^(1/2)", "2"}));
    spec.decoder_lambda = parse(draw.of({"(12*M)^(-1/4)", "lambda/2", "3/2"}));
  }
  if (spec.input.kind == InputKind::tokens) spec.memory.cross = 0;
  const bool over_samples = spec.norm == NormKind::batchnorm || spec.norm == NormKind::instancenorm;
  if (over_samples) spec.memory.sequence = spec.sequence;
}

/// Of affine norms and of branches that nothing else multiplies.
void draw_scales_of_features(Draws draw, ModelSpec& spec) {
  spec.gain_offset = spec.norm_affine && draw.chance(30);
  const bool is_plain = spec.placement == Placement::pre || spec.placement == Placement::post ||
                        spec.placement == Placement::sub_ln || spec.placement == Placement::none;
  if (is_plain && draw.chance(15)) spec.layer_scale = draw.of({1.0, 0.1, 1e-4});
}

/// Of a gaussian input: a map of patches, learnt positions, class tokens, and what the head reads.
void draw_patches(Draws draw, ModelSpec& spec) {
  if (spec.input.kind != InputKind::gaussian || spec.encoder_decoder) return;
  const bool over_samples = spec.norm == NormKind::batchnorm || spec.norm == NormKind::instancenorm;
  if (draw.chance(20)) spec.input.patch = draw.of<std::int64_t>({8, 24, 100});
  if (draw.chance(20)) spec.input.positions = draw.of({0.01, 0.1, 1.0});
  const bool may_be = !spec.causal && !spec.cross_attention && spec.rotary_base == 0 &&
                      !over_samples && spec.sequence > 3;
  if (may_be && draw.chance(35)) {
    spec.class_tokens = draw.of<std::int64_t>({1, 1, 2});
    spec.input.class_std = draw.of({0.02, 0.3, 1.0});
  }
  if (draw.chance(spec.class_tokens > 0 ? 80 : 10))
    spec.pool = spec.class_tokens > 0 && draw.chance(70) ? Pooling::class_token : Pooling::mean;
}

/// Tables of tokens that are narrower or wider than the model, and keys without biases.
void draw_narrow(Draws draw, ModelSpec& spec) {
  const bool has_head = !spec.tie_head || spec.norm != NormKind::none;
  if (spec.input.kind == InputKind::tokens && !spec.encoder_decoder && has_head &&
      draw.chance(20)) {
    spec.input.embedding_width = draw.of<std::int64_t>({8, 24, 64});
    if (spec.tie_head) spec.head_transform = true;
  }
  if (biases_of(spec).qkv && draw.chance(20)) spec.k_bias = false;
}

/// Frames that the encoder reads in the place of tokens.
void draw_frames(Draws draw, ModelSpec& spec) {
  if (!spec.encoder_decoder || spec.input.kind != InputKind::tokens || !draw.chance(40)) return;
  spec.memory.features = draw.of<std::int64_t>({6, 20});
  spec.memory.conv_strides = draw.of({"1 2", "1 2", "1", "2 2"});
  const bool over_samples = spec.norm == NormKind::batchnorm || spec.norm == NormKind::instancenorm;
  spec.memory.sinusoids = spec.width % 2 == 0 && draw.chance(60) && !over_samples;
  spec.memory.cross = spec.memory.second * draw.of({0.0, 0.5, 0.9});
}

/// A router and experts in the place of each ffn.
void draw_experts(Draws draw, ModelSpec& spec) {
  if (!draw.chance(15)) return;
  spec.experts = draw.of<std::int64_t>({2, 4, 8});
  spec.top_k = std::min(spec.experts, draw.of<std::int64_t>({1, 2, 2, 4}));
  if (draw.chance(50)) spec.expert_ffn = std::max<std::int64_t>(8, spec.ffn / 2);
  spec.norm_topk_prob = draw.chance(60);
  if (draw.chance(30)) spec.shared_ffn = spec.ffn;
  spec.shared_gate = spec.shared_ffn > 0 && draw.chance(50);
}

void draw_drop_path(Draws draw, ModelSpec& spec) {
  if (spec.placement == Placement::resi_dual || !draw.chance(8)) return;
  spec.drop_path = draw.of({0.1, 0.2, 0.4});
  spec.drop_path_rises = draw.chance(50);
}

void draw_dyt(Draws draw, ModelSpec& spec) {
  if (spec.norm == NormKind::none || spec.tie_head || spec.placement == Placement::resi_dual ||
      !draw.chance(8))
    return;
  spec.norm = NormKind::dyt;
  spec.norm_alpha = draw.of({0.5, 0.5, 0.2, 1.5});
  if (spec.placement == Placement::post) spec.norm_alpha = std::min(spec.norm_alpha, 1.0);
}

/// LayerNorm Scaling, and one that grows.
void draw_norm_scale(Draws draw, ModelSpec& spec) {
  if (spec.placement != Placement::pre || spec.norm == NormKind::none || !draw.chance(25)) return;
  spec.norm_scale = parse(draw.of({"l^(-1/2)", "l^(-1/2)", "1/l", "(l + 1)/2", "N^(-1/2)"}));
}

/// Those that draw_ngpt does not make of others.
std::vector<std::string> first_placements() {
  std::vector<std::string> names = placement_names();
  std::erase(names, "ngpt");
  return names;
}

/// nGPT's sums, by what draws no other field.
void draw_ngpt(Draws draw, ModelSpec& spec) {
  if (spec.norm == NormKind::none || spec.layer_scale != 0 || !spec.norm_scale.is_one() ||
      !draw.chance(8))
    return;
  spec.placement = Placement::ngpt;
  if (spec.norm == NormKind::dyt) spec.norm_alpha = std::min(spec.norm_alpha, 1.0);
  if (draw.chance(60)) spec.alpha = parse(draw.of({"19", "19", "2*N", "3"}));
}

/// Values of the first block in all others; behind all other draws.
void draw_value_residual(Draws draw, ModelSpec& spec) {
  if (draw.chance(12)) spec.value_residual = draw.of({0.5, 0.5, 0.2, 0.9});
}

/// Norms and gates by a condition, of models that have nothing that it has no place beside.
void draw_modulation(Draws draw, ModelSpec& spec) {
  const bool over_token = spec.norm == NormKind::layernorm || spec.norm == NormKind::rmsnorm;
  if (spec.encoder_decoder || spec.tie_head || spec.head_transform || spec.class_tokens > 0 ||
      spec.pool != Pooling::none || spec.parallel || spec.drop_path > 0 || !over_token ||
      !draw.chance(20))
    return;
  if (spec.placement != Placement::pre) {
    spec.placement = Placement::pre;
    spec.ramp = 1;
  }
  spec.norm_affine = spec.gain_offset = false;
  spec.layer_scale = 0;
  spec.modulation = draw.chance(60) ? AdaptiveNorm::adaln : AdaptiveNorm::adaln_zero;
  spec.condition.features = draw.of<std::int64_t>({16, 64, 256});
  spec.condition.second = draw.of({0.5, 1.0, 1.0, 3.0});
  spec.condition.cross = spec.condition.second * draw.of({0.0, 0.0, 0.3, 0.9});
  if (draw.chance(40)) {
    spec.condition.classes = draw.of<std::int64_t>({2, 10, 1000});
    spec.condition.class_std = draw.of({0.02, 0.5, 1.0});
  }
}

ModelSpec random_transformer(Draws& draw) {
  ModelSpec spec = default_spec(ModelSpec::Kind::transformer);
  draw_sizes(draw, spec);
  draw_attention(draw, spec);
  spec.activation = random_activation(draw);
  spec.gated = draw.chance(40);
  spec.norm = random_norm(draw, spec);
  spec.placement = placement_from(draw.of(first_placements()));
  if (spec.placement == Placement::none && draw.chance(50)) spec.norm = NormKind::none;
  draw_scales(draw, spec);
  draw_dropout(draw, spec);
  draw_input(draw, spec);
  draw_loss(draw, spec);
  draw_init(draw, spec);
  draw_block(draw, spec);
  draw_rotary_scaling(draw.apart().apart(), spec);
  draw_stacks(draw, spec);
  draw_head_and_biases(draw.apart(), spec);
  draw_patches(draw.apart(), spec);
  draw_scales_of_features(draw.apart(), spec);
  draw_experts(draw.apart(), spec);
  draw_relative(draw.apart().apart().apart(), spec);
  Draws last = draw.apart().apart().apart().apart();
  draw_narrow(last, spec);
  draw_frames(last.apart(), spec);
  draw_drop_path(last.apart().apart().apart().apart(), spec);
  draw_dyt(last.apart().apart(), spec);
  draw_last(last.apart().apart().apart().apart().apart(), spec);
  if (spec.norm != NormKind::dyt) draw_norm_scale(last.apart().apart().apart(), spec);
  const Draws sums = last.apart().apart().apart().apart().apart().apart();
  draw_ngpt(sums, spec);
  draw_value_residual(sums.apart(), spec);
  draw_modulation(sums.apart().apart(), spec);
  return spec;
}

ModelSpec random_mlp(Draws& draw) {
  ModelSpec spec = default_spec(ModelSpec::Kind::mlp);
  spec.layers = draw.of<std::int64_t>({2, 3, 5, 8, 16});
  spec.width = draw.of<std::int64_t>({16, 33, 64, 128});
  spec.features = draw.of<std::int64_t>({8, 21, 64, spec.width});
  spec.vocab = draw.of<std::int64_t>({2, 10, 100});
  spec.sequence = tokens(draw);
  spec.batch = batch(draw);
  spec.activation = random_activation(draw);
  do {
    spec.placement = placement_from(draw.of(first_placements()));
  } while (spec.placement == Placement::sub_ln || spec.placement == Placement::fixup);
  spec.norm = random_norm(draw, spec);
  if (spec.placement == Placement::none && draw.chance(60)) spec.norm = NormKind::none;
  draw_scales(draw, spec);
  draw_dropout(draw, spec);
  draw_input(draw, spec);
  draw_loss(draw, spec);
  draw_init(draw, spec);
  draw_dyt(draw.apart(), spec);
  draw_ngpt(draw.apart().apart(), spec);
  return spec;
}

ModelSpec common_transformer(std::uint64_t seed, std::uint64_t index) {
  Draws draw(seed, index);
  ModelSpec spec = default_spec(ModelSpec::Kind::transformer);
  spec.width = draw.of<std::int64_t>({24, 32, 48, 64, 96});
  spec.heads = std::max<std::int64_t>(1, spec.width / draw.of<std::int64_t>({4, 8, 12, 24}));
  while (spec.width % spec.heads != 0) --spec.heads;
  spec.kv_heads = spec.heads;
  spec.layers = draw.of<std::int64_t>({1, 2, 3, 5, 8});
  spec.ffn = spec.width * draw.of<std::int64_t>({1, 2, 4});
  spec.vocab = draw.of<std::int64_t>({8, 64, 300});
  spec.sequence = draw.of<std::int64_t>({2, 4, 16, 48});
  spec.batch = draw.of<std::int64_t>({1, 1, 2});
  spec.causal = draw.chance(50);
  spec.activation = draw.of<const char*>({"relu", "gelu", "silu", "tanh", "elu", "relu_squared"});
  spec.gated = draw.chance(50);
  spec.qk_norm = draw.chance(33);
  spec.norm = draw.of({NormKind::layernorm, NormKind::rmsnorm});
  spec.placement =
      placement_from(draw.of<const char*>({"pre", "post", "res-post", "sandwich", "sub-ln",
                                           "resi-dual", "rezero", "branchnorm", "none"}));
  spec.dropout = draw.of({0.0, 0.0, 0.1});
  spec.init.scheme = draw.of<const char*>({"lecun", "xavier", "he", "gpt2"});
  spec.input.cross = draw.of({0.0, 0.1, 0.5, 0.9});
  return spec;
}

ModelSpec random_model(std::uint64_t seed, std::uint64_t index) {
  Draws draw(seed, index);
  const std::size_t kind = draw.below(20);
  ModelSpec spec = kind < 11   ? random_transformer(draw)
                   : kind < 15 ? random_mlp(draw)
                               : random_layers(draw);
  while (spec.batch > 1 && work_of(spec) > most_work) spec.batch /= 2;
  while (spec.layers > 2 && work_of(spec) > most_work) spec.layers /= 2;
  return spec;
}

}  // namespace scalecalc::random_models
