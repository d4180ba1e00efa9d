#include <algorithm>
#include <array>

#include "tensor/attention_index.hpp"
#include "tensor/cpu/cpu_device.hpp"
#include "tensor/cpu/parallel.hpp"
#include "tensor/cpu/product.hpp"
#include "tensor/cpu/scratch.hpp"
#include "tensor/dropout_rule.hpp"

namespace scalecalc::tensor {
namespace {

/// body(head, whether it is the first of its key head) for all heads of all sequences; those that
/// share a key head follow one another in one tile, so that they may add to the same gradient.
template <class Body>
void for_heads(int threads, const AttentionShape& s, const Body& body) {
  const std::int64_t group = heads_per_key(s);
  for_tiles(threads, s.sequences * s.key_heads(), [&](std::int64_t tile) {
    const std::int64_t sequence = tile / s.key_heads(), first = tile % s.key_heads() * group;
    for (std::int64_t head = first; head < first + group; ++head) {
      body(Head(s, sequence, head), head == first);
    }
  });
}

/// Rows of the weights that are made at a time.
constexpr std::int64_t kRows = 64;

/// The first rows of a block of a head's weights, and how many keys some row of it sees.
struct Block {
  std::int64_t row, rows, keys;
};
template <class Body>
void for_blocks(const AttentionShape& s, const Body& body) {
  for (std::int64_t row = 0; row < s.tokens; row += kRows) {
    const std::int64_t rows = std::min(kRows, s.tokens - row);
    body(Block{row, rows, keys_seen(s, row + rows - 1)});
  }
}

/// Softmax of the first `n` scores in place, the rest, which the mask hides, becomes 0. Returns
/// ln of the sum of e^score.
template <class Real>
Real softmax_row(Real* row, std::int64_t n, std::int64_t keys) {
  RowMap<Real> seen(row, n);
  const Real top = seen.maxCoeff();
  seen = (seen - top).exp();
  const Real sum = seen.sum();
  seen /= sum;
  std::fill(row + n, row + keys, Real(0));
  return top + std::log(sum);
}
/// The same once that is known.
template <class Real>
void softmax_row(Real* row, std::int64_t n, std::int64_t keys, Real log_sum) {
  RowMap<Real> seen(row, n);
  seen = (seen - log_sum).exp();
  std::fill(row + n, row + keys, Real(0));
}

/// What dropout multiplies a block's weights by, 1/(1 - rate) or 0, drawn again wherever it is
/// needed.
template <class Real>
void multiply_by_mask(const AttentionShape& s, const Head& head, const Block& block,
                      const Real* from, Real* to) {
  constexpr std::int64_t kChunk = 256;
  const Real kept = kept_factor<Real>(s.dropout);
  std::array<double, kChunk> uniform;
  for (std::int64_t r = 0; r < block.rows; ++r) {
    const std::int64_t first = weight_index(s, head.row + block.row + r, 0);
    for (std::int64_t u = 0; u < block.keys; u += kChunk) {
      const std::int64_t n = std::min(kChunk, block.keys - u);
      fill_uniform(s.mask, static_cast<std::uint64_t>(first + u), n, uniform.data());
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t at = r * block.keys + u + i;
        to[at] = dropout_factor(uniform[static_cast<std::size_t>(i)], s.dropout, kept) * from[at];
      }
    }
  }
}

/// What the products of a head's blocks are made by, by the largest of them.
struct Work {
  int threads;
  Maker maker;
};

/// Products of queries and keys.
template <class Real>
struct Products {
  const Real *q, *k;
  Maker maker;
  void operator()(const AttentionShape& s, const Head& head, const Block& block,
                  Real* scores) const {
    const auto Q = view(q + head.query, s.tokens, s.head_width, s.width());
    const auto K = view(k + head.key, s.key_tokens(), s.head_width, s.key_width());
    write_product(maker, view(scores, block.rows, block.keys), Q.middleRows(block.row, block.rows),
                  K.topRows(block.keys).transpose(), false, static_cast<Real>(s.scale));
  }
};

/// Scores that are there.
template <class Real>
struct Given {
  const Real* scores;
  void operator()(const AttentionShape& s, const Head& head, const Block& block, Real* to) const {
    view(to, block.rows, block.keys) =
        view(scores + weight_index(s, head.row, 0), s.tokens, s.key_tokens())
            .block(block.row, 0, block.rows, block.keys);
  }
};

/// `make`(s, head, block, scores): the scores of a block.
template <class Real, class Make>
void mix_values(const Work& work, const AttentionShape& s, const Make& make, const Real* v,
                Real* log_sums, Real* mix) {
  for_heads(work.threads, s, [&](const Head& head, bool) {
    const auto V = view(v + head.key, s.key_tokens(), s.head_width, s.key_width());
    auto M = view(mix + head.query, s.tokens, s.head_width, s.width());
    Real* weights = scratch<Real>(kRows * s.key_tokens());
    for_blocks(s, [&](const Block& block) {
      make(s, head, block, weights);
      auto P = view(weights, block.rows, block.keys);
      for (std::int64_t r = 0; r < block.rows; ++r) {
        log_sums[head.row + block.row + r] =
            softmax_row(&P(r, 0), keys_seen(s, block.row + r), block.keys);
      }
      if (s.dropout > 0.0) multiply_by_mask(s, head, block, weights, weights);
      write_product(work.maker, M.middleRows(block.row, block.rows), P, V.topRows(block.keys),
                    false);
    });
  });
}

template <class Real>
void begin_sum(const AttentionShape& s, const Head& head, const Into<Real>& sum) {
  if (!sum || sum.adds) return;
  view(sum.data + head.key, s.key_tokens(), s.head_width, s.key_width()).setZero();
}

// With the masked weights P' = P o mask: dV = P'^T dM; dP = (dM V^T) o mask;
// dS = P o (dP - rowsum(P o dP)), where that sum is dM . M.
/// take(head, whether it is the first of its key head, block, DS) gets `scale` times dS.
template <class Real, class Make, class Take>
void mix_gradients(const Work& work, const AttentionShape& s, const Make& make, const Real* v,
                   const Real* log_sums, const Real* mix, const Real* dmix, Real scale,
                   Into<Real> dv, const Take& take) {
  const std::int64_t keys = s.key_tokens(), key_stride = s.key_width();
  for_heads(work.threads, s, [&](const Head& head, bool is_first) {
    const auto V = view(v + head.key, keys, s.head_width, key_stride);
    const auto M = view(mix + head.query, s.tokens, s.head_width, s.width());
    const auto DM = view(dmix + head.query, s.tokens, s.head_width, s.width());
    if (is_first) begin_sum(s, head, dv);
    Real* weights = scratch<Real>(3 * kRows * keys);
    for_blocks(s, [&](const Block& block) {
      make(s, head, block, weights);
      auto P = view(weights, block.rows, block.keys);
      auto DS = view(weights + kRows * keys, block.rows, block.keys);
      const auto dm_rows = DM.middleRows(block.row, block.rows);
      for (std::int64_t r = 0; r < block.rows; ++r) {
        softmax_row(&P(r, 0), keys_seen(s, block.row + r), block.keys,
                    log_sums[head.row + block.row + r]);
      }
      Real* masked = weights;
      if (s.dropout > 0.0) {
        masked = weights + 2 * kRows * keys;
        multiply_by_mask(s, head, block, weights, masked);
      }
      if (dv) {
        write_product(work.maker, view(dv.data + head.key, block.keys, s.head_width, key_stride),
                      view(masked, block.rows, block.keys).transpose(), dm_rows, true);
      }
      write_product(work.maker, DS, dm_rows, V.topRows(block.keys).transpose(), false);
      if (s.dropout > 0.0) multiply_by_mask(s, head, block, DS.data(), DS.data());
      for (std::int64_t r = 0; r < block.rows; ++r) {
        const Real along = dm_rows.row(r).dot(M.row(block.row + r));
        for (std::int64_t u = 0; u < block.keys; ++u) {
          DS(r, u) = score_gradient(scale, P(r, u), DS(r, u), along);
        }
      }
      take(head, is_first, block, DS);
    });
  });
}

/// dQ = DS K and dK = DS^T Q of one block; DS is times the scale already.
template <class Real, class Scores>
void products_back(const AttentionShape& s, const Head& head, const Block& block, const Scores& DS,
                   const Products<Real>& of, Into<Real> dq, Into<Real> dk) {
  const auto Q = view(of.q + head.query, s.tokens, s.head_width, s.width());
  const auto K = view(of.k + head.key, s.key_tokens(), s.head_width, s.key_width());
  if (dq) {
    write_product(
        of.maker,
        view(dq.data + head.query + block.row * s.width(), block.rows, s.head_width, s.width()), DS,
        K.topRows(block.keys), dq.adds);
  }
  if (dk) {
    write_product(of.maker, view(dk.data + head.key, block.keys, s.head_width, s.key_width()),
                  DS.transpose(), Q.middleRows(block.row, block.rows), true);
  }
}

}  // namespace

template <class Real>
void CpuDevice<Real>::attention_forward(const AttentionShape& s, const Real* q, const Real* k,
                                        const Real* v, Real* log_sums, Real* mix) {
  const Maker by = maker(std::min(kRows, s.tokens), s.key_tokens(), s.head_width);
  mix_values({threads_, by}, s, Products<Real>{q, k, by}, v, log_sums, mix);
}

template <class Real>
void CpuDevice<Real>::attention_backward(const AttentionShape& s, const Real* q, const Real* k,
                                         const Real* v, const Real* log_sums, const Real* mix,
                                         const Real* dmix, Into<Real> dq, Into<Real> dk,
                                         Into<Real> dv) {
  const Maker by = maker(std::min(kRows, s.tokens), s.key_tokens(), s.head_width);
  const Products<Real> products{q, k, by};
  mix_gradients({threads_, by}, s, products, v, log_sums, mix, dmix, static_cast<Real>(s.scale), dv,
                [&](const Head& head, bool is_first, const Block& block, const auto& DS) {
                  if (is_first && block.row == 0) begin_sum(s, head, dk);
                  products_back(s, head, block, DS, products, dq, dk);
                });
}

template <class Real>
void CpuDevice<Real>::scores_forward(const AttentionShape& s, const Real* q, const Real* k,
                                     const Real* before, Real* scores) {
  const std::int64_t keys = s.key_tokens();
  const Maker by = maker(std::min(kRows, s.tokens), keys, s.head_width);
  for_heads(threads_, s, [&](const Head& head, bool) {
    Real* own = scratch<Real>(kRows * keys);
    for_blocks(s, [&](const Block& block) {
      Products<Real>{q, k, by}(s, head, block, own);
      for (std::int64_t r = 0; r < block.rows; ++r) {
        const std::int64_t first = weight_index(s, head.row + block.row + r, 0);
        const std::int64_t seen = keys_seen(s, block.row + r);
        RowMap<Real> row(scores + first, seen);
        row = ConstRowMap<Real>(own + r * block.keys, seen);
        if (before != nullptr) row += ConstRowMap<Real>(before + first, seen);
        std::fill(scores + first + seen, scores + first + keys, Real(0));
      }
    });
  });
}

template <class Real>
void CpuDevice<Real>::scores_backward(const AttentionShape& s, const Real* q, const Real* k,
                                      const Real* dscores, Into<Real> dq, Into<Real> dk) {
  const Maker by = maker(std::min(kRows, s.tokens), s.key_tokens(), s.head_width);
  const Products<Real> products{q, k, by};
  const Real scale = static_cast<Real>(s.scale);
  for_heads(threads_, s, [&](const Head& head, bool is_first) {
    if (is_first) begin_sum(s, head, dk);
    Real* scaled = scratch<Real>(kRows * s.key_tokens());
    for_blocks(s, [&](const Block& block) {
      Given<Real>{dscores}(s, head, block, scaled);
      auto DS = view(scaled, block.rows, block.keys);
      DS *= scale;
      products_back(s, head, block, DS, products, dq, dk);
    });
  });
}

template <class Real>
void CpuDevice<Real>::mix_forward(const AttentionShape& s, const Real* scores, const Real* v,
                                  Real* log_sums, Real* mix) {
  const Maker by = maker(std::min(kRows, s.tokens), s.key_tokens(), s.head_width);
  mix_values({threads_, by}, s, Given<Real>{scores}, v, log_sums, mix);
}

template <class Real>
void CpuDevice<Real>::mix_backward(const AttentionShape& s, const Real* scores, const Real* v,
                                   const Real* log_sums, const Real* mix, const Real* dmix,
                                   Into<Real> dscores, Into<Real> dv) {
  const std::int64_t keys = s.key_tokens();
  const Maker by = maker(std::min(kRows, s.tokens), keys, s.head_width);
  mix_gradients({threads_, by}, s, Given<Real>{scores}, v, log_sums, mix, dmix, Real(1), dv,
                [&](const Head& head, bool, const Block& block, const auto& DS) {
                  if (!dscores) return;
                  for (std::int64_t r = 0; r < block.rows; ++r) {
                    Real* to = dscores.data + weight_index(s, head.row + block.row + r, 0);
                    RowMap<Real> row(to, block.keys);
                    if (!dscores.adds) std::fill(to, to + keys, Real(0));
                    row += DS.row(r).array();
                  }
                });
}

template class CpuDevice<float>;
template class CpuDevice<double>;

}  // namespace scalecalc::tensor
