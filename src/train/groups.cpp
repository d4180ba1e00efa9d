#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "scalecalc/error.hpp"
#include "scalecalc/scaling.hpp"
#include "scalecalc/train.hpp"
#include "train/differences.hpp"

namespace scalecalc {
namespace {

std::vector<TrainGroup> make_groups() {
  const Expr n = Expr::symbol("N"), quarter = Expr(1) / 4;
  std::vector<TrainGroup> groups = {
      {"none", "no norms", Placement::none},
      {"post", "Norm(x + F(x))", Placement::post},
      {"pre", "x + F(Norm(x))", Placement::pre},
      {"deepnorm", "Norm(alpha x + F(x)), alpha and lambda solved for the optimizer",
       Placement::post},
      {"deepnet", "the same with the published pair of a decoder (Wang et al. 2022)",
       Placement::post},
      {"res-post", "x + Norm(F(x))", Placement::res_post},
      {"sandwich", "x + Norm(F(Norm(x)))", Placement::sandwich},
      {"sub-ln", "pre, with a norm before the output projection", Placement::sub_ln},
      {"resi-dual", "post beside a stream without norms", Placement::resi_dual},
      {"rezero", "x + a F(x), a trained from 0", Placement::rezero},
      {"skipinit", "x + a F(x), a trained from 0", Placement::skipinit},
      {"fixup", "x + F(x), F ending in zeros", Placement::fixup},
      {"branchnorm", "Norm(x + ramp F(x)), the ramp growing from 0 to 1", Placement::branchnorm},
      {"realformer", "post, each attention adding the scores of the block before",
       Placement::post}};
  groups[3].alpha = groups[3].lambda = std::nullopt;
  groups[4].alpha = pow(2 * n, quarter);
  groups[4].lambda = pow(8 * n, -quarter);
  groups.back().residual_attention = true;
  for (TrainGroup& group : groups) group.ramp = group.placement == Placement::branchnorm;
  return groups;
}

constexpr std::string_view kRamp = "+ramp";

/// The same with a ramp.
TrainGroup with_ramp(TrainGroup group, const std::string& where) {
  if (group.ramp)
    throw Error(ErrorKind::input, "'" + group.name + "' has a ramp already", where,
                "leave +ramp out");
  if (group.placement == Placement::rezero || group.placement == Placement::skipinit)
    throw Error(ErrorKind::input,
                "the branches of '" + group.name + "' have a scalar that is trained from 0", where,
                "for example none+ramp");
  group.ramp = true;
  group.name += kRamp;
  group.title += ", a ramp from 0 to 1 in front of F";
  return group;
}

/// The encoder reads as the decoder does, and both have the group's scales at their own depths.
void set_stacks(ModelSpec& spec, const TrainGroup& group) {
  spec.encoder_decoder = true;
  spec.memory = {spec.sequence, spec.input.second, 0};
  spec.decoder_alpha = Expr::symbol("alpha");
  spec.decoder_lambda = Expr::symbol("lambda");
  if (!group.name.starts_with("deepnet")) return;
  const std::vector<PublishedPair> pairs =
      deepnet_rule(Architecture::encoder_decoder, spec.layers, decoder_depth(spec));
  spec.alpha = pairs[0].alpha.formula;
  spec.lambda = pairs[0].lambda.formula;
  spec.decoder_alpha = pairs[1].alpha.formula;
  spec.decoder_lambda = pairs[1].lambda.formula;
}

}  // namespace

const std::vector<TrainGroup>& train_groups() {
  static const std::vector<TrainGroup> groups = make_groups();
  return groups;
}

TrainGroup train_group(std::string_view name, const std::string& where) {
  const std::size_t at = name.find('@');
  std::string_view placement = name.substr(0, at);
  const bool is_ramped = placement.ends_with(kRamp);
  if (is_ramped) placement.remove_suffix(kRamp.size());
  std::vector<std::string> names;
  for (const TrainGroup& known : train_groups()) {
    names.push_back(known.name);
    if (known.name != placement) continue;
    TrainGroup group = is_ramped ? with_ramp(known, where) : known;
    if (at == std::string_view::npos) return group;
    group.dropout_place = dropout_places_from(name.substr(at + 1), where);
    group.name += "@" + to_string(*group.dropout_place);
    return group;
  }
  throw unknown_name("placement", placement, names, where);
}

ModelSpec train_model(const TrainOptions& options, const TrainGroup& group, std::int64_t layers,
                      const Corpus& corpus) {
  const bool two = corpus.task != TrainTask::next;
  if (options.model.kind != ModelSpec::Kind::transformer || options.model.cross_attention ||
      (options.model.encoder_decoder && !two)) {
    throw Error(ErrorKind::input, "the experiment is about language models", "train",
                "use a transformer without cross-attention, or --task copy for two stacks");
  }
  if (options.model.pool != Pooling::none)
    throw Error(ErrorKind::input,
                "every token is asked for the next, and a pool leaves one vector of a sequence",
                "train", "use --pool none");
  if (options.model.head_classes != 0)
    throw Error(ErrorKind::input, "the head's classes are the words of the text", "train",
                "use --head-classes 0");
  ModelSpec spec = options.model;
  spec.layers = layers;
  spec.placement = group.placement;
  spec.alpha = group.alpha;
  spec.lambda = group.lambda;
  spec.residual_attention = group.residual_attention || options.model.residual_attention;
  // BranchNorm's placement says that it has one.
  const bool says_ramp = group.ramp && spec.placement != Placement::branchnorm;
  spec.ramp = says_ramp ? 1 / static_cast<double>(ramp_steps(options, corpus)) : 1;
  spec.optimizer = optimizer_text(options.optimizer);
  spec.vocab = corpus.vocab();
  spec.causal = true;
  spec.input.kind = InputKind::tokens;
  spec.reduction = Reduction::mean;
  spec.loss = Loss::cross_entropy;
  if (group.dropout_place) {
    if (spec.dropout == 0) {
      throw Error(ErrorKind::input, "dropout is 0, so its place changes nothing", group.name,
                  "give a rate: --dropout 0.1, or dropout = 0.1 in the model file");
    }
    spec.dropout_place = *group.dropout_place;
  }
  if (two) set_stacks(spec, group);
  if (has_open_scales(spec)) solve_scales(spec);
  validate(spec, group.name);
  return spec;
}

std::vector<GroupDifference> train_differences(const TrainOptions& options, const Corpus& corpus) {
  std::vector<std::pair<std::string, std::string>> models;
  for (const std::string& name : options.groups) {
    const TrainGroup group = train_group(name);
    const ModelSpec spec = train_model(options, group, options.depths.at(0), corpus);
    models.emplace_back(group.name, model_text(spec));
  }
  return train_room::model_differences(models);
}

const std::vector<std::string>& train_profile_names() {
  static const std::vector<std::string> names = {"small", "full"};
  return names;
}

TrainOptions train_profile(std::string_view name) {
  if (std::ranges::find(train_profile_names(), name) == train_profile_names().end()) {
    throw unknown_name("profile", name, train_profile_names(), "--profile");
  }
  const bool full = name == "full";
  TrainOptions options;
  ModelSpec& model = options.model;
  model = default_spec(ModelSpec::Kind::transformer);
  model.width = full ? 512 : 32;
  model.heads = full ? 8 : 4;
  model.ffn = 4 * model.width;
  model.sequence = full ? 128 : 32;
  model.batch = full ? 32 : 8;
  model.dropout = 0.1;
  model.attention_dropout = full ? 0.1 : 0.0;
  model.bias = model.norm_affine = true;
  model.norm_eps = 1e-5;
  model.causal = true;
  model.input.kind = InputKind::tokens;
  model.input.positions = 1.0;
  options.optimizer = optimizer_options("adamw");
  options.optimizer.learning_rate = full ? 5e-4 : 3e-3;
  options.groups = full ? std::vector<std::string>{"none", "post", "pre"}
                        : std::vector<std::string>{"none", "post", "pre", "deepnorm"};
  options.depths =
      full ? std::vector<std::int64_t>{12, 32, 64} : std::vector<std::int64_t>{2, 6, 8, 24};
  if (full) {
    options.epochs = 20;
  } else {
    options.steps = 200;
    options.record_every = 50;
  }
  return options;
}

}  // namespace scalecalc
