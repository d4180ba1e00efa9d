#include "transfer/update_size.hpp"

namespace scalecalc {
namespace {

/// A part of a rule: a matrix, or a factor common to all of its entries.
struct Part {
  UpdateSize size;
  bool is_matrix = false;
};

class Sizes {
 public:
  Sizes(const Expr& rule, const UpdateInputs& inputs, const std::string& where)
      : rule_(rule), in_(inputs), where_(where) {}

  UpdateSize run() const {
    const Part part = of(rule_);
    if (!part.is_matrix) throw refusal("is no matrix: it has one value for all entries");
    return part.size;
  }

 private:
  Part of(const Expr& expr) const {
    switch (expr.kind()) {
      case Expr::Kind::number:
      case Expr::Kind::constant: return factor(0);
      case Expr::Kind::symbol: return symbol(expr.name());
      case Expr::Kind::sum: return sum(expr.operands());
      case Expr::Kind::product: return product(expr.operands());
      case Expr::Kind::power: return power(expr.operands()[0], expr.operands()[1]);
      case Expr::Kind::function: break;
    }
    return function(expr.name(), expr.operands());
  }

  static Part factor(const Rational& value) { return {{value, value, value}, false}; }
  /// A matrix of rank one in scaling.
  Part aligned(const Rational& entry) const {
    const Rational norm = entry + (in_.fan_in + in_.fan_out) * half;
    return {{entry, norm + in_.columns * half, norm}, true};
  }

  Part symbol(const std::string& name) const {
    if (name == "g") return aligned(in_.gradient);
    if (name == "fan_in") return factor(in_.fan_in);
    if (name == "fan_out") return factor(in_.fan_out + in_.columns);
    if (name != "theta") throw refusal("has a symbol without a size, " + name);
    return {{in_.parameter, in_.parameter + (in_.fan_in + in_.fan_out + in_.columns) * half,
             in_.parameter + larger(in_.fan_in, in_.fan_out) * half},
            true};
  }

  Part sum(const std::vector<Expr>& terms) const {
    Part total = of(terms.front());
    for (std::size_t i = 1; i < terms.size(); ++i) {
      const Part term = of(terms[i]);
      total.is_matrix = total.is_matrix || term.is_matrix;
      total.size = {larger(total.size.entry, term.size.entry),
                    larger(total.size.frobenius, term.size.frobenius),
                    larger(total.size.singular, term.size.singular)};
    }
    return total;
  }

  Part product(const std::vector<Expr>& factors) const {
    Part total = factor(0);
    for (const Expr& each : factors) {
      const Part part = of(each);
      if (part.is_matrix && total.is_matrix) {  // by entry
        total = aligned(total.size.entry + part.size.entry);
      } else {
        total = {{total.size.entry + part.size.entry, total.size.frobenius + part.size.frobenius,
                  total.size.singular + part.size.singular},
                 total.is_matrix || part.is_matrix};
      }
    }
    return total;
  }

  Part power(const Expr& base, const Expr& exponent) const {
    if (!exponent.is_number()) throw refusal("has a power that is no number");
    const Part part = of(base);
    const Rational value = part.size.entry * exponent.number();
    return part.is_matrix ? aligned(value) : factor(value);
  }

  Part function(const std::string& name, const std::vector<Expr>& arguments) const {
    const Part part = of(arguments.front());
    if (name == "sign") return part.is_matrix ? aligned(0) : factor(0);
    if (name == "abs") return part;
    if (name == "norm") return factor(part.size.frobenius);
    if (name == "rms") return factor(part.size.entry);
    if (name == "global_norm") return factor(in_.global_norm);
    if (name == "orthogonal" && !part.is_matrix)
      throw refusal("has the orthogonal factor of what is no matrix");
    if (name == "orthogonal") return orthogonal();
    if (name == "shampoo") return preconditioned(part, arguments);
    if (name == "max" || name == "min") {
      const Part other = of(arguments[1]);
      const auto& chosen = name == "max" ? larger : smaller;
      const Rational entry = chosen(part.size.entry, other.size.entry);
      return part.is_matrix || other.is_matrix ? aligned(entry) : factor(entry);
    }
    throw refusal("has a function without a size, " + name);
  }

  /// All min(m, n) singular values are 1.
  Part orthogonal() const {
    return {{-(larger(in_.fan_in, in_.fan_out) * half),
             (smaller(in_.fan_in, in_.fan_out) + in_.columns) * half, 0},
            true};
  }

  /// L^-a G R^-b with L = G G^T, R = G^T G: the one singular value s becomes s^(1 - 2 a - 2 b).
  Part preconditioned(const Part& gradient, const std::vector<Expr>& arguments) const {
    const Rational powers = (arguments[1].number() + arguments[2].number()) * Rational(2);
    return aligned(gradient.size.entry - powers * gradient.size.singular);
  }

  Error refusal(const std::string& why) const {
    return {
        ErrorKind::input, "the update rule " + to_string(rule_) + " " + why, where_,
        "use sums, products and powers of g, theta, fan_in, fan_out, with sign, abs, norm, rms, "
        "max, min, orthogonal and global_norm"};
  }

  const Expr& rule_;
  const UpdateInputs& in_;
  const std::string& where_;
};

}  // namespace

const Rational& larger(const Rational& a, const Rational& b) {
  return a < b ? b : a;
}
const Rational& smaller(const Rational& a, const Rational& b) {
  return b < a ? b : a;
}

UpdateSize update_size(const Expr& rule, const UpdateInputs& inputs, const std::string& where) {
  return Sizes(rule, inputs, where).run();
}

UpdatePowers update_powers(const Expr& rule, const std::string& where) {
  const auto entry = [&](const Rational& gradient, const Rational& parameter,
                         const Rational& norm) {
    return update_size(rule, {0, 0, gradient, parameter, norm}, where).entry;
  };
  const Rational none = entry(0, 0, 0);
  UpdatePowers powers{entry(1, 0, 1) - none, entry(0, 1, 0) - none, entry(0, 0, 1) - none};
  // A sum or a maximum of terms of other powers is one of them here and another one there.
  for (const int gradient : {-1, 0, 1})
    for (const int parameter : {-1, 0, 1})
      powers.everywhere = powers.everywhere && entry(gradient, parameter, gradient) ==
                                                   none + powers.gradient * Rational(gradient) +
                                                       powers.parameter * Rational(parameter);
  return powers;
}

}  // namespace scalecalc
