#pragma once

/// The forward and backward step of every kind of layer.
#include "moments/layers/activation.hpp"
#include "moments/layers/attention.hpp"
#include "moments/layers/class_tokens.hpp"
#include "moments/layers/conv2d.hpp"
#include "moments/layers/dropout.hpp"
#include "moments/layers/dual_stream.hpp"
#include "moments/layers/embedding.hpp"
#include "moments/layers/encoder.hpp"
#include "moments/layers/experts.hpp"
#include "moments/layers/gated.hpp"
#include "moments/layers/linear.hpp"
#include "moments/layers/max_pool.hpp"
#include "moments/layers/norm.hpp"
#include "moments/layers/parallel.hpp"
#include "moments/layers/pool.hpp"
#include "moments/layers/residual.hpp"
