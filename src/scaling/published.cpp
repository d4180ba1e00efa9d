#include <cmath>

#include "scaling/block.hpp"

namespace scalecalc {
namespace {

Expr root(const Expr& base, int numerator, int denominator) {
  return pow(base, Expr(Rational(numerator, denominator)));
}

struct Depths {
  double encoder, decoder;
};

Scaled scaled(const Expr& formula, const Depths& depths) {
  return {formula, evaluate(formula, {{"N", depths.encoder}, {"M", depths.decoder}})};
}

/// The pair with (alpha/lambda)^2 = `squared_ratio`, closed as the paper closes it.
void rederive(PublishedPair& pair, const Expr& squared_ratio, const Depths& depths) {
  MonomialSystem system;
  system.unknowns = {"alpha", "lambda"};
  const Expr ratio = alpha_symbol() / lambda_symbol();
  // alpha*lambda = 4^(-1/4) is what all four published pairs share.
  system.equations = {{ratio * ratio, squared_ratio},
                      {alpha_symbol() * lambda_symbol(), root(4, -1, 4)}};
  const MonomialSolution found = solve(system);
  pair.rederived_alpha = scaled(found.values.at("alpha"), depths);
  pair.rederived_lambda = scaled(found.values.at("lambda"), depths);
}

PublishedPair single_stack(const std::string& stack, const Depths& depths) {
  const Expr n = Expr::symbol("N");
  PublishedPair pair;
  pair.stack = stack;
  pair.depth_symbol = "N";
  pair.alpha = scaled(root(2 * n, 1, 4), depths);
  pair.lambda = scaled(root(8 * n, -1, 4), depths);
  rederive(pair, 4 * n, depths);
  pair.why = {
      "the paper bounds the change of the output by the squares of both matrices of a branch "
      "together, so 2N branches count as 4N: lambda/alpha = 1/sqrt(4N) where one equation for all "
      "equal gains gives 1/sqrt(2N)"};
  return pair;
}

PublishedPair decoder_stack(const Depths& depths) {
  const Expr m = Expr::symbol("M");
  PublishedPair pair;
  pair.stack = "decoder";
  pair.depth_symbol = "M";
  pair.alpha = scaled(root(3 * m, 1, 4), depths);
  pair.lambda = scaled(root(12 * m, -1, 4), depths);
  rederive(pair, 6 * m, depths);
  pair.why = {
      "three sublayers a layer (self-attention, cross-attention, ffn), both matrices of "
      "each counted: 3M branches count as 6M, lambda/alpha = 1/sqrt(6M) against 1/sqrt(3M)"};
  return pair;
}

// The encoder's output enters each of the M cross-attentions with the weight of a decoder branch,
// lambda_d^2/alpha_d = (12M)^(-1/2) (3M)^(-1/4), so its change is asked to be smaller by the sum of
// those weights, M^(1/4)/(12^(1/2) 3^(1/4)): (alpha/lambda)^2 = 4N M^(1/4)/(12^(1/2) 3^(1/4)).
PublishedPair encoder_of_two(const Depths& depths) {
  const Expr n = Expr::symbol("N"), m = Expr::symbol("M");
  const Expr both = root(pow(n, 4) * m, 1, 16);
  PublishedPair pair;
  pair.stack = "encoder";
  pair.depth_symbol = "N";
  pair.alpha = scaled(Expr(Rational(81, 100)) * both, depths);
  pair.lambda = scaled(Expr(Rational(87, 100)) / both, depths);
  const Expr decoder_branch = root(12 * m, -1, 2) * root(3 * m, -1, 4);
  rederive(pair, 4 * n * m * decoder_branch, depths);
  pair.why = {
      "the encoder's change reaches the loss through M cross-attentions, each weighted by a "
      "decoder "
      "branch, lambda_d^2/alpha_d = (12*M)^(-1/2)*(3*M)^(-1/4): their sum, proportional to "
      "M^(1/4), "
      "multiplies 4N; the derived pair asks each stack to keep its own loss change",
      "0.81 and 0.87 are that argument's 0.81384 and 0.86885, cut to two digits"};
  return pair;
}

}  // namespace

const std::vector<std::string>& architecture_names() {
  static const std::vector<std::string> names = {"encoder", "decoder", "encoder-decoder"};
  return names;
}

Architecture architecture_from(std::string_view name) {
  if (name == "encoder") return Architecture::encoder;
  if (name == "decoder") return Architecture::decoder;
  if (name == "encoder-decoder") return Architecture::encoder_decoder;
  throw unknown_name("architecture", name, architecture_names(), "--arch");
}

std::vector<PublishedPair> deepnet_rule(Architecture architecture, std::int64_t layers,
                                        std::int64_t decoder_layers) {
  const Depths depths{static_cast<double>(layers), static_cast<double>(decoder_layers)};
  std::vector<PublishedPair> pairs;
  switch (architecture) {
    case Architecture::encoder: pairs = {single_stack("encoder", depths)}; break;
    case Architecture::decoder: pairs = {single_stack("decoder", depths)}; break;
    case Architecture::encoder_decoder:
      pairs = {encoder_of_two(depths), decoder_stack(depths)};
      break;
  }
  for (PublishedPair& pair : pairs) {
    pair.ratio = scaled(pair.lambda.formula / pair.alpha.formula, depths);
    pair.why.push_back(
        "the published argument is sgd's (a loss change of |g|^2) and closes the pair with "
        "alpha*lambda = 4^(-1/4), here symmetric means alpha*lambda = 1");
  }
  return pairs;
}

}  // namespace scalecalc
