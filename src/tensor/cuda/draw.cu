#include "tensor/cuda/cuda_device.hpp"
#include "tensor/cuda/grid.cuh"
#include "tensor/dropout_rule.hpp"
#include "tensor/shaping.hpp"

// Compiled without fused multiply-add: draws are the same bits as on the CPU.
namespace scalecalc::tensor {
namespace {

/// The two values of block `block` of the stream.
template <class Real>
struct DrawBlock {
  Stream stream;
  Shaping shaping;
  std::int64_t count;
  Real* out;
  SCALECALC_DEVICE void operator()(std::int64_t block) const {
    const base::Philox4 words = base::philox_block(stream, static_cast<std::uint64_t>(block));
    out[2 * block] =
        static_cast<Real>(shaped(shaping, base::uniform_from_words(words.v[0], words.v[1])));
    if (2 * block + 1 < count) {
      out[2 * block + 1] =
          static_cast<Real>(shaped(shaping, base::uniform_from_words(words.v[2], words.v[3])));
    }
  }
};

template <class Real>
struct Drop {
  Stream mask;
  double rate;
  Real kept;
  std::int64_t count;
  const Real* x;
  Into<Real> y;
  SCALECALC_DEVICE void operator()(std::int64_t block) const {
    const base::Philox4 words = base::philox_block(mask, static_cast<std::uint64_t>(block));
    set(2 * block, base::uniform_from_words(words.v[0], words.v[1]));
    if (2 * block + 1 < count) set(2 * block + 1, base::uniform_from_words(words.v[2], words.v[3]));
  }
  SCALECALC_DEVICE void set(std::int64_t i, double uniform) const {
    cuda::put(y, i, dropout_factor(uniform, rate, kept) * x[i]);
  }
};

/// The same of masks that `shared` entries in a row have together.
template <class Real>
struct DropShared {
  Stream mask;
  double rate;
  Real kept;
  std::int64_t shared;
  const Real* x;
  Into<Real> y;
  SCALECALC_DEVICE void operator()(std::int64_t i) const {
    const double uniform = uniform_value(mask, static_cast<std::uint64_t>(i / shared));
    cuda::put(y, i, dropout_factor(uniform, rate, kept) * x[i]);
  }
};

template <class Real>
Drop<Real> drop(const Stream& mask, double rate, std::int64_t count, const Real* x, Into<Real> y) {
  return {mask, rate, kept_factor<Real>(rate), count, x, y};
}

}  // namespace

template <class Real>
void CudaDevice<Real>::draw(const Draw& draw, std::int64_t count, Real* out) {
  cuda::for_entries(queue_, "draw", cuda::pieces(count, 2),
                    DrawBlock<Real>{draw.stream, shaping_of(draw), count, out});
}

template <class Real>
void CudaDevice<Real>::dropout_forward(const Stream& mask, double rate, std::int64_t shared,
                                       std::int64_t count, const Real* x, Real* y) {
  if (shared > 1) {
    cuda::for_entries(
        queue_, "dropout_forward", count,
        DropShared<Real>{mask, rate, kept_factor<Real>(rate), shared, x, Into<Real>{y, false}});
    return;
  }
  cuda::for_entries(queue_, "dropout_forward", cuda::pieces(count, 2),
                    drop(mask, rate, count, x, Into<Real>{y, false}));
}

template <class Real>
void CudaDevice<Real>::dropout_backward(const Stream& mask, double rate, std::int64_t shared,
                                        std::int64_t count, const Real* dy, Into<Real> dx) {
  if (!dx) return;
  if (shared > 1) {
    cuda::for_entries(queue_, "dropout_backward", count,
                      DropShared<Real>{mask, rate, kept_factor<Real>(rate), shared, dy, dx});
    return;
  }
  cuda::for_entries(queue_, "dropout_backward", cuda::pieces(count, 2),
                    drop(mask, rate, count, dy, dx));
}

template class CudaDevice<float>;
template class CudaDevice<double>;

}  // namespace scalecalc::tensor
