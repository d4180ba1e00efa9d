#include "verify/memory.hpp"

#include <doctest/doctest.h>

using namespace scalecalc;

TEST_CASE("a measurement takes its weights, its activations and the steps it keeps") {
  SweepOptions options;
  options.model.layers = 4;
  options.model.sequence = 10;
  const Network network = build_network(options.model);
  const double weights = 8.0 * static_cast<double>(parameter_count(network));
  const double one_pass = measurement_work(network, options).bytes;
  CHECK(one_pass > weights);
  CHECK(one_pass < 3 * weights);

  options.model.sequence = 1000;
  const double longer = measurement_work(build_network(options.model), options).bytes;
  // A block keeps at least q, k, v, mix, o, two streams and three of ffn width for each token.
  CHECK(longer - one_pass > 990 * 4 * 8.0 * (7 * 64 + 2 * 256));

  options.quantity = Quantity::actual_delta_loss;
  const double branch = 8.0 * 4 * (4 * 64 * 64 + 2 * 64 * 256);
  CHECK(measurement_work(network, options).bytes - one_pass == doctest::Approx(1.1 * branch));

  options.quantity = Quantity::delta_loss;
  options.single_precision = true;
  CHECK(measurement_work(network, options).bytes < 0.6 * one_pass);
}

TEST_CASE("the limit of one pass is checked against this machine") {
  CHECK_NOTHROW(check_bytes(0.5 * single_bytes(), 12));
  try {
    check_bytes(2 * single_bytes(), 12);
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    CHECK(error.where() == "layers = 12");
    CHECK(error.message().find("GiB, and the limit is ") != std::string::npos);
  }
}
