#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "moments/engines/formula.hpp"
#include "moments/engines/symbolic_sites.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;

namespace {

bool proved(const Expr& a, const Expr& b) {
  return equal(a, b).verdict == Equality::Verdict::equal;
}

std::string at_block(std::string path, std::int64_t block) {
  const std::size_t at = path.find("[l]");
  return at == std::string::npos ? path : path.replace(at, 3, "[" + std::to_string(block) + "]");
}

/// Formulas at the numbers of one model, beside propagate()'s values.
class Comparison {
 public:
  explicit Comparison(const ModelSpec& spec)
      : spec_(spec), formulas_(symbolic_sites(spec)), trace_(propagate(build_network(spec))) {
    for (const Site& site : trace_.sites) sites_[site.path] = &site;
  }

  /// The largest relative difference of values that are not small; crosses against the second.
  double worst() {
    double largest = 0;
    for (const FormulaSite& site : formulas_.sites)
      for (const std::int64_t block : {std::int64_t{0}, spec_.layers - 2}) {
        const double off = of_site(site, block);
        if (off > largest) at_ = at_block(site.path, block);
        largest = std::max(largest, off);
      }
    return largest;
  }
  int compared() const { return compared_; }
  const std::string& at() const { return at_; }

 private:
  /// The layers of one residual block: its first branch starts where the block before ended.
  std::string stream_before(const std::string& path, std::int64_t block) const {
    const std::string name = "block[" + std::to_string(block) + "]";
    const std::string last = spec_.parallel ? "" : ".ffn";
    if (!spec_.parallel && path.starts_with(name + ".ffn")) return name + ".attn";
    if (block > 0 && path.starts_with(name))
      return "block[" + std::to_string(block - 1) + "]" + last;
    if (path.starts_with("block"))
      return spec_.placement == Placement::post ? "input.norm" : "input";
    if (path == "head" && sites_.contains("final_norm")) return "final_norm";
    return "block[" + std::to_string(spec_.layers - 1) + "]" + last;
  }
  std::string unit_of(const std::string& path) const {
    const std::size_t first = path.find('.');
    if (!path.starts_with("block")) return path;
    if (spec_.parallel) return path.substr(0, first);
    const std::size_t second = path.find('.', first + 1);
    return second == std::string::npos ? path : path.substr(0, second);
  }

  /// Gradients of the last norm's output have a part that it takes out: those are left out there.
  double of_site(const FormulaSite& formula, std::int64_t block) {
    const bool with_gradient = formula.has_gradient && formula.path != "final_norm";
    const std::string path = at_block(formula.path, block);
    const Site& site = *sites_.at(path);
    const Site& before = *sites_.at(path == "input" ? path : stream_before(path, block));
    const Site& behind = *sites_.at(unit_of(path));
    Bindings at = formulas_.values;
    at["l"] = static_cast<double>(block);
    at["m"] = before.second.value;
    at["r"] = before.cross.is_known() ? before.cross.value : 0;
    at["g"] = behind.grad_second.value;
    at["k"] = behind.grad_cross.is_known() ? behind.grad_cross.value : 0;
    // Gradients that vanish, as those of q and k do for one token, are so much of the stream's.
    const double gradient =
        std::max(site.grad_second.value, 1e-4 * std::fabs(behind.grad_second.value));
    const double second = site.second.value;
    double worst = off(formula.second, at, second, second);
    if (formula.has_cross)
      worst = std::max(worst, off(formula.cross, at, site.cross.value, second));
    if (with_gradient)
      worst = std::max(worst, off(formula.grad_second, at, site.grad_second.value, gradient));
    if (with_gradient && formula.has_cross)
      worst = std::max(worst, off(formula.grad_cross, at, site.grad_cross.value, gradient));
    return worst;
  }

  double off(const Expr& formula, const Bindings& at, double value, double scale) {
    ++compared_;
    return std::fabs(formula_value(formula, at) - value) / scale;
  }

  ModelSpec spec_;
  FormulaSites formulas_;
  Trace trace_;
  std::map<std::string, const Site*> sites_;
  int compared_ = 0;
  std::string at_;
};

ModelSpec wide(Placement placement, const char* activation) {
  ModelSpec spec = default_spec(ModelSpec::Kind::transformer);
  spec.layers = 3;
  spec.width = spec.ffn = 4096;
  spec.heads = 2;
  spec.vocab = 32;
  spec.sequence = 4;
  spec.placement = placement;
  spec.activation = activation;
  spec.input.cross = 0.3;
  return spec;
}

const FormulaSite& site(const FormulaSites& found, const std::string& path) {
  for (const FormulaSite& one : found.sites)
    if (one.path == path) return one;
  FAIL("no site " << path);
  return found.sites.front();
}

}  // namespace

// Without scores before it and gradients behind it residual attention is attention.
TEST_CASE("residual attention has the scores of other layers in its formulas") {
  ModelSpec spec = default_spec(ModelSpec::Kind::transformer);
  const FormulaSites plain = symbolic_sites(spec);
  spec.residual_attention = true;
  const FormulaSites residual = symbolic_sites(spec);
  REQUIRE(plain.sites.size() == residual.sites.size());
  const auto alone = [](const Expr& formula) {
    return substitute(formula, {{"s", 0}, {"u", 0}, {"gs", 0}, {"ks", 0}});
  };
  int with_scores = 0;
  for (std::size_t i = 0; i < plain.sites.size(); ++i) {
    const FormulaSite &a = plain.sites[i], &b = residual.sites[i];
    CAPTURE(a.path);
    with_scores += b.second.contains("s") || b.grad_second.contains("gs");
    CHECK_FALSE(a.uses("s"));
    if (a.uses("m") == b.uses("m") && a.uses("r") == b.uses("r"))
      CHECK(proved(alone(b.second), a.second));
    if (a.path == "block[l].attn.q") CHECK(proved(alone(b.grad_second), a.grad_second));
  }
  CHECK(with_scores >= 3);  // q and k by gradients, the mix by its weights
}

// What the formulas leave out is of order 1/d and T/d (docs/theory/attention.md#next): the largest,
// (1 - P2)^2 V/(A D^2) of the gradient in q, is about 50/d here, a hundred at most, and all of it
// falls as 1/d.
TEST_CASE("formulas at the numbers give propagate's values") {
  for (const Placement placement :
       {Placement::post, Placement::pre, Placement::res_post, Placement::sub_ln})
    for (const char* activation : {"relu", "gelu", "silu"}) {
      CAPTURE(to_string(placement));
      CAPTURE(std::string(activation));
      ModelSpec spec = wide(placement, activation);
      Comparison comparison(spec);
      const double worst = comparison.worst();
      CAPTURE(comparison.at());
      CHECK(worst < 100 / 4096.0);
      CHECK(comparison.compared() >= 100);
      spec.width = spec.ffn = 1024;
      CHECK(Comparison(spec).worst() == doctest::Approx(4 * worst).epsilon(0.1));
    }
}

// The orders of a head are in 1/head_width.
TEST_CASE("formulas of parallel blocks, and of heads of their own width") {
  for (const bool branch_norms : {false, true}) {
    ModelSpec spec = wide(Placement::pre, "gelu");
    spec.parallel = true;
    spec.branch_norms = branch_norms;
    Comparison comparison(spec);
    const double worst = comparison.worst();
    CAPTURE(comparison.at());
    CHECK(worst < 100 / 4096.0);
    spec.head_width = 1024;
    spec.kv_heads = 1;
    CHECK(Comparison(spec).worst() < 100 / 1024.0);
  }
}

TEST_CASE("one token through a post stack: every second moment stays, and every gradient") {
  ModelSpec spec = wide(Placement::post, "relu");
  spec.sequence = 1;
  spec.input.cross = 0;
  spec.norm = NormKind::rmsnorm;
  spec.init.scheme = "he";
  spec.alpha = parse("(2*N)^(1/2)");
  spec.lambda = parse("(2*N)^(-1/2)");
  const FormulaSites found = symbolic_sites(spec);
  CHECK(site(found, "block[l].ffn").second == Expr(1));
  CHECK_FALSE(site(found, "block[l].ffn").uses("g"));
  CHECK_FALSE(site(found, "block[l].ffn").grad_second.contains("l"));
  Comparison comparison(spec);
  const double worst = comparison.worst();
  CAPTURE(comparison.at());
  CHECK(worst < 5e-3);  // the next order, which the symbols leave out
}

TEST_CASE("one token through a pre stack: second moments grow by the branch, gradients fall") {
  ModelSpec spec = wide(Placement::pre, "relu");
  spec.sequence = 1;
  spec.input.cross = 0;
  spec.norm = NormKind::rmsnorm;
  const FormulaSites found = symbolic_sites(spec);
  // attention hands one token on whole, relu halves it: 1 + 1/2 a block
  CHECK(proved(site(found, "block[l].ffn").second, parse("1 + 3/2*(l + 1)")));
  CHECK(proved(site(found, "block[l].attn").second, parse("1 + 3/2*l + 1")));
  const Expr above = site(found, "final_norm").grad_second;
  CHECK(proved(site(found, "block[l].ffn").grad_second * parse("1 + 3/2*(l + 1)") / above, 1));
  Comparison comparison(spec);
  const double worst = comparison.worst();
  CAPTURE(comparison.at());
  CHECK(worst < 5e-3);  // the next order, which the symbols leave out
}

TEST_CASE("laws of alike branches") {
  const auto laws = [](Placement placement, const char* alpha) {
    ModelSpec spec = wide(placement, "relu");
    spec.alpha = parse(alpha);
    std::map<std::string, Expr> found;
    for (const SymbolicLaw& law : propagate_symbolic(spec).laws)
      found.emplace(law.name, parse(law.formula));
    return found;
  };
  const auto post = laws(Placement::post, "1");
  CHECK(proved(post.at("stream_second"), 1));
  CHECK(proved(substitute(post.at("identity_weight"), {{"branch", 1}}), parse("2^(-l/2)")));
  const auto deepnorm = laws(Placement::post, "(2*N)^(1/2)");
  CHECK(proved(substitute(deepnorm.at("identity_weight"), {{"branch", parse("lambda^4")}}),
               parse("(1 + lambda^4/alpha^2)^(-l/2)")));
  const auto pre = laws(Placement::pre, "1");
  CHECK(proved(pre.at("stream_second"), parse("1 + l*branch")));
  CHECK(proved(pre.at("identity_weight"), parse("(1 + l*branch)^(-1/2)")));
}

TEST_CASE("an mlp whose weights keep the second moment: gradients are geometric in depth") {
  ModelSpec spec = default_spec(ModelSpec::Kind::mlp);
  spec.layers = 6;
  spec.activation = "relu";
  spec.sequence = 1;
  spec.init.scheme = "weight_variance";
  spec.init.weight_variance = 3;
  const FormulaSites found = symbolic_sites(spec);
  const FormulaSite& last = site(found, "layer[l].act");
  CHECK(proved(last.second, parse("(3/2)^(l + 1)")));
  CHECK_FALSE(last.uses("m"));
}

TEST_CASE("formulas are text of the language and notes say what their symbols are") {
  const SymbolicTrace trace = propagate_symbolic(wide(Placement::post, "silu"));
  bool expectation = false, recursion = false;
  for (const SymbolicSite& one : trace.sites) {
    expectation = expectation || one.second.find("E[silu(") != std::string::npos;
    recursion = recursion || one.note.find("recursion; r:") != std::string::npos;
    CHECK(one.second.find("hidden") == std::string::npos);
  }
  CHECK(expectation);
  CHECK(recursion);
}
