#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "scalecalc/error.hpp"
#include "scalecalc/tensor.hpp"
#include "tensor/singular.hpp"

namespace scalecalc {
namespace {

using Entries = std::vector<double>;

[[noreturn]] void cannot_read(const std::string& what, const Expr& part) {
  throw Error(ErrorKind::input, what + ": " + to_string(part), "update rule",
              "write sums and products of numbers, g, theta, sign(), norm(), rms(), orthogonal() "
              "and global_norm(g), with at most one matrix in a product");
}

/// scalar, or scalar * matrix.
struct Value {
  double scalar = 1.0;
  std::optional<Entries> matrix;
};

template <class Real>
class Reader {
 public:
  Reader(MatrixView<Real> parameter, MatrixView<Real> gradient, double global_norm)
      : parameter_(parameter), gradient_(gradient), global_norm_(global_norm) {}

  /// The entries of a rule whose value is a matrix.
  Entries matrix(const Expr& expr) const {
    Value value = read(expr);
    if (!value.matrix) cannot_read("a number where a matrix is needed", expr);
    scale(value);
    return std::move(*value.matrix);
  }

 private:
  Value read(const Expr& expr) const {
    switch (expr.kind()) {
      case Expr::Kind::number: return {expr.number().to_double(), {}};
      case Expr::Kind::constant: return {evaluate(expr), {}};
      case Expr::Kind::symbol: return symbol(expr);
      case Expr::Kind::sum: return sum(expr);
      case Expr::Kind::product: return product(expr);
      case Expr::Kind::power: return power(expr);
      case Expr::Kind::function: return function(expr);
    }
    cannot_read("cannot be read", expr);
  }

  Value symbol(const Expr& expr) const {
    if (expr.name() == "g") return {1.0, entries(gradient_)};
    if (expr.name() == "theta") return {1.0, entries(parameter_)};
    cannot_read("unknown symbol in an update rule", expr);
  }

  Value sum(const Expr& expr) const {
    Value total = read(expr.operands().front());
    scale(total);
    for (std::size_t i = 1; i < expr.operands().size(); ++i) {
      Value term = read(expr.operands()[i]);
      if (term.matrix.has_value() != total.matrix.has_value()) {
        cannot_read("a sum of a number and a matrix", expr);
      }
      if (!term.matrix) {
        total.scalar += term.scalar;
        continue;
      }
      scale(term);
      for (std::size_t j = 0; j < term.matrix->size(); ++j) (*total.matrix)[j] += (*term.matrix)[j];
    }
    return total;
  }

  Value product(const Expr& expr) const {
    Value result;
    for (const Expr& factor : expr.operands()) {
      Value value = read(factor);
      if (value.matrix && result.matrix) cannot_read("a product of two matrices", expr);
      result.scalar *= value.scalar;
      if (value.matrix) result.matrix = std::move(value.matrix);
    }
    return result;
  }

  Value power(const Expr& expr) const {
    const Value base = read(expr.operands()[0]), exponent = read(expr.operands()[1]);
    if (base.matrix || exponent.matrix) cannot_read("a power of a matrix", expr);
    return {std::pow(base.scalar, exponent.scalar), {}};
  }

  Value function(const Expr& expr) const {
    if (expr.operands().size() != 1) cannot_read("not a function of one argument", expr);
    const std::string& name = expr.name();
    if (name == "global_norm") return {global_norm_, {}};
    Value argument = read(expr.operands()[0]);
    if (!argument.matrix) {
      if (name == "sign") return {sign(argument.scalar), {}};
      if (name == "abs") return {std::fabs(argument.scalar), {}};
      if (name == "sqrt") return {std::sqrt(argument.scalar), {}};
      cannot_read("not a function of a number here", expr);
    }
    return matrix_function(expr, std::move(argument));
  }

  Value matrix_function(const Expr& expr, Value argument) const {
    scale(argument);
    Entries& matrix = *argument.matrix;
    const std::string& name = expr.name();
    if (name == "norm") return {norm(matrix), {}};
    if (name == "rms") return {norm(matrix) / std::sqrt(static_cast<double>(matrix.size())), {}};
    if (name == "sign") {
      for (double& entry : matrix) entry = sign(entry);
      return argument;
    }
    if (name == "orthogonal") {
      Entries factor(matrix.size());
      tensor::polar_factor(matrix.data(), gradient_.rows, gradient_.columns, factor.data());
      return {1.0, std::move(factor)};
    }
    cannot_read("not a function of a matrix here", expr);
  }

  /// Multiplies the scalar in. Zero stays zero: g/norm(g) of a zero gradient is no step.
  static void scale(Value& value) {
    if (!value.matrix || value.scalar == 1.0) return;
    for (double& entry : *value.matrix) entry = entry == 0.0 ? 0.0 : value.scalar * entry;
    value.scalar = 1.0;
  }

  /// NaN keeps its NaN.
  static double sign(double x) { return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x; }

  static double norm(const Entries& entries) {
    double sum = 0.0, top = 0.0;
    for (const double entry : entries) sum += entry * entry;
    if (std::isnan(sum) || (sum > 1e-280 && sum < 1e300)) return std::sqrt(sum);
    // Squares that overflow or vanish: once more, relative to the largest entry.
    for (const double entry : entries) top = std::max(top, std::fabs(entry));
    if (top == 0.0 || std::isinf(top)) return top;
    sum = 0.0;
    for (const double entry : entries) sum += (entry / top) * (entry / top);
    return top * std::sqrt(sum);
  }

  static Entries entries(MatrixView<Real> view) {
    return Entries(view.data, view.data + view.size());
  }

  MatrixView<Real> parameter_, gradient_;
  double global_norm_;
};

}  // namespace

template <class Real>
void update_direction(const Expr& rule, MatrixView<Real> parameter, MatrixView<Real> gradient,
                      double global_norm, Real* out) {
  if (parameter.rows != gradient.rows || parameter.columns != gradient.columns) {
    throw Error(ErrorKind::input, "the gradient has another shape than its parameter",
                "update rule", "give the gradient of that parameter");
  }
  const Reader<Real> reader(parameter, gradient, global_norm);
  const Entries direction = reader.matrix(rule);
  std::transform(direction.begin(), direction.end(), out,
                 [](double entry) { return static_cast<Real>(entry); });
}
template void update_direction<float>(const Expr&, MatrixView<float>, MatrixView<float>, double,
                                      float*);
template void update_direction<double>(const Expr&, MatrixView<double>, MatrixView<double>, double,
                                       double*);

bool uses_global_norm(const Expr& rule) {
  if (rule.kind() == Expr::Kind::function && rule.name() == "global_norm") return true;
  if (rule.is_number() || rule.kind() == Expr::Kind::symbol ||
      rule.kind() == Expr::Kind::constant) {
    return false;
  }
  return std::any_of(rule.operands().begin(), rule.operands().end(), uses_global_norm);
}

}  // namespace scalecalc
