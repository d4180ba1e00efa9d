#include <algorithm>
#include <cmath>
#include <functional>

#include "claims/expectation.hpp"
#include "gaussian/monte_carlo/normals.hpp"
#include "gaussian/monte_carlo/tally.hpp"
#include "symbolic/functions.hpp"

namespace scalecalc::claims {
namespace {

using Kind = Expr::Kind;

constexpr std::size_t block_size = 2048;
using Block = std::vector<double>;
/// The share of all squared deviations past which the standard error is that of one draw.
constexpr double most_of_one_draw = 0.05;

/// The body over a block of draws.
class Sampler {
 public:
  explicit Sampler(std::map<std::string, Block> draws) : draws_(std::move(draws)) {}

  Block& draws(const std::string& name) { return draws_.at(name); }

  Block operator()(const Expr& expr) const {
    switch (expr.kind()) {
      case Kind::symbol: return draws_.at(expr.name());
      case Kind::number:
      case Kind::constant: return Block(block_size, evaluate(expr));
      case Kind::sum: return fold(expr, 0.0, std::plus<>());
      case Kind::product: return fold(expr, 1.0, std::multiplies<>());
      case Kind::power: return power((*this)(expr.operands()[0]), expr.operands()[1]);
      case Kind::function: break;
    }
    return call(expr);
  }

 private:
  template <class Operation>
  Block fold(const Expr& expr, double start, Operation operation) const {
    Block result(block_size, start);
    for (const Expr& operand : expr.operands()) {
      const Block block = (*this)(operand);
      std::transform(result.begin(), result.end(), block.begin(), result.begin(), operation);
    }
    return result;
  }

  Block power(Block base, const Expr& exponent) const {
    if (!exponent.is_number()) {
      const Block powers = (*this)(exponent);
      std::transform(base.begin(), base.end(), powers.begin(), base.begin(),
                     [](double a, double b) { return std::pow(a, b); });
      return base;
    }
    const double p = exponent.number().to_double();
    for (double& x : base)
      x = p == 2 ? x * x : p == -1 ? 1 / x : p == 0.5 ? std::sqrt(x) : std::pow(x, p);
    return base;
  }

  Block call(const Expr& expr) const {
    const symbolic::Function* function = symbolic::find_function(expr.name());
    if (function == nullptr || function->in_double == nullptr)
      throw NotApplicable{"no value of " + expr.name() + " to sample"};
    std::vector<Block> arguments;
    for (const Expr& operand : expr.operands()) arguments.push_back((*this)(operand));
    Block result(block_size);
    std::vector<double> values(arguments.size());
    for (std::size_t k = 0; k < block_size; ++k) {
      for (std::size_t a = 0; a < arguments.size(); ++a) values[a] = arguments[a][k];
      result[k] = function->in_double(values);
    }
    return result;
  }

  std::map<std::string, Block> draws_;
};

/// Row by row, what makes alike and equally correlated variables of independent ones.
std::vector<std::vector<double>> cholesky(std::size_t size, double correlation) {
  std::vector<std::vector<double>> rows(size, std::vector<double>(size, 0.0));
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = i == j ? 1.0 : correlation;
      for (std::size_t k = 0; k < j; ++k) sum -= rows[i][k] * rows[j][k];
      if (i == j) {
        if (sum < -1e-12)
          throw Error(ErrorKind::input, "no variables have such correlations", "",
                      "of n alike variables a correlation is at least -1/(n - 1)");
        rows[i][i] = std::sqrt(std::max(sum, 0.0));
      } else {
        rows[i][j] = rows[j][j] > 0 ? sum / rows[j][j] : 0.0;
      }
    }
  return rows;
}

struct Member {
  std::string name;
  double mean, std;
  base::Stream stream;
};
struct Group {
  std::vector<Member> members;
  std::vector<std::vector<double>> rows;
};

constexpr double most_operations = 1e10;
double size_of(const Expr& expr) {
  double size = 1;
  for (const Expr& operand : expr.operands()) size += size_of(operand);
  return size;
}

bool appears(const Expr& expr, const std::string& name) {
  return expr.contains(name);
}

std::vector<Group> groups_of(const Expr& body, const Gaussians& gaussians, Engine& engine) {
  std::map<int, Group> groups;
  for (const Gaussian& x : gaussians.variables) {
    if (!appears(body, x.name)) continue;
    const double variance = engine.value(x.variance);
    if (!(variance >= 0))
      throw Error(ErrorKind::input, "the variance of " + x.name + " is negative here");
    groups[x.group].members.push_back({x.name,
                                       engine.value(x.mean),
                                       std::sqrt(variance),
                                       {engine.options().seed, engine.next_stream()}});
  }
  std::vector<Group> result;
  for (auto& [index, group] : groups) {
    const double correlation =
        engine.value(gaussians.correlations[static_cast<std::size_t>(index)]);
    if (correlation != 0) group.rows = cholesky(group.members.size(), correlation);
    result.push_back(std::move(group));
  }
  return result;
}

void draw(const Group& group, std::uint64_t first, Sampler& sampler) {
  std::vector<Block> normals(group.members.size(), Block(block_size));
  for (std::size_t i = 0; i < normals.size(); ++i)
    gaussian::monte_carlo::fill_normals(group.members[i].stream, first, block_size,
                                        normals[i].data());
  for (std::size_t i = 0; i < normals.size(); ++i) {
    const Member& member = group.members[i];
    Block& out = sampler.draws(member.name);
    for (std::size_t n = 0; n < block_size; ++n) {
      double z = normals[i][n];
      if (!group.rows.empty()) {
        z = 0;
        for (std::size_t j = 0; j <= i; ++j) z += group.rows[i][j] * normals[j][n];
      }
      out[n] = member.mean + member.std * z;
    }
  }
}

/// Samples of an expectation that does not exist have a mean all the same: the quadrature sees it.
void check_existence(const Expr& body, const Gaussians& gaussians, Engine& engine) {
  try {
    compose_expectation(body, gaussians, *quadrature_rules(engine, false));
  } catch (const NotApplicable&) {
    return;  // of several variables: only their samples are known
  }
}

}  // namespace

Expr sampled_expectation(const Expr& body, const Gaussians& gaussians, Engine& engine) {
  const Expr numeric = engine.without_leaves(body);
  if (size_of(numeric) * static_cast<double>(engine.options().samples) > most_operations)
    throw NotApplicable{"too many operations for so many samples"};
  check_existence(numeric, gaussians, engine);
  const std::vector<Group> groups = groups_of(numeric, gaussians, engine);
  std::map<std::string, Block> draws;
  for (const Group& group : groups)
    for (const Member& member : group.members) draws.emplace(member.name, Block(block_size));
  Sampler sampler(std::move(draws));
  gaussian::monte_carlo::Tally tally;
  double largest = 0;
  const std::int64_t blocks =
      std::max<std::int64_t>(2, engine.options().samples / static_cast<std::int64_t>(block_size));
  for (std::int64_t block = 0; block < blocks; ++block) {
    for (const Group& group : groups)
      draw(group, static_cast<std::uint64_t>(block) * (block_size / 2), sampler);
    const Block values = sampler(numeric);
    gaussian::monte_carlo::Tally of_block;
    of_block.count = block_size;
    for (const double value : values) of_block.mean += value / block_size;
    for (const double value : values) {
      const double square = (value - of_block.mean) * (value - of_block.mean);
      of_block.deviations += square;
      largest = std::max(largest, square);
    }
    tally = gaussian::monte_carlo::join(tally, of_block);
  }
  if (!std::isfinite(tally.mean) || !std::isfinite(tally.deviations))
    throw NotApplicable{"the samples overflow"};
  if (engine.distrusts_few() && largest >= most_of_one_draw * tally.deviations)
    throw NotApplicable{"the spread rests on a few of the samples"};
  return engine.leaf(Estimate{tally.mean, tally.standard_error(), Method::monte_carlo});
}

}  // namespace scalecalc::claims
