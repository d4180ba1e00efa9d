#include "moments/engines/laws.hpp"

#include "moments/engines/recursion.hpp"
#include "moments/layers/norm.hpp"
#include "moments/layers/residual.hpp"

namespace scalecalc::moments {
namespace {

using X = Alike<Expr>;

Signal<X> of_second(const Expr& second, std::int64_t width) {
  Signal<X> signal;
  signal.x = {0, second, 0, 0};
  signal.width = width;
  signal.tokens = 1;
  return signal;
}

SymbolicLaw law(const char* name, const char* meaning, const Expr& formula) {
  return {name, meaning, formula_text(formula), formula_text(formula, Notation::latex)};
}

/// The residuals of the network's own list that are alike: the first one that is there.
const Residual* first_residual(const Network& network) {
  for (const Layer& layer : network.layers)
    if (const auto* residual = std::get_if<Residual>(&layer.op)) return residual;
  return nullptr;
}

}  // namespace

std::vector<SymbolicLaw> stream_laws(Formulas& calculus, const Network& network) {
  const Residual* residual = first_residual(network);
  if (!residual || !residual->shortcut.empty()) return {};
  const Expr m = Expr::symbol("m"), branch = Expr::symbol("branch"), first = 1;
  const Counts counts{1, 1};
  const Signal<X> sum = residual_forward(calculus, *residual, of_second(m, network.features),
                                         of_second(branch, network.features), counts);
  const bool normed = residual->norm && is_token_norm(residual->norm->kind);
  const Expr skip = calculus.skip(*residual) * calculus.skip(*residual);
  std::vector<SymbolicLaw> laws;
  const auto solved = solve_recursion({"m", normed ? Expr(1) : sum.x.second, first});
  if (!solved) return laws;
  laws.push_back(law("stream_second", "second moment of the stream after l branches", *solved));
  // The input's share of the power: what the skip keeps of it, branch by branch.
  const Expr kept = skip * m / sum.x.second;
  const Expr step = substitute(kept, {{"m", *solved}});
  const Expr power = Expr::symbol("power");
  const Expr index = Expr::symbol("l");
  const auto share = solve_recursion({"power", power / expand(1 / step), 1}, {1 / *solved});
  if (share)
    laws.push_back(
        law("identity_weight", "amplitude that the input has left after l branches", sqrt(*share)));
  return laws;
}

}  // namespace scalecalc::moments
