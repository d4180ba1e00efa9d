#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "passes/support.hpp"
#include "scalecalc/optimizers.hpp"

/// The optimizers once more in plain loops over double, each as its paper writes it.
namespace scalecalc::passes::reference {

struct Matrix {
  std::int64_t rows = 0, columns = 0;
  Vector entries;
  double& at(std::int64_t i, std::int64_t j) {
    return entries[static_cast<std::size_t>(i * columns + j)];
  }
  double at(std::int64_t i, std::int64_t j) const {
    return entries[static_cast<std::size_t>(i * columns + j)];
  }
};
inline Matrix zeros(std::int64_t rows, std::int64_t columns) {
  return {rows, columns, Vector(static_cast<std::size_t>(rows * columns), 0.0)};
}
inline double rms(const Vector& a) {
  return norm(a) / std::sqrt(static_cast<double>(a.size()));
}

/// What is kept of one parameter between steps.
struct Kept {
  Vector m, v, row, column;
  Kept(std::int64_t rows, std::int64_t columns)
      : m(static_cast<std::size_t>(rows * columns), 0.0),
        v(m),
        row(static_cast<std::size_t>(rows), 0.0),
        column(static_cast<std::size_t>(columns), 0.0) {}
};
/// One step on one parameter: t = 1, 2, ..., the rate eta, the norm of all gradients.
struct Step {
  double t, eta, global_norm;
};
using Rule = std::function<void(const OptimizerOptions& o, const Step& s, Matrix& theta,
                                const Matrix& gradient, Kept& kept)>;

inline void sgd(const OptimizerOptions& o, const Step& s, Matrix& theta, const Matrix& g, Kept&) {
  for (std::size_t i = 0; i < g.entries.size(); ++i) {
    theta.entries[i] -= s.eta * (g.entries[i] + o.weight_decay * theta.entries[i]);
  }
}

inline void momentum(const OptimizerOptions& o, const Step& s, Matrix& theta, const Matrix& g,
                     Kept& kept, bool nesterov) {
  for (std::size_t i = 0; i < g.entries.size(); ++i) {
    const double h = g.entries[i] + o.weight_decay * theta.entries[i];
    kept.m[i] = o.momentum * kept.m[i] + h;
    theta.entries[i] -= s.eta * (nesterov ? h + o.momentum * kept.m[i] : kept.m[i]);
  }
}

/// m^ / (sqrt(v^) + eps).
inline double adam_ratio(const OptimizerOptions& o, double t, double g, double& m, double& v) {
  m = o.beta1 * m + (1.0 - o.beta1) * g;
  v = o.beta2 * v + (1.0 - o.beta2) * g * g;
  const double m_hat = m / (1.0 - std::pow(o.beta1, t)), v_hat = v / (1.0 - std::pow(o.beta2, t));
  return m_hat / (std::sqrt(v_hat) + o.eps);
}

inline void adam(const OptimizerOptions& o, const Step& s, Matrix& theta, const Matrix& g,
                 Kept& kept) {
  for (std::size_t i = 0; i < g.entries.size(); ++i) {
    const double h = g.entries[i] + o.weight_decay * theta.entries[i];
    theta.entries[i] -= s.eta * adam_ratio(o, s.t, h, kept.m[i], kept.v[i]);
  }
}

inline void adamw(const OptimizerOptions& o, const Step& s, Matrix& theta, const Matrix& g,
                  Kept& kept) {
  for (std::size_t i = 0; i < g.entries.size(); ++i) {
    theta.entries[i] *= 1.0 - s.eta * o.weight_decay;
    theta.entries[i] -= s.eta * adam_ratio(o, s.t, g.entries[i], kept.m[i], kept.v[i]);
  }
}

/// The squares so far, or an average of them.
inline void over_root(const OptimizerOptions& o, const Step& s, Matrix& theta, const Matrix& g,
                      Kept& kept, bool averages) {
  for (std::size_t i = 0; i < g.entries.size(); ++i) {
    const double h = g.entries[i] + o.weight_decay * theta.entries[i];
    kept.v[i] = averages ? o.beta2 * kept.v[i] + (1.0 - o.beta2) * h * h : kept.v[i] + h * h;
    theta.entries[i] -= s.eta * h / (std::sqrt(kept.v[i]) + o.eps);
  }
}

inline void lion(const OptimizerOptions& o, const Step& s, Matrix& theta, const Matrix& g,
                 Kept& kept) {
  for (std::size_t i = 0; i < g.entries.size(); ++i) {
    const double c = o.beta1 * kept.m[i] + (1.0 - o.beta1) * g.entries[i];
    const double sign = c > 0.0 ? 1.0 : c < 0.0 ? -1.0 : 0.0;
    theta.entries[i] -= s.eta * (sign + o.weight_decay * theta.entries[i]);
    kept.m[i] = o.beta2 * kept.m[i] + (1.0 - o.beta2) * g.entries[i];
  }
}

inline void lamb(const OptimizerOptions& o, const Step& s, Matrix& theta, const Matrix& g,
                 Kept& kept) {
  Vector u(g.entries.size());
  for (std::size_t i = 0; i < u.size(); ++i) {
    u[i] =
        adam_ratio(o, s.t, g.entries[i], kept.m[i], kept.v[i]) + o.weight_decay * theta.entries[i];
  }
  const double ratio = norm(theta.entries) > 0.0 ? norm(theta.entries) / norm(u) : 1.0;
  for (std::size_t i = 0; i < u.size(); ++i) theta.entries[i] -= s.eta * ratio * u[i];
}

inline void lars(const OptimizerOptions& o, const Step& s, Matrix& theta, const Matrix& g,
                 Kept& kept) {
  const double w = norm(theta.entries);
  const double local = w > 0.0 ? o.trust * w / (norm(g.entries) + o.weight_decay * w) : o.trust;
  for (std::size_t i = 0; i < g.entries.size(); ++i) {
    kept.m[i] =
        o.momentum * kept.m[i] + s.eta * local * (g.entries[i] + o.weight_decay * theta.entries[i]);
    theta.entries[i] -= kept.m[i];
  }
}

inline void adafactor(const OptimizerOptions& o, const Step& s, Matrix& theta, const Matrix& g,
                      Kept& kept) {
  const double beta = 1.0 - std::pow(s.t, -0.8);
  Matrix u = g;
  if (g.rows > 1 && g.columns > 1) {
    Vector rows(kept.row.size(), 0.0), columns(kept.column.size(), 0.0);
    double total = 0.0;
    for (std::int64_t i = 0; i < g.rows; ++i) {
      for (std::int64_t j = 0; j < g.columns; ++j) {
        const double square = g.at(i, j) * g.at(i, j) + o.eps_square;
        rows[static_cast<std::size_t>(i)] += square;
        columns[static_cast<std::size_t>(j)] += square;
      }
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      kept.row[i] = beta * kept.row[i] + (1.0 - beta) * rows[i];
      total += kept.row[i];
    }
    for (std::size_t j = 0; j < columns.size(); ++j) {
      kept.column[j] = beta * kept.column[j] + (1.0 - beta) * columns[j];
    }
    for (std::int64_t i = 0; i < g.rows; ++i) {
      for (std::int64_t j = 0; j < g.columns; ++j) {
        u.at(i, j) /= std::sqrt(kept.row[static_cast<std::size_t>(i)] *
                                kept.column[static_cast<std::size_t>(j)] / total);
      }
    }
  } else {
    for (std::size_t i = 0; i < u.entries.size(); ++i) {
      kept.v[i] = beta * kept.v[i] + (1.0 - beta) * (g.entries[i] * g.entries[i] + o.eps_square);
      u.entries[i] /= std::sqrt(kept.v[i]);
    }
  }
  const double clip = std::max(1.0, rms(u.entries) / o.clip_rms);
  // The caller's eta is learning_rate times the schedule's factor.
  const double factor = s.eta / o.learning_rate;
  const double rho = factor * std::min(o.learning_rate, 1.0 / std::sqrt(s.t));
  const double alpha =
      o.relative_step ? std::max(o.eps_parameter, rms(theta.entries)) * rho : s.eta;
  for (std::size_t i = 0; i < u.entries.size(); ++i)
    theta.entries[i] -= alpha * u.entries[i] / clip;
}

inline Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c = zeros(a.rows, b.columns);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < b.columns; ++j) {
      for (std::int64_t k = 0; k < a.columns; ++k) c.at(i, j) += a.at(i, k) * b.at(k, j);
    }
  }
  return c;
}
inline Matrix transposed(const Matrix& a) {
  Matrix t = zeros(a.columns, a.rows);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < a.columns; ++j) t.at(j, i) = a.at(i, j);
  }
  return t;
}
inline Matrix sum(double x, const Matrix& a, double y, const Matrix& b) {
  Matrix c = a;
  for (std::size_t i = 0; i < c.entries.size(); ++i) {
    c.entries[i] = x * a.entries[i] + y * b.entries[i];
  }
  return c;
}

/// As in the authors' code: a tall matrix is transposed first.
inline Matrix newton_schulz(const Matrix& m, int steps) {
  const bool tall = m.rows > m.columns;
  Matrix x = tall ? transposed(m) : m;
  x = sum(1.0 / norm(m.entries), x, 0.0, x);
  for (int step = 0; step < steps; ++step) {
    const Matrix a = product(x, transposed(x));
    const Matrix b = sum(-4.7750, a, 2.0315, product(a, a));
    x = sum(3.4445, x, 1.0, product(b, x));
  }
  return tall ? transposed(x) : x;
}

/// A hidden matrix; `scale` is the factor of the step by its shape.
inline void muon(const OptimizerOptions& o, const Step& s, Matrix& theta, const Matrix& g,
                 Kept& kept, double scale) {
  Matrix m = g;
  for (std::size_t i = 0; i < m.entries.size(); ++i) {
    kept.m[i] = o.momentum * kept.m[i] + g.entries[i];
    m.entries[i] = o.nesterov ? g.entries[i] + o.momentum * kept.m[i] : kept.m[i];
  }
  const Matrix step = newton_schulz(m, o.newton_schulz_steps);
  for (std::size_t i = 0; i < m.entries.size(); ++i) {
    theta.entries[i] -= s.eta * (scale * step.entries[i] + o.weight_decay * theta.entries[i]);
  }
}

inline void ngd(const OptimizerOptions& o, const Step& s, Matrix& theta, const Matrix& g, Kept&) {
  for (std::size_t i = 0; i < g.entries.size(); ++i) {
    theta.entries[i] -= s.eta * (g.entries[i] / s.global_norm + o.weight_decay * theta.entries[i]);
  }
}

}  // namespace scalecalc::passes::reference
