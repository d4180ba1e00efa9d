#include <algorithm>

#include "base/text.hpp"
#include "symbolic/canonical.hpp"

namespace scalecalc {
namespace {

/// product of unknown^exponent = right, for every row: the logarithm of a row is linear.
struct Row {
  std::vector<Rational> exponents;
  Expr right;
};

PowerLaw monomial(const Expr& side, const std::vector<std::string>& unknowns) {
  const std::optional<PowerLaw> law = power_law(side, unknowns);
  if (law && !law->coefficient.is_zero()) return *law;
  std::string names;
  for (const std::string& name : unknowns) names += (names.empty() ? "" : ", ") + name;
  throw Error(ErrorKind::input, "not a monomial in " + names, base::shortened(to_string(side)),
              "each side is a coefficient times powers of the unknowns");
}

Row make_row(const Expr& left, const Expr& right, const std::vector<std::string>& unknowns) {
  const PowerLaw above = monomial(left, unknowns), below = monomial(right, unknowns);
  Row row;
  for (const std::string& name : unknowns) {
    const auto top = above.exponents.find(name), bottom = below.exponents.find(name);
    row.exponents.push_back((top == above.exponents.end() ? Rational(0) : top->second) -
                            (bottom == below.exponents.end() ? Rational(0) : bottom->second));
  }
  row.right = below.coefficient / above.coefficient;
  return row;
}

bool is_negative(const Expr& value) {
  return symbolic::signs_of(value) == symbolic::sign::negative;
}

/// row -= factor * pivot, in logarithms.
void eliminate(Row& row, const Row& pivot, const Rational& factor) {
  for (std::size_t k = 0; k < row.exponents.size(); ++k) {
    row.exponents[k] = row.exponents[k] - factor * pivot.exponents[k];
  }
  row.right = row.right / pow(pivot.right, factor);
}

/// Gauss and Jordan; returns the unknown that each leading row determines.
std::vector<std::size_t> reduce(std::vector<Row>& rows, std::size_t unknowns) {
  std::vector<std::size_t> pivots;
  for (std::size_t column = 0; column < unknowns && pivots.size() < rows.size(); ++column) {
    const auto first = rows.begin() + static_cast<std::ptrdiff_t>(pivots.size());
    const auto found = std::find_if(
        first, rows.end(), [&](const Row& row) { return !row.exponents[column].is_zero(); });
    if (found == rows.end()) continue;
    std::iter_swap(first, found);
    const Rational scale = Rational(1) / first->exponents[column];
    for (Rational& exponent : first->exponents) exponent = exponent * scale;
    first->right = pow(first->right, scale);
    for (Row& row : rows) {
      if (&row != &*first && !row.exponents[column].is_zero()) {
        eliminate(row, *first, Rational(row.exponents[column]));
      }
    }
    pivots.push_back(column);
  }
  return pivots;
}

bool is_one(const Expr& value) {
  return value.is_one() || equal(value, 1).verdict == Equality::Verdict::equal;
}

}  // namespace

MonomialSolution solve(const MonomialSystem& system) {
  MonomialSolution solution;
  std::vector<Row> rows;
  for (const auto& [left, right] : system.equations) {
    rows.push_back(make_row(left, right, system.unknowns));
    solution.matrix.push_back(rows.back().exponents);
  }
  for (Row& row : rows) {
    if (!is_negative(row.right)) continue;
    solution.status = MonomialSolution::Status::inconsistent;
    solution.contradiction = -1;  // a product of positive numbers with a negative value
    return solution;
  }
  const std::vector<std::size_t> pivots = reduce(rows, system.unknowns.size());
  for (std::size_t k = pivots.size(); k < rows.size(); ++k) {
    if (is_one(rows[k].right)) continue;
    solution.status = MonomialSolution::Status::inconsistent;
    solution.contradiction = rows[k].right;
    return solution;
  }
  for (std::size_t k = 0; k < system.unknowns.size(); ++k) {
    if (std::find(pivots.begin(), pivots.end(), k) == pivots.end()) {
      solution.free.push_back(system.unknowns[k]);
    }
  }
  if (!solution.free.empty()) {
    solution.status = MonomialSolution::Status::underdetermined;
    return solution;
  }
  for (std::size_t k = 0; k < pivots.size(); ++k) {
    solution.values[system.unknowns[pivots[k]]] = rows[k].right;
  }
  return solution;
}

}  // namespace scalecalc
