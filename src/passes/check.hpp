#pragma once

#include <cstdint>
#include <string>

#include "scalecalc/network.hpp"
#include "scalecalc/passes.hpp"
#include "tensor/functions.hpp"

namespace scalecalc::passes {

/// c tanh(x/c) as an expression.
std::string soft_cap(double c);

/// Of n layers that are run again on the way back, those that are run at a time.
std::size_t group_size(std::size_t layers);

/// Entries held at once, roughly: all weights, and what one pass keeps for its backward.
struct Footprint {
  double parameters = 0.0, activations = 0.0;
  std::size_t layers = 1;  ///< outermost ones
  double products = 0.0;   ///< multiplications of the forward pass's matrix products
  /// With what is run again on the way back: one group's activations, and the inputs of all groups,
  /// which are part of them.
  double entries(bool recompute = false) const;
  /// Of `passes` forward and backward ones: a product has two more on the way back.
  PassWork work(double passes, std::size_t entry_bytes, bool recompute) const;
};

/// What is known of a network once it has been followed from its input to its head.
struct Checked {
  Footprint footprint;
  std::int64_t output_tokens = 0;      ///< of one sequence, at the head
  std::int64_t memory_width = 0;       ///< features of the memory that is drawn; 0: none is
  std::int64_t memory_vocab = 0;       ///< words of an encoder's tokens; 0: it reads none
  std::int64_t condition_width = 0;    ///< features of the vector of a sample; 0: there is none
  std::int64_t condition_classes = 0;  ///< of its labels; 0: there are none
  tensor::Functions functions;
};

/// Checks that the layers fit together and that every number in them can be used. Throws
/// Error(input) naming the layer.
Checked check(const Network& network);

/// Throws Error(input), with what would fit, when passes of the network would need more than
/// `limit` bytes, which the `device` has.
void check_memory(const Footprint& footprint, std::size_t entry_bytes, bool recompute, double limit,
                  const std::string& device);

/// What all passes that run at once may take, in bytes.
inline constexpr double kConcurrentBytes = 1.8 * 1024.0 * 1024.0 * 1024.0;

}  // namespace scalecalc::passes
