#include <fmt/format.h>

#include <memory>
#include <utility>

#include "cli/app.hpp"
#include "cli/deepnorm/document.hpp"
#include "cli/deepnorm/exact_document.hpp"
#include "cli/deepnorm/verification_document.hpp"
#include "cli/model_options.hpp"
#include "cli/options.hpp"
#include "cli/standard_input.hpp"

namespace scalecalc::cli {
namespace {

const std::vector<std::string> kMethods = {"scaling", "exact"};
const std::vector<std::string> kRules = {"derived", "deepnet"};

struct Arguments {
  std::string layers, optimizer = "adam", placement, constraint, rule = "derived", architecture,
                      decoder_layers, scheme = "lecun", model, seeds = "5", method = "scaling",
                      reference_layers;
  bool verify = false, explain = false;
  ModelOptions block;
};

/// The asked combination, checked.
struct Request {
  std::int64_t layers = 1, decoder_layers = 0;
  Placement placement = Placement::post;
  Architecture architecture = Architecture::encoder;
  bool published = false, exact = false;
  std::int64_t reference_layers = 1;
  ModelSpec spec;  ///< of one stack
  BlockMoments moments;
  bool has_two() const { return architecture == Architecture::encoder_decoder; }
};

/// Everything said about one stack.
struct Answer {
  StackAnswer stack;
  std::optional<ExactAnswer> exact;
};

void read_method(const Arguments& arguments, Request& request) {
  request.exact = parse_choice("--method", arguments.method, kMethods) == "exact";
  if (!request.exact && !arguments.reference_layers.empty())
    throw Error(ErrorKind::usage, "only the exact method has a reference depth",
                "--reference-layers", "add --method exact, or leave it out");
  if (request.exact && request.published)
    throw Error(ErrorKind::usage, "the published constants leave nothing to solve",
                "--method exact", "leave --rule deepnet out, or use --method scaling");
  if (!arguments.reference_layers.empty())
    request.reference_layers = parse_layers("--reference-layers", arguments.reference_layers);
}

/// A stack alone does not read them.
void leave_out_frames(ModelSpec& spec) {
  spec.memory = {spec.memory.sequence, spec.memory.second, spec.memory.cross};
}

/// One stack or two, as asked or as the model has them; its block is that of one.
void read_stacks(const Arguments& arguments, Request& request) {
  ModelSpec& spec = request.spec;
  const bool of_two = spec.encoder_decoder;
  const std::string& asked = arguments.architecture;
  request.architecture = asked.empty()
                             ? (of_two ? Architecture::encoder_decoder : Architecture::encoder)
                             : architecture_from(asked);
  const std::string& depth = arguments.decoder_layers;
  if (!request.has_two() && !depth.empty())
    throw Error(ErrorKind::usage, "--decoder-layers belongs to two stacks", "--decoder-layers",
                "add --arch encoder-decoder, or leave it out");
  if (request.has_two() && depth.empty() && !of_two)
    throw Error(ErrorKind::usage, "encoder-decoder needs the decoder's depth too",
                "--arch encoder-decoder", "add --decoder-layers M, for example --decoder-layers 6");
  spec.layers = request.layers;
  if (request.has_two())
    request.decoder_layers =
        depth.empty() ? decoder_depth(spec) : parse_layers("--decoder-layers", depth);
  if (!of_two) return;
  const ModelSpec encoder = encoder_of(spec);
  spec.alpha = encoder.alpha;
  spec.lambda = encoder.lambda;
  spec.encoder_decoder = false;
  if (!request.has_two()) leave_out_frames(spec);
}

/// Those of a homogeneous branch where no equation, and so no warm-up, is asked for.
BlockMoments moments_of(const ModelSpec& spec) {
  ModelSpec valid = spec;
  valid.alpha = valid.lambda = Expr(1);
  leave_out_frames(valid);
  validate(valid, "deepnorm");
  return block_moments(valid);
}

Request read(const Arguments& arguments) {
  Request request;
  if (arguments.layers.empty() && arguments.model.empty())
    throw Error(ErrorKind::usage, "deepnorm needs a depth", "--layers",
                "for example --layers 12, or --model for a model with its own");
  if (!arguments.layers.empty()) request.layers = parse_layers("--layers", arguments.layers);
  request.published = parse_choice("--rule", arguments.rule, kRules) == "deepnet";
  read_method(arguments, request);
  if (!arguments.model.empty()) request.spec = read_model_argument(arguments.model);
  if (arguments.layers.empty()) request.layers = request.spec.layers;
  read_stacks(arguments, request);
  if (request.spec.kind != ModelSpec::Kind::transformer)
    throw Error(ErrorKind::usage, "deepnorm is about transformer blocks, and this model is none",
                "--model", "use kind = \"transformer\"");
  request.placement =
      arguments.placement.empty() && !arguments.model.empty()
          ? request.spec.placement
          : placement_from(arguments.placement.empty() ? "post" : arguments.placement,
                           "--placement");
  // The scales of a file are of its own placement.
  if (arguments.model.empty()) request.spec.placement = request.placement;
  arguments.block.apply_to(request.spec);
  request.spec.placement = request.placement;
  request.moments = moments_of(request.spec);
  if (request.published && request.placement != Placement::post)
    throw Error(ErrorKind::usage, "the published constants are for post placement",
                "--rule deepnet", "leave --placement out, or use --rule derived");
  if (request.published && !arguments.constraint.empty())
    throw Error(ErrorKind::usage, "the published constants leave nothing to constrain",
                "--rule deepnet", "leave --constraint out, or use --rule derived");

  if (request.has_two() && request.exact && arguments.verify)
    throw Error(ErrorKind::usage, "exact pairs of two stacks are verified one by one", "--verify",
                "use --arch encoder, --arch decoder, or --method scaling");
  return request;
}

ScalingProblem problem_of(const Arguments& arguments, const Request& request, bool decoder) {
  ScalingProblem problem;
  problem.layers = decoder ? request.decoder_layers : request.layers;
  problem.optimizer = optimizer(arguments.optimizer).name;
  problem.placement = request.placement;
  problem.sublayers = decoder ? 3 : 2;
  problem.depth_symbol = decoder ? "M" : "N";
  problem.block = request.moments;
  if (!arguments.constraint.empty())
    problem.constraint = Constraint::parse(arguments.constraint, problem.depth_symbol);
  return problem;
}

StackAnswer answer(const Arguments& arguments, const Request& request, bool decoder,
                   const ExactSolution* exact) {
  StackAnswer result;
  const bool two = request.has_two();
  result.name = decoder || request.architecture == Architecture::decoder ? "decoder" : "encoder";
  result.problem = problem_of(arguments, request, decoder);
  result.solution = solve_scaling(result.problem);
  result.block = fmt::format("{}, {}, width {}", request.spec.activation,
                             to_string(request.spec.norm), request.spec.width);
  ScalingSolution init_from = result.solution;
  if (request.published) {
    const auto pairs = deepnet_rule(request.architecture, request.layers, request.decoder_layers);
    result.published = pairs[two && decoder ? 1 : 0];
    init_from.lambda = result.published->lambda;
  }
  const ModelOptions& block = arguments.block;
  const bool sized = !arguments.model.empty() || block.has("width");
  ModelWidths widths;
  if (sized) widths.width = request.spec.width;
  if (sized || block.has("ffn")) widths.ffn = request.spec.ffn;
  if (sized || block.has("vocab")) widths.vocab = request.spec.vocab;
  // A gain in both depths has a value at both.
  if (widths.width > 0 || widths.ffn > 0 || widths.vocab > 0)
    if (two && !decoder && request.published)
      init_from.lambda.formula =
          substitute(init_from.lambda.formula, {{"M", Expr(request.decoder_layers)}});
  if (exact) init_from.lambda = {Expr::symbol("lambda"), exact->solved.lambda};
  result.init = init_table(init_from, result.problem.layers, arguments.scheme, widths);
  return result;
}

/// The decoder of two stacks has a third sublayer.
ExactAnswer solve_stack(const Arguments& arguments, const Request& request, bool decoder) {
  ModelSpec spec = request.spec;
  spec.cross_attention = decoder;
  const ScalingProblem problem = problem_of(arguments, request, decoder);
  ExactAnswer result;
  result.solution = solve_exact(spec, problem, request.reference_layers);
  if (!arguments.explain) return result;
  spec.layers = problem.layers;
  spec.alpha = Expr(Rational::shortest(result.solution.solved.alpha));
  spec.lambda = Expr(Rational::shortest(result.solution.solved.lambda));
  result.schemes = scheme_profiles(spec, optimizer(problem.optimizer));
  return result;
}

Answer answer_stack(const Arguments& arguments, const Request& request, bool decoder) {
  std::optional<ExactAnswer> exact;
  if (request.exact) exact = solve_stack(arguments, request, decoder);
  StackAnswer stack = answer(arguments, request, decoder, exact ? &exact->solution : nullptr);
  return {std::move(stack), std::move(exact)};
}

ScalingPair pair_of(const Answer& found) {
  const ScalingProblem& problem = found.stack.problem;
  if (found.exact) return scaling_pair(problem, found.exact->solution);
  if (found.stack.published) return scaling_pair(problem, *found.stack.published);
  return scaling_pair(problem);
}

/// Of one stack, or of both together.
ScalingPair pair_of(const Request& request, const std::vector<Answer>& stacks) {
  const ScalingPair first = pair_of(stacks.front());
  if (!request.has_two()) return first;
  return scaling_pair_of_two(first, pair_of(stacks.back()), request.layers, request.decoder_layers);
}

ScalingVerification verify(const Arguments& arguments, const Request& request,
                           const std::vector<Answer>& stacks, Context& context) {
  SweepOptions options;
  options.model = request.spec;
  const Optimizer rule = optimizer(arguments.optimizer);
  options.update = rule.update;
  options.rest = rule.rest;
  options.seeds = static_cast<int>(parse_integer("--seeds", arguments.seeds, 1, 10000, "5"));
  context.set_passes(options);
  options.progress = context.progress();
  ScalingVerification result = verify_scaling(pair_of(request, stacks), std::move(options));
  context.clear_progress();
  return result;
}

report::Value inputs_of(const Arguments& arguments, const Request& request,
                        const std::vector<Answer>& stacks) {
  report::Value inputs = report::Value::object();
  inputs["layers"] = request.layers;
  if (request.decoder_layers > 0) inputs["decoder_layers"] = request.decoder_layers;
  inputs["optimizer"] = stacks.front().stack.problem.optimizer;
  inputs["placement"] = to_string(request.placement);
  inputs["constraint"] = stacks.front().stack.solution.constraint.to_string();
  inputs["method"] = arguments.method;
  if (request.exact) inputs["reference_layers"] = request.reference_layers;
  inputs["rule"] = arguments.rule;
  inputs["arch"] = architecture_names().at(static_cast<std::size_t>(request.architecture));
  inputs["scheme"] = arguments.scheme;
  return inputs;
}

report::Value results_of(const Answer& found, int digits) {
  if (found.exact && digits > 17)
    throw Error(ErrorKind::usage, "an exact pair is a numeric root of 17 digits at most",
                "--digits", "leave --digits out, or use --method scaling");
  report::Value results = stack_results(found.stack, digits);
  if (found.exact) put_exact_results(*found.exact, results);
  return results;
}

void add_sections(const Answer& found, bool titled, bool explain, int digits,
                  std::vector<report::Section>& sections) {
  if (found.exact)
    for (report::Section& section : exact_sections(*found.exact))
      sections.push_back(std::move(section));
  std::vector<report::Section> law = stack_sections(found.stack, titled, explain, digits);
  if (found.exact) law.front().title = "Power law: " + law.front().title;
  for (report::Section& section : law) sections.push_back(std::move(section));
}

int run(const Arguments& arguments, Context& context) {
  const Request request = read(arguments);
  std::vector<Answer> stacks = {answer_stack(arguments, request, false)};
  const bool two = request.has_two();
  if (two) stacks.push_back(answer_stack(arguments, request, true));

  report::Document document;
  document.command = "deepnorm";
  document.inputs = inputs_of(arguments, request, stacks);
  document.results = results_of(stacks.front(), context.digits());
  for (const Answer& found : stacks) {
    if (two) document.results[found.stack.name] = results_of(found, context.digits());
    add_sections(found, two, arguments.explain, context.digits(), document.sections);
  }

  bool passed = true;
  if (arguments.verify) {
    const ScalingVerification checked = verify(arguments, request, stacks, context);
    document.results["verification"] = verification_results(checked);
    for (report::Section& section :
         verification_sections(checked, stacks.front().stack.problem.optimizer))
      document.sections.push_back(std::move(section));
    passed = checked.passed;
  }
  context.emit(document);
  return passed ? 0 : 1;
}

}  // namespace

void register_deepnorm(CLI::App& app, Context& context) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_command(app, context,
                                  {.name = "deepnorm",
                                   .summary = "alpha and lambda for a depth, an optimizer and a "
                                              "placement",
                                   .examples = {"scalecalc deepnorm --layers 1000 --optimizer adam",
                                                "scalecalc deepnorm --layers 24 --placement pre "
                                                "--optimizer muon --explain"},
                                   .form = deepnorm_form,
                                   .uses = kPasses,
                                   .lists = Lists{.alone = {"--explain"},
                                                  .parts = {{"init", {"gain", "std"}},
                                                            {"conditions", {"value"}},
                                                            {"decoder"},
                                                            {"verification"}}}},
                                  [arguments, &context] { return run(*arguments, context); });
  const Options add{command};
  add.axis("--layers", arguments->layers, "N",
           "layers N of the (first) stack, 1..1000000 (default: those of --model)");
  add.axis("--optimizer", arguments->optimizer, types::optimizer(),
           "what steps (scalecalc list families); muon+adamw: hidden matrices by the first, all "
           "else by the second; muon(ffn,o)+adamw: what has these roles by the first; or a rule in "
           "g and theta");
  add.axis(
      "--placement", arguments->placement, types::placement(),
      "where the norm stands: post, pre, res-post, sandwich, sub-ln, none, ... (default: post, "
      "or that of --model)");
  add.axis("--constraint", arguments->constraint, {"CONSTRAINT", {"symmetric"}},
           "what closes the pair: symmetric, alpha=X or lambda=X, X a formula in N (default: what "
           "the placement leaves open)");
  add.axis("--method", arguments->method, {"METHOD", kMethods},
           "scaling (the power law), or exact: solved for this very block");
  add.axis("--reference-layers", arguments->reference_layers, "N",
           "depth whose loss change the exact pair keeps (default 1)");
  add.axis("--rule", arguments->rule, {"RULE", kRules},
           "derived, or deepnet for the published constants");
  add.axis("--arch", arguments->architecture, {"ARCH", architecture_names},
           "encoder, decoder or encoder-decoder (default: encoder, or as --model)");
  add.axis("--decoder-layers", arguments->decoder_layers, "M",
           "layers M of the decoder (encoder-decoder)");
  add.axis("--scheme", arguments->scheme, {"SCHEME", {"lecun", "xavier", "he"}},
           "lecun, xavier or he: what the gains multiply");
  add.axis("--model", arguments->model, types::model(),
           "what describes the block: a model file, a preset, or - for standard input");
  add.flag("--verify", arguments->verify,
           "measure the loss change of a real step at depths up to N");
  add.axis("--seeds", arguments->seeds, "S", "draws of the weights per depth, for --verify");
  add.flag("--explain", arguments->explain, "show the derivation, step by step");
  const ModelSpec defaults = default_spec(ModelSpec::Kind::transformer);
  arguments->block.add_to(
      command,
      {"features", "classes", "ramp", "scheme", "encoder_decoder", "decoder_alpha",
       "decoder_lambda", "memory_features", "memory_conv_kernel", "memory_conv_strides",
       "memory_sinusoids", "modulation", "condition_features", "condition_second",
       "condition_cross", "condition_classes", "condition_class_std"},
      &defaults);
}

}  // namespace scalecalc::cli
