#include "gaussian/closed_form/terms.hpp"

#include <algorithm>
#include <tuple>

#include "base/deadline.hpp"
#include "symbolic/node.hpp"

namespace scalecalc::gaussian {
namespace {

std::vector<HalfLine> merged(const std::vector<HalfLine>& a, const std::vector<HalfLine>& b) {
  std::vector<HalfLine> all;
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all));
  return all;
}

/// Everything but the wave.
Shape combined(const Shape& a, const Shape& b) {
  Shape result;
  for (std::size_t k = 0; k < 2; ++k) {
    result.powers[k] = a.powers[k] + b.powers[k];
    result.linear[k] = a.linear[k] + b.linear[k];
    result.quadratic[k] = a.quadratic[k] + b.quadratic[k];
  }
  if (result.powers[0] + result.powers[1] > highest_degree) {
    throw NoForm{"its polynomials exceed degree " + std::to_string(highest_degree)};
  }
  result.exponent = a.exponent + b.exponent;
  result.half_lines = merged(a.half_lines, b.half_lines);
  return result;
}

bool is_negative(const Ratio& value) {
  return !value.is_zero() && value.numerator().terms().begin()->second.sign() < 0;
}

/// cos(-t) = cos(t), and a wave without slope is a constant.
void add_wave(const Ring& ring, Terms& terms, Shape shape, Wave wave, Expr coefficient) {
  const Ratio& lead = wave.slope[0].is_zero() ? wave.slope[1] : wave.slope[0];
  if (lead.is_zero()) {
    const Expr phase = ring.expression(wave.phase);
    add(terms, shape, coefficient * Expr::function(wave.sine ? "sin" : "cos", {phase}));
    return;
  }
  if (is_negative(lead)) {
    for (Ratio& slope : wave.slope) slope = -slope;
    wave.phase = -wave.phase;
    if (wave.sine) coefficient = -coefficient;
  }
  shape.wave = std::move(wave);
  add(terms, shape, coefficient);
}

Wave shifted(const Wave& a, const Wave& b, int turn, bool sine) {
  Wave result{true, sine, {}, a.phase + Ratio(turn) * b.phase};
  for (std::size_t k = 0; k < 2; ++k) result.slope[k] = a.slope[k] + Ratio(turn) * b.slope[k];
  return result;
}

/// 2 cos a cos b = cos(a - b) + cos(a + b) and its kin.
void add_product_of_waves(const Ring& ring, Terms& terms, const Shape& shape, const Wave& a,
                          const Wave& b, const Expr& coefficient) {
  const Expr half = coefficient * Expr(Rational(1, 2));
  if (a.sine == b.sine) {
    add_wave(ring, terms, shape, shifted(a, b, -1, false), half);
    add_wave(ring, terms, shape, shifted(a, b, 1, false), a.sine ? -half : half);
    return;
  }
  const Wave &sine = a.sine ? a : b, &cosine = a.sine ? b : a;
  add_wave(ring, terms, shape, shifted(sine, cosine, 1, true), half);
  add_wave(ring, terms, shape, shifted(sine, cosine, -1, true), half);
}

}  // namespace

bool is_known_zero(const Expr& value) {
  constexpr std::size_t worth_expanding = 200;
  if (value.is_zero() || value.kind() != Expr::Kind::sum) return value.is_zero();
  return value.node().size < worth_expanding && expand(value).is_zero();
}

bool operator<(const HalfLine& a, const HalfLine& b) {
  return std::tie(a.variable, a.sense, a.threshold, a.noise) <
         std::tie(b.variable, b.sense, b.threshold, b.noise);
}

bool operator<(const Wave& a, const Wave& b) {
  return std::tie(a.present, a.sine, a.slope, a.phase) <
         std::tie(b.present, b.sine, b.slope, b.phase);
}

bool operator<(const Shape& a, const Shape& b) {
  return std::tie(a.powers, a.exponent, a.linear, a.quadratic, a.wave, a.half_lines) <
         std::tie(b.powers, b.exponent, b.linear, b.quadratic, b.wave, b.half_lines);
}

void add(Terms& terms, const Shape& shape, const Expr& coefficient) {
  if (coefficient.is_zero()) return;
  const auto [place, is_new] = terms.try_emplace(shape, coefficient);
  if (is_new) {
    if (terms.size() > most_terms) {
      throw NoForm{"it expands to more than " + std::to_string(most_terms) + " terms"};
    }
    return;
  }
  place->second = place->second + coefficient;
  if (is_known_zero(place->second)) terms.erase(place);
}

Terms sum(const Terms& a, const Terms& b) {
  Terms result = a;
  for (const auto& [shape, coefficient] : b) add(result, shape, coefficient);
  return result;
}

Terms product(const Ring& ring, const Terms& a, const Terms& b) {
  Terms result;
  for (const auto& [left, x] : a) {
    for (const auto& [right, y] : b) {
      base::check_deadline();
      Shape shape = combined(left, right);
      if (left.wave.present && right.wave.present) {
        add_product_of_waves(ring, result, shape, left.wave, right.wave, x * y);
      } else {
        shape.wave = left.wave.present ? left.wave : right.wave;
        add(result, shape, x * y);
      }
    }
  }
  return result;
}

Terms power(const Ring& ring, const Terms& base, int exponent) {
  Terms result{{Shape{}, Expr(1)}};
  for (int n = 0; n < exponent; ++n) result = product(ring, result, base);
  return result;
}

Terms of_second_variable(const Terms& terms) {
  Terms result;
  for (const auto& [first, coefficient] : terms) {
    Shape shape = first;
    std::swap(shape.powers[0], shape.powers[1]);
    std::swap(shape.linear[0], shape.linear[1]);
    std::swap(shape.quadratic[0], shape.quadratic[1]);
    std::swap(shape.wave.slope[0], shape.wave.slope[1]);
    for (HalfLine& half_line : shape.half_lines) half_line.variable = 1;
    result.emplace(std::move(shape), coefficient);
  }
  return result;
}

}  // namespace scalecalc::gaussian
