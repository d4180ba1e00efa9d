#include <cstdio>
#include <scalecalc/scalecalc.hpp>

int main() {
  scalecalc::ModelSpec spec = scalecalc::default_spec(scalecalc::ModelSpec::Kind::mlp);
  spec.layers = 4;
  spec.width = 64;
  scalecalc::Passes<float> passes(scalecalc::build_network(spec), {});

  scalecalc::OptimizerOptions options = scalecalc::optimizer_options("adamw");
  options.schedule = {scalecalc::Schedule::Kind::cosine, /*warmup=*/5, /*steps=*/20};
  options.clip_norm = 1.0;
  scalecalc::Trainer<float> trainer(passes, options);
  const double before = trainer.step();
  while (trainer.steps() < 20) trainer.step();
  std::printf("loss %g, after 20 steps %g\n", before, passes.loss());
  return passes.loss() < before ? 0 : 1;
}
