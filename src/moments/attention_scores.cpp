#include "moments/attention_scores.hpp"

#include <cmath>
#include <limits>
#include <optional>

#include "moments/averaged_rows.hpp"
#include "moments/condensed_softmax.hpp"
#include "moments/head_lengths.hpp"
#include "moments/key_sizes.hpp"
#include "moments/omitted_scores.hpp"

namespace scalecalc::moments {
namespace {

/// Beyond, single precision holds no difference of two scores.
constexpr double kLargestVariance = 1e12;

/// Dv without dropout, relative to what it is with it.
double plain_share(double plain, double kept) {
  return kept > 0 ? plain / kept : 1;
}

double square_excess(double square, double mean) {
  return std::max(square - mean * mean, 0.0);
}

/// Of what other layers' scores add, the input of this one knows nothing.
template <class X>
double own_share(const ScoreInputs<double, X>& inputs) {
  return inputs.sum ? inputs.sum->own_share : 1;
}

void add_bends(const SoftmaxOrders& row, double tau2, Scores& scores) {
  const auto bend = [&](double second, double of) {
    return of > 0 ? tau2 * tau2 * std::fabs(second) / of : 0;
  };
  scores.p2_bend = bend(row.p2_curvature, row.p2);
  scores.a_bend = bend(row.a_curvature, row.a);
}

Eigen::ArrayXXd correlations(const PerPosition& x) {
  return cosines<Numbers>(x).cross.max(-1.0).min(1.0);
}

/// What is left of D as a difference of doubles, in units of it.
template <class X>
double rounded(const X& x) {
  constexpr double steps = 16, most = 1e6;
  const Alike<double> mean = average(x);
  const double apart = mean.second - mean.cross;
  const double lost = steps * std::numeric_limits<double>::epsilon() * std::fabs(mean.second);
  return apart > 0 ? std::min(lost / apart, most) : most;
}

/// With what rotation makes of it, in one row and in two.
Smallness of_row(Smallness small, double own, double heads) {
  small.own = own;
  small.heads = heads / static_cast<double>(small.head_width);
  return small;
}
Smallness of_row(const Smallness& small, const Rotation<Alike<double>>* rotation) {
  return rotation ? of_row(small, rotation->own.second, rotation->heads.second) : small;
}
Smallness of_row(const Smallness& small, const Rotation<PerPosition>* rotation, Eigen::Index t) {
  return rotation ? of_row(small, rotation->own.second[t], rotation->heads.second[t]) : small;
}
Smallness of_rows(const Smallness& small, const Rotation<Alike<double>>* rotation) {
  return rotation ? of_row(small, rotation->own.cross, rotation->heads.second) : small;
}
Smallness of_rows(const Smallness& small, const Rotation<PerPosition>* rotation, Eigen::Index t,
                  Eigen::Index u) {
  return rotation ? of_row(small, rotation->own.cross(t, u), rotation->heads.second[t]) : small;
}

/// Of the variance of p.p', what rows have in common and centred overlaps have not: of rows whose
/// scores correlate by c it is 1 + c^2 for small tau2, and (1 - c)^2 about their mean.
double share_of_mean(double c) {
  return 2 * c / (1 + c * c);
}

/// Of one row: P22 = t2 - 1 + 2 P2.
double p2_variance(const SoftmaxOrders& row) {
  return square_excess(row.t2 - 1 + 2 * row.p2, row.p2);
}

/// Of different keys, over all rows.
double key_cosine(const KeyMeans<PerPosition>& source) {
  const Alike<double> same = average(source.same), other = average(source.other);
  return same.second > 0 ? std::clamp(other.second / same.second, -1.0, 1.0) : 1;
}

}  // namespace

void check_scores(const Attention& layer, double tau2) {
  if (tau2 <= kLargestVariance) return;
  throw Error(
      ErrorKind::input, fmt::format("attention scores of variance {:.3g}", tau2), layer.path,
      fmt::format("at most {:.0e}: smaller q and k weights, or a smaller scale", kLargestVariance));
}

/// 1 - c_q = gain_q D/m_q and Dk = gain_k D, for keys and queries of the same tokens.
ScoreLine score_line(const ScoreInputs<double, Alike<double>>& inputs, double gain_q,
                     double gain_k) {
  ScoreLine line;
  line.keys = inputs.source.tokens;
  if (inputs.sum) {
    line.scale = inputs.sum->covariance.second;
    line.base = 1;
    return line;
  }
  const double q = inputs.q.second;
  const bool moves =
      !inputs.layer.over_memory && !inputs.layer.qk_norm && !inputs.rotation && gain_q > 0 && q > 0;
  if (moves) {
    line.scale = inputs.score_scale * q * q * gain_k / gain_q;
    line.ratio = 1;
  } else {
    line.scale = inputs.score_scale * q * inputs.apart_k.second;
    line.base = 1;
  }
  return line;
}

Factors<Alike<double>> next_factors(const ScoreInputs<double, Alike<double>>& inputs,
                                    const SoftmaxAverages& at_mean, double tau2,
                                    const RowPair& rows, EqualPairLengths* pair_lengths,
                                    Scores& scores) {
  const bool averages_lengths = pair_lengths != nullptr;
  Smallness plain = smallness(inputs);
  plain.averaged = averages_lengths;
  Smallness small = of_row(plain, inputs.rotation);
  Smallness both_rows = of_rows(plain, inputs.rotation);
  small.repeats = repeats_of(inputs.source, small, static_cast<double>(inputs.source.tokens),
                             at_mean.one.p2, 1);
  both_rows.repeats = repeats_of(inputs.source, both_rows,
                                 static_cast<double>(inputs.source.tokens), at_mean.one.p2, rows.c);
  const Alike<double>& x = inputs.source.x;
  const double cosine = x.second > 0 ? x.cross / x.second : 1;
  const double c = rows.c, tokens = static_cast<double>(inputs.source.tokens);
  const double share = plain_share(inputs.plain_apart_v.second, inputs.apart_v.second);
  SoftmaxAverages averages = at_mean;
  RowFactors<double> row;
  double of_queries = rows.cosine, along = 0;
  bool with_pairs = false;
  if (averages_lengths) {
    const HeadLengths lengths(small.head_width);
    const AveragedRow averaged = averaged_row(lengths, tokens, tau2, cosine, share, small);
    row = averaged.factors;
    averages.one = averaged.orders;
    along = along_queries(at_mean.one, small);
    with_pairs = averages_pairs(lengths, small, tau2, 1, inputs.rotation == nullptr);
    if (with_pairs) {
      const double turned = rows.cosine != 0 ? c / rows.cosine : 1;
      const AveragedPair two = average_pair(*pair_lengths, lengths, small, tokens, tau2, cosine,
                                            rows.cosine, turned, averages.two);
      averages.two = two.overlaps;
      of_queries = two.cosine;
      along = two.along;
      row.omitted_value += two.omitted;
      row.omitted_score += two.omitted;
    }
  } else {
    row = row_factors(averages.one, tau2, cosine, share, small);
    along = along_queries(averages.one, small);
  }
  both_rows.averaged = with_pairs;
  const double rest = 1 - averages.one.p2;
  PairFactors<double> pair = pair_factors(averages.two, tau2, c, of_queries, averages.one.m2,
                                          rest * rest, along, both_rows);
  // At c = 1 two rows are one, and what one row has besides is theirs; of two, by c^2.
  const SoftmaxOrders& base = with_pairs ? averages.one : at_mean.one;
  if (base.p2 > 0) {
    const double shared = c * c * averages.two.overlap / base.p2;
    const double own = row.mix - base.p2 -
                       (base.m2 - base.p2) * small.added * small.own * small.overlap * small.values;
    pair.mix = std::min(pair.mix + shared * own, row.mix);
    pair.value = std::min(pair.value + shared * (row.value - base.p2), row.value);
    if (averages_lengths && !with_pairs)
      pair.omitted_value += (1 - c * c) * c * c * std::fabs(row.value / base.p2 - 1);
  }
  const double of_sizes = add_key_sizes(small, cosine, tokens, tau2, 1 - c * c,
                                        averages.two.overlap, row, pair, scores);
  const double m = inputs.input.x.second, own_tau2 = own_share(inputs) * tau2;
  scores.p2_variance = p2_variance(averages.one);
  scores.p2_growth = averages.one.p2 > 0 ? own_tau2 * averages.one.p2_slope : 0;
  const double follows = inputs.rotation ? inputs.rotation->rows.cross : 1;
  const double of_features = std::max(0.0, 1 + along);
  scores.overlap_slope = m > 0 ? follows * own_tau2 * averages.two.a_prime * of_features / m : 0;
  scores.centred_slope = scores.overlap_slope * (m - inputs.input.x.cross);
  scores.overlap_variance = of_sizes * square_excess(averages.two.square, averages.two.overlap);
  scores.mean_overlap = scores.overlap_variance * share_of_mean(c);
  scores.error = averages.two.error;
  scores.truncation = std::max(row.omitted_score, pair.omitted_score) +
                      omitted_overlaps(averages.one, tau2, small) + rounded(inputs.source.x);
  scores.truncation += condensed_error(tokens, tau2);
  scores.rows_variance = rows_variance(averages.one, tau2, c);
  add_bends(averages.one, tau2, scores);
  const double repeats = omitted_repeats(inputs.source, tau2, averages.one.p2, small);
  scores.mix_truncation = std::max(row.omitted_value, pair.omitted_value) + repeats;
  scores.truncation += repeats;
  scores.bias_truncation = std::max(row.omitted_score, pair.omitted_score) + scores.mix_truncation;
  scores.values_truncation = omitted_values(tau2, small);
  scores.feedback_truncation = omitted_feedback(averages.one, small);
  if (inputs.rotation) add_omitted_rotation(inputs.rotation->structure.second, tau2, scores);
  const auto both = [](double second, double cross) { return Alike<double>{0, second, cross, 0}; };
  const double heads = static_cast<double>(inputs.layer.heads);
  const FeedbackFactors own = row_feedback(averages.one, tau2, tokens, heads, small);
  const FeedbackFactors two = pair_feedback(averages.two, averages.one, averages.one, own, own,
                                            tau2, c, tokens, heads, both_rows);
  return {both(row.mix, pair.mix),
          both(row.value, pair.value),
          both(row.query, pair.query),
          both(row.key, pair.key),
          both(0, pair.query_weight),
          both(row.key_weight, pair.key_weight),
          both(row.value_weight, pair.value_weight),
          {both(own.mix, two.mix), both(own.values, two.values), both(own.query, two.query),
           both(own.key, two.key), both(own.key, two.key), both(own.score, two.score)},
          both(0, averages.two.a_prime),
          both(row.score, pair.score)};
}

RowScores row_scores(const ScoreInputs<double, PerPosition>& inputs) {
  const PerPosition& q = inputs.q;
  RowScores rows;
  rows.tau2 = inputs.sum ? inputs.sum->covariance.second
                         : Eigen::ArrayXd(inputs.score_scale * q.second * inputs.apart_k.second);
  rows.c = correlations(inputs.sum ? inputs.sum->covariance : q);
  if (inputs.rotation && !inputs.sum) rows.c *= inputs.rotation->rows.cross;
  const KeyWeights* const weights = inputs.counts.weights.get();
  for (Eigen::Index j = 0; j < q.positions->at.size(); ++j)
    rows.keys.push_back(weights                ? std::max(1.0, 1 / weights->overlap()(j, j))
                        : inputs.row_keys      ? (*inputs.row_keys)[static_cast<std::size_t>(j)]
                        : inputs.counts.causal ? q.positions->at[j] + 1.0
                                               : static_cast<double>(inputs.source.tokens));
  return rows;
}

Factors<PerPosition> next_factors(const ScoreInputs<double, PerPosition>& inputs,
                                  const RowScores& rows, RowAverages averages,
                                  bool averages_lengths, int threads, Scores& scores) {
  Smallness small = smallness(inputs);
  small.averaged = averages_lengths;
  const PerPosition blank = without_means(inputs.q);
  Factors<PerPosition> out{blank, blank, blank, blank,
                           blank, blank, blank, {blank, blank, blank, blank, blank, blank},
                           blank, blank};
  PerPosition row_fluctuation = blank, pair_fluctuation = blank, mean_fluctuation = blank;
  double omitted_value = 0, omitted_score = 0;
  const double heads = static_cast<double>(inputs.layer.heads);
  std::vector<FeedbackFactors> echoes;
  const Eigen::Index size = inputs.q.second.size();
  const double m = average(inputs.input.x).second, own = own_share(inputs);
  Eigen::ArrayXXd query_cosines = correlations(inputs.q);
  const Rotation<PerPosition>* const rotation = inputs.rotation;
  std::optional<HeadLengths> lengths;
  if (averages_lengths) lengths.emplace(small.head_width);
  const bool with_pairs =
      averages_lengths && averages_pairs(*lengths, small, rows.tau2.maxCoeff(), size, false);
  Eigen::ArrayXXd along(size, size);
  for (Eigen::Index t = 0; t < size; ++t) {
    const double of_row = along_queries(averages.one[static_cast<std::size_t>(t)], small);
    along.row(t).tail(size - t) = along.col(t).tail(size - t) = of_row;
  }
  if (with_pairs)
    omitted_score = omitted_value = average_pairs(*lengths, rows, key_cosine(inputs.source_means),
                                                  small, threads, query_cosines, along, averages);
  std::vector<Smallness> smalls;
  for (Eigen::Index t = 0; t < size; ++t) {
    smalls.push_back(small);
    const bool kinds = inputs.q.positions->kinds;
    if (!(inputs.counts.causal || kinds) || rotation || inputs.counts.weights) continue;
    const PerPosition& tokens = inputs.values ? *inputs.values : inputs.source.x;
    const PerPosition& seen = inputs.normed_keys ? *inputs.normed_keys : inputs.source.x;
    const Eigen::Index last = kinds ? size - 1 : t;
    const KeyStructure keys = key_structure(tokens, seen, last);
    smalls.back().structure = keys.pairs;
    smalls.back().uneven = keys.keys;
    if (inputs.normed_keys)
      smalls.back().key_structure = std::max(0.0, key_structure(seen, seen, last).pairs);
  }
  for (Eigen::Index t = 0; t < size; ++t) {
    SoftmaxOrders& one = averages.one[static_cast<std::size_t>(t)];
    const double keys = rows.keys[static_cast<std::size_t>(t)];
    const KeyMeans<PerPosition>& source = inputs.source_means;
    const double same = source.same.second[t];
    const double cosine = same > 0 ? source.other.second[t] / same : 1;
    const double share = plain_share(inputs.plain_apart_v.second[t], inputs.apart_v.second[t]);
    Smallness of_this = of_row(smalls[static_cast<std::size_t>(t)], rotation, t);
    of_this.repeats = repeats_of(inputs.source, of_this, keys, one.p2, 1);
    RowFactors<double> row;
    if (lengths) {
      const AveragedRow averaged =
          averaged_row(*lengths, keys, rows.tau2[t], cosine, share, of_this);
      row = averaged.factors;
      one = averaged.orders;
    } else {
      row = row_factors(one, rows.tau2[t], cosine, share, of_this);
    }
    omitted_value = std::max(omitted_value, row.omitted_value);
    omitted_score = std::max(omitted_score, row.omitted_score);
    out.mix.second[t] = row.mix;
    out.value.second[t] = row.value;
    out.query.second[t] = row.query;
    out.key.second[t] = row.key;
    out.key_weight.second[t] = row.key_weight;
    out.value_weight.second[t] = row.value_weight;
    out.score.second[t] = row.score;
    echoes.push_back(row_feedback(one, rows.tau2[t], keys, heads, of_row(small, rotation, t)));
    out.feedback.mix.second[t] = echoes.back().mix;
    out.feedback.values.second[t] = echoes.back().values;
    out.feedback.query.second[t] = echoes.back().query;
    out.feedback.key.second[t] = echoes.back().key;
    out.feedback.score.second[t] = echoes.back().score;
    row_fluctuation.second[t] = p2_variance(one);
    row_fluctuation.mean[t] = own * rows.tau2[t] * one.p2_slope;
  }
  const auto factors_of = [&](Eigen::Index t, Eigen::Index u, double tau2) {
    const SoftmaxOrders &one = averages.one[static_cast<std::size_t>(t)],
                        &other = averages.one[static_cast<std::size_t>(u)];
    Smallness both = smalls[static_cast<std::size_t>(std::min(t, u))];
    both.averaged = with_pairs;
    both = of_rows(both, rotation, t, u);
    const double keys =
        std::sqrt(rows.keys[static_cast<std::size_t>(t)] * rows.keys[static_cast<std::size_t>(u)]);
    both.repeats =
        repeats_of(inputs.source, both, keys, std::sqrt(one.p2 * other.p2), rows.c(t, u));
    return pair_factors(averages.pair(t, u), tau2, rows.c(t, u), query_cosines(t, u),
                        std::sqrt(one.m2 * other.m2), (1 - one.p2) * (1 - other.p2), along(t, u),
                        both);
  };
  const auto put = [&](Eigen::Index t, Eigen::Index u, const PairFactors<double>& pair) {
    out.mix.cross(t, u) = pair.mix;
    out.value.cross(t, u) = pair.value;
    out.query.cross(t, u) = pair.query;
    out.key.cross(t, u) = pair.key;
    out.query_weight.cross(t, u) = pair.query_weight;
    out.score.cross(t, u) = pair.score;
    out.key_weight.cross(t, u) = pair.key_weight;
    out.value_weight.cross(t, u) = pair.value_weight;
    omitted_value = std::max(omitted_value, pair.omitted_value);
    omitted_score = std::max(omitted_score, pair.omitted_score);
  };
  const auto put_both = [](PerPosition& x, Eigen::Index t, Eigen::Index u, double value) {
    x.cross(t, u) = x.cross(u, t) = value;
  };
  for (Eigen::Index t = 0; t < size; ++t) {
    const SoftmaxOrders& one = averages.one[static_cast<std::size_t>(t)];
    const double keys = rows.keys[static_cast<std::size_t>(t)];
    for (Eigen::Index u = 0; u <= t; ++u) {
      const SoftmaxOverlaps& two = averages.pair(t, u);
      const double tau2 = std::sqrt(rows.tau2[t] * rows.tau2[u]);
      const PairFactors<double> pair = factors_of(t, u, tau2);
      put(t, u, pair);
      // Rotation tells a pair's first row from its second.
      if (u < t) put(u, t, rotation ? factors_of(u, t, tau2) : pair);
      const FeedbackFactors feedback =
          pair_feedback(two, one, averages.one[static_cast<std::size_t>(u)],
                        echoes[static_cast<std::size_t>(t)], echoes[static_cast<std::size_t>(u)],
                        tau2, rows.c(t, u), keys, heads, of_rows(small, rotation, t, u));
      put_both(out.feedback.mix, t, u, feedback.mix);
      put_both(out.feedback.values, t, u, feedback.values);
      put_both(out.feedback.query, t, u, feedback.query);
      put_both(out.feedback.key, t, u, feedback.key);
      put_both(out.feedback.score, t, u, feedback.score);
      put_both(row_fluctuation, t, u,
               own * tau2 * two.a_prime * std::max(0.0, 1 + along(t, u)) / m);
      put_both(pair_fluctuation, t, u, square_excess(two.square, two.overlap));
      put_both(mean_fluctuation, t, u, pair_fluctuation.cross(t, u) * share_of_mean(rows.c(t, u)));
      put_both(out.slope, t, u, two.a_prime);
      scores.error = std::max<double>(scores.error, two.error);
    }
  }
  out.feedback.key_weight = out.feedback.key;
  if (rotation) row_fluctuation.cross *= rotation->rows.cross;
  const double of_sizes = add_key_sizes(small, key_cosine(inputs.source_means), rows, out, scores);
  const Eigen::ArrayXd roots = out.mix.second.max(0).sqrt();
  out.mix.cross = out.mix.cross.min((roots.matrix() * roots.matrix().transpose()).array());
  const Alike<double> fluctuation = average(row_fluctuation);
  scores.p2_variance = fluctuation.second;
  scores.p2_growth = fluctuation.mean;
  scores.overlap_slope = m > 0 ? fluctuation.cross : 0;
  scores.centred_slope = scores.overlap_slope * (m - average(inputs.input.x).cross);
  scores.overlap_variance = of_sizes * average(pair_fluctuation).cross;
  scores.mean_overlap = average(mean_fluctuation).cross;
  const Positions& positions = *inputs.q.positions;
  const double grid = interpolation_error(positions);
  const Smallness last = of_row(small, rotation, size - 1);
  scores.truncation = omitted_score +
                      omitted_overlaps(averages.one.back(), rows.tau2[size - 1], last) + grid +
                      rounded(inputs.source.x);
  scores.truncation += condensed_error(rows.keys.back(), rows.tau2.maxCoeff());
  scores.rows_variance = rows_variance(averages.one.back(), rows.tau2[size - 1],
                                       size > 1 ? rows.c(size - 1, size - 2) : 1);
  add_bends(averages.one.back(), rows.tau2[size - 1], scores);
  const double repeats =
      omitted_repeats(inputs.source, rows.tau2.maxCoeff(), averages.one.back().p2, last);
  scores.mix_truncation = omitted_value + grid + repeats;
  const bool unlike = inputs.counts.causal ? !inputs.counts.weights : positions.kinds;
  if (unlike && inputs.normed_keys == nullptr) {
    std::vector<double> p2;
    for (const SoftmaxOrders& one : averages.one) p2.push_back(one.p2);
    const OmittedSizes sizes = omitted_sizes(inputs.source.x, rows.tau2, p2, inputs.counts.causal);
    scores.mix_truncation += sizes.row;
    scores.overlap_truncation += sizes.pair;
  }
  scores.truncation += repeats;
  scores.bias_truncation = omitted_score + grid + repeats;
  scores.values_truncation = omitted_values(rows.tau2.maxCoeff(), small);
  scores.feedback_truncation = omitted_feedback(averages.one.back(), small);
  if (rotation) scores.truncation += half_cell_error(positions);
  if (inputs.counts.weights) {
    // Of weights that fall from a query on a step leaves as much of what one key gets, and its
    // square of sums over keys.
    scores.mix_truncation += positions.step * positions.step;
    scores.truncation += positions.step;
    scores.grid_truncation = positions.step;
  }
  if (rotation)
    add_omitted_rotation(rotation->structure.second[size - 1], rows.tau2[size - 1], scores);
  return out;
}

}  // namespace scalecalc::moments
