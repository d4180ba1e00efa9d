#pragma once

#include <optional>
#include <string>
#include <vector>

#include "moments/engines/formulas.hpp"
#include "scalecalc/network.hpp"

/// One layer of the stream on symbols, and what a stack of alike blocks makes of it.
namespace scalecalc::moments {

/// Names of the moments before a layer and of the gradient behind it.
inline const Expr& stream_mean() {
  static const Expr symbol = Expr::symbol("mu", Assumption::real);
  return symbol;
}
inline const Expr& stream_second() {
  static const Expr symbol = Expr::symbol("m");
  return symbol;
}
inline const Expr& stream_cross() {
  static const Expr symbol = Expr::symbol("r", Assumption::real);
  return symbol;
}
inline const Expr& stream_grad_second() {
  static const Expr symbol = Expr::symbol("g");
  return symbol;
}
inline const Expr& stream_grad_cross() {
  static const Expr symbol = Expr::symbol("k", Assumption::real);
  return symbol;
}

/// Of residual attention: moments of the scores before a layer, and of their gradient behind it.
inline const Expr& score_second() {
  static const Expr symbol = Expr::symbol("s");
  return symbol;
}
inline const Expr& score_cross() {
  static const Expr symbol = Expr::symbol("u", Assumption::real);
  return symbol;
}
inline const Expr& score_grad_second() {
  static const Expr symbol = Expr::symbol("gs");
  return symbol;
}
inline const Expr& score_grad_cross() {
  static const Expr symbol = Expr::symbol("ks", Assumption::real);
  return symbol;
}

/// The gradient's part along x, of Gradient::aligned.
inline const Expr& stream_aligned() {
  static const Expr symbol = Expr::symbol("h", Assumption::real);
  return symbol;
}

/// Moments of the stream where they are known as formulas (in l and N), symbols where not.
struct StreamFormulas {
  std::optional<Expr> mean, second, cross;
};
struct GradientFormulas {
  std::optional<Expr> second, cross, aligned;
};

/// A site of one layer, in the symbols above.
struct UnitSite {
  std::string path, kind;
  bool has_cross = false;
  Alike<Expr> x, gradient;
};

/// One layer of the network's own list (a residual with its branch counts as one): what it does to
/// the symbols forward and backward.
struct Unit {
  std::vector<UnitSite> sites;
  Alike<Expr> out;                     ///< in mu, m, r
  Alike<Expr> back;                    ///< gradient at the input, in g, k, h, m, r
  Expr aligned;                        ///< of that gradient
  std::int64_t width = 0, tokens = 0;  ///< of the output
  bool normalised = false;
};

/// What is known before a layer without any symbol.
struct Place {
  std::int64_t width = 0, tokens = 1;
  bool zero_mean = true;    ///< mu is 0
  bool normalised = false;  ///< by a norm right before
  bool is_head = false;     ///< the gradient behind it is the loss', in m and r
};
Unit make_unit(Formulas& calculus, const Network& network, const Layer& layer, const Place& place);

/// A formula in the symbols with what is known of them put in.
Expr put_known(const Expr& formula, const StreamFormulas& stream);
Expr put_known(const Expr& formula, const StreamFormulas& stream, const GradientFormulas& gradient);

/// The stream behind the unit; unknown where it depends on something unknown, or past a size that
/// nobody reads.
StreamFormulas through(const Unit& unit, const StreamFormulas& stream);
GradientFormulas back_through(const Unit& unit, const StreamFormulas& stream,
                              const GradientFormulas& gradient);

/// The moments before the l-th of alike blocks, from those before the first. Unsolved moments are
/// unknown.
StreamFormulas solve_forward(const std::vector<Unit>& block, const StreamFormulas& first);
/// The gradient behind the l-th of `count` alike blocks, from that behind the last; `streams[u]` is
/// the stream before unit u of block l.
GradientFormulas solve_backward(const std::vector<Unit>& block,
                                const std::vector<StreamFormulas>& streams,
                                const GradientFormulas& last, const Expr& count);

}  // namespace scalecalc::moments
