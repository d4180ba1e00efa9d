#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "scalecalc/error.hpp"
#include "scalecalc/pretrained.hpp"
#include "scalecalc/scaling.hpp"
#include "scalecalc/train.hpp"
#include "train/differences.hpp"

namespace scalecalc {
namespace {

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
    const std::int64_t layers = options.depths.at(0);
    const ModelSpec spec =
        options.pretrained
            ? finetuned_model(options, group,
                              pretrained_run(*options.pretrained, group.name, layers, options.seed),
                              corpus)
            : train_model(options, group, layers, corpus);
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
