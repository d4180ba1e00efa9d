#include <Eigen/Dense>
#include <cmath>
#include <cstdio>
#include <scalecalc/scalecalc.hpp>
#include <vector>

/// Eigen on both sides of the library, here compiled for another processor: the orthogonal factor
/// U V^T of one matrix by the user's own decomposition and by the library's, and a pass whose
/// products are the library's.
int main() {
  constexpr Eigen::Index n = 60;
  // Entries of size one; what is computed from them has n^2 roundings and a condition of about n.
  constexpr double tolerance = n * n * n * 2.3e-16;
  const Eigen::MatrixXd a = Eigen::MatrixXd::Random(n, n);
  const auto factor = [&a] {
    const Eigen::BDCSVD<Eigen::MatrixXd> svd(a, Eigen::ComputeThinU | Eigen::ComputeThinV);
    return Eigen::MatrixXd(svd.matrixU() * svd.matrixV().transpose());
  };
  const Eigen::MatrixXd before = factor();
  const Eigen::MatrixXd by_rows = a.transpose();
  std::vector<double> theirs(n * n);
  const scalecalc::MatrixView<double> view{by_rows.data(), n, n};
  scalecalc::update_direction(scalecalc::parse("orthogonal(g)"), view, view, 0.0, theirs.data());
  const Eigen::Map<const Eigen::MatrixXd> transposed(theirs.data(), n, n);
  const double apart = (transposed.transpose() - before).cwiseAbs().maxCoeff();

  scalecalc::ModelSpec spec = scalecalc::default_spec(scalecalc::ModelSpec::Kind::transformer);
  spec.layers = 2;
  spec.init.distribution = scalecalc::Distribution::orthogonal;
  const scalecalc::Network network = scalecalc::build_network(spec);
  scalecalc::Passes<float> single(network, {});
  scalecalc::Passes<double> twofold(network, {});
  const double loss = twofold.loss(), shift = std::fabs(single.loss() / loss - 1.0);

  const double again = (factor() - before).cwiseAbs().maxCoeff();
  std::printf("apart by %g, then by %g; loss %g, in float off by %g\n", apart, again, loss, shift);
  return apart < tolerance && again == 0.0 && shift < 1e-4 ? 0 : 1;
}
