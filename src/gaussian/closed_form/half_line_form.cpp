#include <algorithm>

#include "gaussian/closed_form/derive.hpp"

namespace scalecalc::gaussian {
namespace {

/// Where 0 lies: within a piece, or on the break after it.
struct Centre {
  std::size_t piece = 0;
  bool on_break = false;
};

Centre centre_of(const std::vector<Expr>& breaks) {
  Centre centre;
  for (const Expr& place : breaks) {
    const double at = place.is_zero() ? 0 : evaluate(place);
    if (at == 0) centre.on_break = true;
    if (at >= 0) break;
    ++centre.piece;
  }
  return centre;
}

/// The half-lines of one shape whose coefficient is a step function of x.
class Steps {
 public:
  Steps(const Shape& shape, std::vector<Expr> values, const std::vector<Ratio>& places)
      : shape_(shape), values_(std::move(values)), places_(places) {}

  void write(Terms& terms, const Centre& centre) const {
    std::size_t pivot = centre.piece;
    if (!centre.on_break || values_[pivot] == values_[pivot + 1]) {
      write_outward(terms, pivot, pivot);
      add(terms, shape_, values_[pivot]);
      return;
    }
    const Expr &left = values_[pivot], &right = values_[pivot + 1];
    if (left.is_zero() || right.is_zero()) {
      if (!left.is_zero()) ++pivot;
      write_outward(terms, pivot, pivot);
      return;
    }
    const Expr half(Rational(1, 2));
    write_outward(terms, pivot, pivot + 1);
    add(terms, shape_, half * (left + right));
    add(terms, with(pivot, Sense::sign), half * (right - left));
  }

 private:
  /// Left half-lines below the piece `low`, right ones above the piece `high`.
  void write_outward(Terms& terms, std::size_t low, std::size_t high) const {
    for (std::size_t k = 0; k < low; ++k) {
      add(terms, with(k, Sense::left), values_[k] - values_[k + 1]);
    }
    for (std::size_t k = high; k + 1 < values_.size(); ++k) {
      add(terms, with(k, Sense::right), values_[k + 1] - values_[k]);
    }
  }

  Shape with(std::size_t place, Sense sense) const {
    Shape shape = shape_;
    shape.half_lines.push_back({0, sense, places_[place], 0});
    std::sort(shape.half_lines.begin(), shape.half_lines.end());
    return shape;
  }

  const Shape& shape_;
  std::vector<Expr> values_;
  const std::vector<Ratio>& places_;
};

}  // namespace

Terms half_line_form(Ring& ring, const std::vector<Terms>& pieces,
                     const std::vector<Expr>& breaks) {
  std::map<Shape, std::vector<Expr>> by_shape;
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    for (const auto& [shape, coefficient] : pieces[k]) {
      by_shape.try_emplace(shape, pieces.size(), Expr(0)).first->second[k] = coefficient;
    }
  }
  std::vector<Ratio> places;
  for (const Expr& place : breaks) places.push_back(ring.constant(place));
  const Centre centre = centre_of(breaks);
  Terms form;
  for (const auto& [shape, values] : by_shape) {
    Steps(shape, values, places).write(form, centre);
  }
  return form;
}

}  // namespace scalecalc::gaussian
