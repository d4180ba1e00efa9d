#include <algorithm>
#include <numeric>

#include "tensor/cpu/cpu_device.hpp"
#include "tensor/cpu/parallel.hpp"
#include "tensor/cpu/product.hpp"
#include "tensor/functors.hpp"

namespace scalecalc::tensor {
namespace {

/// A piece of a result.
struct Tile {
  std::int64_t row, rows, column, columns;
};

/// The tiles that a product is cut into: where it suits the caches, and to be shared out.
class Cut {
 public:
  /// Of a result of rows x columns, sums over `depth`. Eigen's tiles go by threads along the rows,
  /// or the columns where these are many more; each thread gets as many, as long as a tile
  /// outweighs what it costs to share work out. Large tiles pack less. Bits do not depend on the
  /// threads: its kernel takes 4 rows and at most 48 columns at once, and sums an entry in the same
  /// order in every tile that begins at a multiple.
  Cut(Maker maker, int threads, std::int64_t rows, std::int64_t columns, std::int64_t depth)
      : rows_(rows),
        columns_(columns),
        row_(even(rows, pieces(rows, kLongest), kRows)),
        column_(even(columns, pieces(columns, kLongest), kColumns)) {
    if (maker == Maker::one_dnn) {
      cut_by_shape(depth);
    } else if (rows * kWide >= columns) {
      row_ = even(rows, for_threads(threads, rows, across(), column_ * depth), kRows);
    } else {
      column_ = even(columns, for_threads(threads, columns, down(), row_ * depth), kColumns);
    }
  }

  std::int64_t count() const { return across() * down(); }
  Tile tile(std::int64_t index) const {
    const std::int64_t i = index / across(), j = index % across();
    const std::int64_t row = i * row_, column = j * column_;
    return {row, i + 1 < down() ? row_ : rows_ - row, column,
            j + 1 < across() ? column_ : columns_ - column};
  }

 private:
  static constexpr std::int64_t kRows = 4, kColumns = 48, kWide = 4, kLongest = 512,
                                kShareable = 1 << 17;

  /// oneDNN chooses how it sums by the shape that it is given, so that its tiles are the same for
  /// any number of threads: halves, until there are enough for many threads or a half would be too
  /// little work for one.
  void cut_by_shape(std::int64_t depth) {
    constexpr std::int64_t kMany = 16, kStep = 16, kShortest = 64;
    while (count() < kMany && row_ * column_ * depth >= 2 * kShareable) {
      std::int64_t& longer = row_ >= column_ ? row_ : column_;
      if (longer <= kShortest) return;
      longer = even(longer, 2, kStep);
    }
  }
  /// The side of a tile, a multiple of `step`, of `count` entries in so many tiles.
  static std::int64_t even(std::int64_t count, std::int64_t tiles, std::int64_t step) {
    return pieces(pieces(count, tiles), step) * step;
  }
  /// Tiles along a side of `count` entries, `other` of them across, each entry of so much work.
  static std::int64_t for_threads(int threads, std::int64_t count, std::int64_t other,
                                  std::int64_t work) {
    const std::int64_t turn = threads / std::gcd<std::int64_t>(threads, other);
    const std::int64_t wanted = pieces(pieces(count, kLongest), turn) * turn;
    return std::clamp<std::int64_t>(count * work / kShareable, 1, wanted);
  }
  /// A single entry at the end of a side, which would not be a matrix, joins the last tile.
  static std::int64_t tiles(std::int64_t count, std::int64_t size) {
    return std::max<std::int64_t>(1, pieces(count - 1, size));
  }
  std::int64_t across() const { return tiles(columns_, column_); }
  std::int64_t down() const { return tiles(rows_, row_); }

  std::int64_t rows_, columns_, row_, column_;
};

/// body(tile) for each tile of a rows x columns result.
template <class Body>
void for_blocks(Maker maker, int threads, std::int64_t rows, std::int64_t columns,
                std::int64_t depth, const Body& body) {
  const Cut cut(maker, threads, rows, columns, depth);
  for_tiles(threads, cut.count(), [&](std::int64_t index) { body(cut.tile(index)); });
}

/// One tile of x w + bias, while it is near.
template <class Real>
void product(Maker maker, const LinearShape& s, const Tile& at, const Real* x, const Real* w,
             const Real* bias, Real* y) {
  auto Y = view(y, s.tokens, s.fan_out).block(at.row, at.column, at.rows, at.columns);
  write_product(maker, Y, view(x, s.tokens, s.fan_in).middleRows(at.row, at.rows),
                view(w, s.fan_in, s.fan_out).middleCols(at.column, at.columns), false);
  if (bias == nullptr) return;
  const ConstRowMap<Real> B(bias + at.column, at.columns);
  for (std::int64_t r = 0; r < at.rows; ++r) Y.row(r).array() += B;
}

}  // namespace

template <class Real>
void CpuDevice<Real>::linear_forward(const LinearShape& s, const Real* x, const Real* w,
                                     const Real* bias, Real* y) {
  const Maker by = maker(s.tokens, s.fan_out, s.fan_in);
  for_blocks(by, threads_, s.tokens, s.fan_out, s.fan_in,
             [&](const Tile& tile) { product(by, s, tile, x, w, bias, y); });
}

template <class Real>
void CpuDevice<Real>::linear_activation_forward(const LinearShape& s, const Real* x, const Real* w,
                                                const Real* bias, ActivationKind kind, Real* y,
                                                Real* activated) {
  const Maker by = maker(s.tokens, s.fan_out, s.fan_in);
  with_functor<Real>(kind, [&](auto phi) {
    for_blocks(by, threads_, s.tokens, s.fan_out, s.fan_in, [&](const Tile& tile) {
      product(by, s, tile, x, w, bias, y);
      for (std::int64_t row = tile.row; row < tile.row + tile.rows; ++row) {
        const Real* in = y + row * s.fan_out + tile.column;
        Real* out = activated + row * s.fan_out + tile.column;
        for (std::int64_t i = 0; i < tile.columns; ++i) out[i] = phi.value(in[i]);
      }
    });
  });
}

template <class Real>
void CpuDevice<Real>::linear_backward_input(const LinearShape& s, const Real* dy, const Real* w,
                                            Into<Real> dx) {
  const auto DY = view(dy, s.tokens, s.fan_out), W = view(w, s.fan_in, s.fan_out);
  auto DX = view(dx.data, s.tokens, s.fan_in);
  const Maker by = maker(s.tokens, s.fan_in, s.fan_out);
  for_blocks(by, threads_, s.tokens, s.fan_in, s.fan_out, [&](const Tile& at) {
    write_product(by, DX.block(at.row, at.column, at.rows, at.columns),
                  DY.middleRows(at.row, at.rows), W.middleRows(at.column, at.columns).transpose(),
                  dx.adds);
  });
}

template <class Real>
void CpuDevice<Real>::linear_backward_weight(const LinearShape& s, const Real* x, const Real* dy,
                                             Into<Real> dw) {
  const auto X = view(x, s.tokens, s.fan_in), DY = view(dy, s.tokens, s.fan_out);
  auto DW = view(dw.data, s.fan_in, s.fan_out);
  const Maker by = maker(s.fan_in, s.fan_out, s.tokens);
  for_blocks(by, threads_, s.fan_in, s.fan_out, s.tokens, [&](const Tile& at) {
    write_product(by, DW.block(at.row, at.column, at.rows, at.columns),
                  X.middleCols(at.row, at.rows).transpose(), DY.middleCols(at.column, at.columns),
                  dw.adds);
  });
}

template <class Real>
void CpuDevice<Real>::bias_forward(std::int64_t tokens, std::int64_t width, const Real* b,
                                   Real* y) {
  for_ranges(threads_, tokens, rows_per_tile(width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      for (std::int64_t i = 0; i < width; ++i) y[t * width + i] += b[i];
    }
  });
}

template <class Real>
void CpuDevice<Real>::bias_backward(std::int64_t tokens, std::int64_t width, const Real* dy,
                                    Into<Real> db) {
  constexpr std::int64_t kColumns = 64;
  for_ranges(threads_, width, kColumns, [&](std::int64_t begin, std::int64_t end) {
    if (!db.adds) std::fill(db.data + begin, db.data + end, Real(0));
    for (std::int64_t t = 0; t < tokens; ++t) {
      for (std::int64_t i = begin; i < end; ++i) db.data[i] += dy[t * width + i];
    }
  });
}

template class CpuDevice<float>;
template class CpuDevice<double>;

}  // namespace scalecalc::tensor
