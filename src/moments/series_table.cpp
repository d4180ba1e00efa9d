#include "moments/series_table.hpp"

#include <algorithm>
#include <cmath>

#include "gaussian/quadrature/hermite.hpp"

namespace scalecalc::moments {

SeriesTable::SeriesTable(const std::vector<PairFunction>& functions) : limit_(1) {
  for (std::size_t k = 0; k < functions.size(); ++k) {
    const std::vector<double>& series = functions[k].coefficients();
    if (series.size() > coefficients_.size()) coefficients_.resize(series.size(), Values{});
    for (std::size_t n = 0; n < series.size(); ++n) coefficients_[n][k] = series[n];
    limit_ = std::min(limit_, functions[k].series_limit());
  }
}

SeriesTable::Values SeriesTable::operator()(double c) const {
  Values sum{};
  for (std::size_t n = gaussian::quadrature::series_terms_at(std::fabs(c), coefficients_.size());
       n-- > 0;)
    for (std::size_t k = 0; k < width; ++k) sum[k] = sum[k] * c + coefficients_[n][k];
  return sum;
}

}  // namespace scalecalc::moments
