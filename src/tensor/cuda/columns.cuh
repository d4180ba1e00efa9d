#pragma once

#include "tensor/cuda/grid.cuh"
#include "tensor/cuda/pool.hpp"

/// Sums down the columns of a matrix, over pieces of rows whose sums are then added in order.
namespace scalecalc::tensor::cuda {

constexpr int kColumnsAcross = 32, kColumnsDown = 8;
constexpr std::int64_t kColumnRows = 256;

/// Of one block of (kColumnsAcross, kColumnsDown) threads: the sum of `values` over the threads of
/// a column, complete in the first of them.
template <class Value, int Count>
SCALECALC_DEVICE inline void sum_down(Value (&values)[Count]) {
  __shared__ Value parts[Count][kColumnsDown][kColumnsAcross];
  __syncthreads();
  for (int k = 0; k < Count; ++k) parts[k][threadIdx.y][threadIdx.x] = values[k];
  __syncthreads();
  if (threadIdx.y != 0) return;
  for (int k = 0; k < Count; ++k) {
    for (int other = 1; other < kColumnsDown; ++other) {
      values[k] += parts[k][other][threadIdx.x];
    }
  }
}

/// What sums end up in: one for each Count.
template <class Real, int Count>
struct Columns {
  Into<Real> into[Count];
};

/// Terms gives Count terms of entry (row, column): terms(place, sums) adds them. With one piece the
/// result is put where it belongs, else in `parts`, (Count, pieces, width).
template <class Real, int Count, class Terms>
SCALECALC_KERNEL column_sums_kernel(std::int64_t rows, std::int64_t width, Terms terms, Real* parts,
                                    Columns<Real, Count> out) {
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.y) * kColumnsAcross + threadIdx.x;
  const std::int64_t first = blockIdx.x * kColumnRows;
  const std::int64_t last = first + kColumnRows < rows ? first + kColumnRows : rows;
  Real sums[Count] = {};
  if (column < width) {
    for (std::int64_t row = first + threadIdx.y; row < last; row += kColumnsDown) {
      terms(row * width + column, sums);
    }
  }
  sum_down(sums);
  if (threadIdx.y != 0 || column >= width) return;
  for (int k = 0; k < Count; ++k) {
    if (parts != nullptr) {
      parts[(k * static_cast<std::int64_t>(gridDim.x) + blockIdx.x) * width + column] = sums[k];
    } else if (out.into[k].data != nullptr) {
      put(out.into[k], column, sums[k]);
    }
  }
}

template <class Real, int Count>
struct AddPieces {
  std::int64_t pieces, width;
  const Real* parts;
  Columns<Real, Count> out;
  SCALECALC_DEVICE void operator()(std::int64_t column) const {
    for (int k = 0; k < Count; ++k) {
      if (out.into[k].data == nullptr) continue;
      Real sum = 0;
      for (std::int64_t piece = 0; piece < pieces; ++piece) {
        sum += parts[(k * pieces + piece) * width + column];
      }
      put(out.into[k], column, sum);
    }
  }
};

template <class Real, int Count, class Terms>
void sum_columns(Pool& pool, const char* operation, std::int64_t rows, std::int64_t width,
                 const Terms& terms, const Columns<Real, Count>& out) {
  const std::int64_t count = rows > 0 ? pieces(rows, kColumnRows) : 1;
  const dim3 blocks(static_cast<unsigned>(count), blocks_of(width, kColumnsAcross));
  const dim3 threads(kColumnsAcross, kColumnsDown);
  if (count == 1) {
    launch(pool.queue(), operation, blocks, threads, column_sums_kernel<Real, Count, Terms>, rows,
           width, terms, static_cast<Real*>(nullptr), out);
    return;
  }
  const Scratch<Real> parts(pool, Count * count * width);
  launch(pool.queue(), operation, blocks, threads, column_sums_kernel<Real, Count, Terms>, rows,
         width, terms, parts.data(), out);
  for_entries(pool.queue(), operation, width,
              AddPieces<Real, Count>{count, width, parts.data(), out});
}

}  // namespace scalecalc::tensor::cuda
