#include "moments/attention_values.hpp"

#include <doctest/doctest.h>

#include "moments/numbers.hpp"
#include "scalecalc/moments.hpp"
#include "scalecalc/network.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

namespace {

constexpr double share = 0.25;

ModelSpec three_blocks() {
  ModelSpec spec = default_spec(ModelSpec::Kind::transformer);
  spec.layers = 3;
  spec.width = 48;
  spec.heads = 4;
  spec.ffn = 64;
  spec.sequence = 6;
  spec.placement = Placement::pre;
  spec.value_residual = share;
  return spec;
}

const Site& named(const Trace& trace, const std::string& path) {
  for (const Site& one : trace.sites)
    if (one.path == path) return one;
  FAIL("no site " << path);
  return trace.sites.front();
}

Signal<Alike<double>> stream(double cosine, double overlap) {
  Signal<Alike<double>> x;
  x.x = {0, 1, cosine, 0};
  x.width = 64;
  x.tokens = 8;
  x.overlap = {overlap, 0};
  return x;
}

}  // namespace

// Without scores every weight is 1/T, but for the stated error of the softmax integrals: mixes are
// means over the keys.
TEST_CASE("values are those of both blocks, by the squares of their shares") {
  ModelSpec spec = three_blocks();
  spec.init.gain["q"] = Expr(0);
  const Trace trace = propagate(build_network(spec), {});
  const double keys = static_cast<double>(spec.sequence);
  const Site& first = named(trace, "block[0].attn.v");
  for (const char* block : {"block[1]", "block[2]"}) {
    CAPTURE(block);
    const Site& own = named(trace, std::string(block) + ".attn.v");
    const Site& mix = named(trace, std::string(block) + ".attn.mix");
    const double a2 = (1 - share) * (1 - share), b2 = share * share;
    const double second = a2 * own.second.value + b2 * first.second.value,
                 cross = a2 * own.cross.value + b2 * first.cross.value;
    const double mean = cross + (second - cross) / keys;
    constexpr double operations = 64;  // of an entry on its way, a sum over keys in it
    CHECK(mix.second.value == within(mean, mix.second.error + rounding(operations) * mean));
    CHECK(mix.cross.value == within(mean, mix.cross.error + rounding(operations) * mean));
  }
}

// A token alone has its own value; below a norm nothing of a gradient is along it.
TEST_CASE("values of the first block have the gradients of all") {
  ModelSpec spec = three_blocks();
  spec.sequence = 1;
  const Trace trace = propagate(build_network(spec), {});
  double all = named(trace, "block[0].attn.mix").grad_second.value;
  for (const char* block : {"block[1]", "block[2]"})
    all += share * share * named(trace, std::string(block) + ".attn.mix").grad_second.value;
  constexpr double operations = 64;
  CHECK(named(trace, "block[0].attn.v").grad_second.value == rounded(all, operations));
  const double kept = (1 - share) * (1 - share);
  CHECK(named(trace, "block[2].attn.v").grad_second.value ==
        rounded(kept * named(trace, "block[2].attn.mix").grad_second.value, operations));
}

TEST_CASE("values of a stream that is the first block's own share all of its overlaps") {
  Numbers numbers((PropagateOptions()));
  Attention layer;
  layer.heads = layer.kv_heads = 4;
  layer.head_width = 16;
  layer.value_residual = share;
  layer.v.fan_in = layer.v.fan_out = 64;
  layer.v.std = 0.125;
  const Counts counts{8, 1};
  const Signal<Alike<double>> x = stream(0.3, 0.1);
  const Signal<Alike<double>> v = linear_forward(numbers, layer.v, x, counts);
  FirstValues<Alike<double>> first{v, x, 1.0, 1.0};
  constexpr double operations = 32;
  const SharedOverlap all = shared_overlap(numbers, layer, v, first, x);
  CHECK(all.values == rounded(1, operations));
  CHECK(all.first == rounded(1, operations));
  const double kept = (1 - share) * (1 - share) + share * share;
  const auto mixture = mixed_source(numbers, layer, x, first, counts);
  CHECK(mixture.x.second == rounded(kept, operations));
  CHECK(mixture.x.cross == rounded(0.3 * kept, operations));
  const auto values = mixed_values(numbers, layer, v, first, x, counts);
  CHECK(values.x.second == rounded(kept * v.x.second, operations));
  CHECK(values.overlap.coherent == rounded(kept * v.overlap.coherent, operations));
  // Of streams that know nothing of each other the keys share the own part alone.
  first.follows = 0;
  const double own = (1 - share) * (1 - share) / kept;
  CHECK(shared_overlap(numbers, layer, v, first, x).values == rounded(own, operations));
  CHECK(follows_first(first, x) == 0);
}

TEST_CASE("values of the first block are to be given before they are read") {
  Network network = build_network(three_blocks());
  const auto attention_of = [&](std::size_t at) -> Attention& {
    auto& body = std::get<Residual>(network.layers.at(at).op).body;
    for (Layer& layer : body)
      if (auto* found = std::get_if<Attention>(&layer.op)) return *found;
    FAIL("no attention");
    return std::get<Attention>(body.front().op);
  };
  attention_of(0).gives_values = false;
  CHECK_THROWS_WITH_AS(propagate(network, {}),
                       doctest::Contains("no attention before gives its values"), Error);
}

TEST_CASE("formulas have no values of another block") {
  CHECK_THROWS_WITH_AS(propagate_symbolic(three_blocks()),
                       doctest::Contains("value_residual reads the first in all"), Error);
}
