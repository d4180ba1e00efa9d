#include "moments/head_softmax.hpp"
#include "moments/trace_of.hpp"
#include "network/memory.hpp"
#include "scalecalc/moments.hpp"

namespace scalecalc {

Trace propagate(const Network& network, const PropagateOptions& options) {
  check_trace_memory(network, kPredictedBytes);
  moments::Numbers numbers(options);
  Trace trace = moments::trace_by(numbers, network);
  trace.engine = "quadrature";
  return trace;
}

}  // namespace scalecalc
