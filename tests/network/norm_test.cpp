#include <cmath>

#include "problem.hpp"
#include "small_model.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

std::string scale_problem(Placement placement, const char* formula) {
  return problem([&](ModelSpec& s) {
    s.placement = placement;
    s.norm_scale = parse(formula);
  });
}

std::string dyt_problem(double alpha, Placement placement) {
  return problem([&](ModelSpec& s) {
    s.norm = NormKind::dyt;
    s.norm_alpha = alpha;
    s.placement = placement;
  });
}

const Norm& norm_in(const Network& network, std::size_t index) {
  return std::get<Norm>(residual(network, index).body[0].op);
}

Network list_of(const std::string& keys) {
  return build_network(
      parse_model("[model]\nkind = \"layers\"\nfeatures = 8\n[[layer]]\ntype = "
                  "\"norm\"\n" +
                      keys + "\n[[layer]]\ntype = \"linear\"\nwidth = 3\n",
                  "list.toml"));
}

std::string list_error(const std::string& keys) {
  try {
    list_of(keys);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.message();
  }
  return "";
}

}  // namespace

TEST_CASE("norms in front of branches are scaled by their block, the last is not") {
  ModelSpec spec = small();
  spec.layers = 3;
  spec.norm_scale = parse("l^(-1/2)");
  const Network network = build_network(spec);
  for (std::size_t block = 0; block < 3; ++block)
    for (const std::size_t branch : {2 * block, 2 * block + 1})
      CHECK(norm_in(network, branch).scale == 1 / std::sqrt(static_cast<double>(block + 1)));
  CHECK(std::get<Norm>(network.layers[6].op).scale == 1);
  for (const bool branch_norms : {false, true}) {
    spec.parallel = true;
    spec.branch_norms = branch_norms;
    spec.norm_scale = parse("l/N");
    const Network parallel = build_network(spec);
    const Residual& sum = residual(parallel, 1);
    const Norm& norm = branch_norms
                           ? std::get<Norm>(std::get<Parallel>(sum.body[0].op).branches[1][0].op)
                           : std::get<Norm>(sum.body[0].op);
    CHECK(norm.scale == 2.0 / 3);
  }
}

TEST_CASE("a norm's scale is positive in every block, and of placement pre") {
  CHECK(scale_problem(Placement::pre, "l^(-1/2)").empty());
  CHECK(scale_problem(Placement::post, "1").empty());
  for (const Placement other : {Placement::post, Placement::sandwich, Placement::none})
    CHECK(scale_problem(other, "l^(-1/2)").starts_with("norm_scale is of the norms in front of"));
  CHECK(scale_problem(Placement::pre, "3 - l").ends_with("got 0 in block 3"));
  CHECK(scale_problem(Placement::pre, "l - 2").ends_with("got -1 in block 1"));
  CHECK(scale_problem(Placement::pre, "1/(l - 2)").starts_with("norm_scale"));
  CHECK(scale_problem(Placement::pre, "depth").starts_with("norm_scale: "));
  CHECK(problem([](ModelSpec& s) {
          s.placement = Placement::pre;
          s.norm_scale = parse("1/l");
          s.lambda.reset();
        }).starts_with("lambda = \"auto\" is solved for blocks that are alike"));
  CHECK(problem([](ModelSpec& s) {
          s.norm = NormKind::dyt;
          s.placement = Placement::pre;
          s.norm_scale = parse("1/l");
        }) == "norm_scale is of norms, and dyt is none");
}

TEST_CASE("dyt has an alpha that is positive, and no place among two streams") {
  CHECK(dyt_problem(2, Placement::pre).empty());
  CHECK(dyt_problem(0.5, Placement::post).empty());
  for (const double bad : {0.0, -0.5, inf, not_a_number})
    CHECK(dyt_problem(bad, Placement::pre).starts_with("norm_alpha must be "));
  CHECK(
      dyt_problem(1, Placement::resi_dual).starts_with("placement resi-dual adds up two streams"));
  CHECK(problem([](ModelSpec& s) { s.norm_alpha = 2; }) ==
        "norm_alpha is of norm dyt, and norm is layernorm");
  ModelSpec spec = small();
  spec.norm = NormKind::dyt;
  spec.norm_alpha = 0.75;
  spec.norm_affine = true;
  const Network network = build_network(spec);
  CHECK(norm_in(network, 0).alpha == 0.75);
  const std::vector<ParameterInfo> all = parameters(network);
  CHECK(all[0].path == "block[0].attn.norm.alpha");
  CHECK(all[0].constant == 0.75);
  CHECK(all[0].columns == 1);
  CHECK(all[1].path == "block[0].attn.norm.gain");
  CHECK(all[2].path == "block[0].attn.norm.shift");
}

TEST_CASE("a norm of a list has an alpha of its own") {
  const auto alpha = [](const std::string& keys) {
    return std::get<Norm>(list_of(keys).layers[0].op).alpha;
  };
  CHECK(alpha("norm = \"dyt\"") == 0.5);
  CHECK(alpha("norm = \"dyt\"\nalpha = 1.25") == 1.25);
  const auto says = [](const std::string& keys, const char* text) {
    return list_error(keys).find(text) != std::string::npos;
  };
  CHECK(says("norm = \"rmsnorm\"\nalpha = 1", "norm[0]: alpha is of a norm dyt"));
  for (const char* bad : {"0", "-1", "nan", "inf"})
    CHECK(says("norm = \"dyt\"\nalpha = " + std::string(bad), "alpha must be "));
}
