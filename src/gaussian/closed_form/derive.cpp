#include "gaussian/closed_form/derive.hpp"

namespace scalecalc::gaussian {
namespace {

Ratio mean_of(const Ring& ring, InputMean mean) {
  return mean == InputMean::zero ? Ratio(0) : ring.mu();
}

std::vector<Terms> read_pieces(Ring& ring, const Piecewise& function, int exponent) {
  std::vector<Terms> pieces;
  for (const Expr& piece : function.pieces) {
    pieces.push_back(power(ring, read_terms(ring, piece), exponent));
  }
  return pieces;
}

/// f(u) f(v) for exchangeable u and v: the product of two different terms counts twice.
Terms symmetric_product(const Ring& ring, const Terms& form) {
  Terms total;
  for (auto first = form.begin(); first != form.end(); ++first) {
    const Terms left{*first};
    for (auto second = first; second != form.end(); ++second) {
      const Terms right = of_second_variable({{second->first, second->second}});
      const Expr count = first == second ? 1 : 2;
      for (const auto& [shape, coefficient] : product(ring, left, right)) {
        add(total, shape, count * coefficient);
      }
    }
  }
  return total;
}

template <class Body>
ClosedForm formula_or_reason(Body body) {
  ClosedForm result;
  try {
    result.formula = body();
  } catch (const NoForm& none) {
    result.why_not = none.reason;
  } catch (const Error& error) {
    result.why_not = error.message();
  }
  return result;
}

}  // namespace

ClosedForm formula_1d(const Piecewise& function, int power, InputMean mean) {
  return formula_or_reason([&] {
    Ring ring;
    const Terms form = half_line_form(ring, read_pieces(ring, function, power), function.breaks);
    const Pair pair{mean_of(ring, mean), ring.q(), 0};
    return formula(ring, expectation(ring, pair, form));
  });
}

ClosedForm formula_pair(const Piecewise& function, InputMean mean, Correlation correlation) {
  return formula_or_reason([&] {
    Ring ring;
    const Terms form = half_line_form(ring, read_pieces(ring, function, 1), function.breaks);
    const Ratio c = correlation == Correlation::minus_one ? Ratio(-1) : ring.c();
    const Pair pair{mean_of(ring, mean), ring.q(), ring.q() * c};
    return formula(ring, expectation(ring, pair, symmetric_product(ring, form)));
  });
}

}  // namespace scalecalc::gaussian
