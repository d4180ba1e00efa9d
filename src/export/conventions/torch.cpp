#include <algorithm>
#include <cmath>

#include "export/conventions/catalogue.hpp"

namespace scalecalc::conventions {
namespace {

/// "torch.empty(1024, 256)" has a shape, and a name may say what the weights are.
void look_at(Use& use, const char* name = "tensor") {
  const Node& tensor = use.arguments.node(name);
  if (tensor.kind == Node::Kind::call) {
    Shape shape;
    for (const Argument& argument : tensor.arguments) {
      if (!argument.name.empty()) continue;
      if (const auto tuple = shape_of(*argument.value)) shape = *tuple;
      if (const auto size = integer_of(*argument.value)) shape.push_back(*size);
    }
    if (!shape.empty()) use.sheet.line_shape(shape);
  }
  const auto says = [&](const char* word) { return tensor.source.find(word) != std::string::npos; };
  if (says("qkv") || says("in_proj") || says("c_attn")) use.sheet.likely_layer("qkv");
  if (says("embedding") || says("embed_tokens") || says("wte") || says("wpe")) {
    use.sheet.likely_layer("embedding");
  }
}

Expr not_negative(const Arguments& arguments, const char* name) {
  const Expr value = arguments.number(name);
  if (evaluate(value) < 0) throw arguments.wrong(name, "not be negative");
  return value;
}

Draw draw_normal(Use& use) {
  look_at(use);
  return normal(use.arguments.number("mean"), not_negative(use.arguments, "std"));
}

Draw between(const Arguments& arguments, const char* low, const char* high) {
  const Expr from = arguments.number(low), to = arguments.number(high);
  if (!(evaluate(from) < evaluate(to))) throw arguments.wrong(high, "be above the lower bound");
  return uniform(from, to);
}

Draw draw_uniform(Use& use) {
  look_at(use);
  return between(use.arguments, "a", "b");
}

Draw draw_method_uniform(Use& use) {
  return between(use.arguments, "from", "to");
}
Draw draw_method_normal(Use& use) {
  return normal(use.arguments.number("mean"), not_negative(use.arguments, "std"));
}

Draw draw_truncated(Use& use) {
  look_at(use);
  const Arguments& arguments = use.arguments;
  const Expr mean = arguments.number("mean"), std = arguments.positive("std");
  use.sheet.note("a and b are absolute values here, not standard deviations");
  return truncated(mean, std, (arguments.number("a") - mean) / std,
                   (arguments.number("b") - mean) / std);
}

Draw xavier(Use& use, Draw (*shape_of_it)(const Expr&)) {
  look_at(use);
  return shape_of_it(use.arguments.positive("gain") * sqrt(2 / (fan_in() + fan_out())));
}
Draw centred_normal(const Expr& std) {
  return normal(0, std);
}
Draw draw_xavier_uniform(Use& use) {
  return xavier(use, symmetric_uniform);
}
Draw draw_xavier_normal(Use& use) {
  return xavier(use, centred_normal);
}

Draw kaiming(Use& use, Draw (*shape_of_it)(const Expr&)) {
  look_at(use);
  const Arguments& arguments = use.arguments;
  const Node& name = arguments.node("nonlinearity");
  if (name.kind != Node::Kind::text) throw arguments.wrong("nonlinearity", "be a string");
  const Expr gain = torch_gain(name.text, arguments.number("a"), arguments.function());
  const std::string mode = arguments.choice("mode", {"fan_in", "fan_out"});
  if (!arguments.given("nonlinearity")) {
    use.sheet.note("nonlinearity is 'leaky_relu' by default: gain^2 = 2/(1 + a^2)");
  }
  return shape_of_it(gain / sqrt(mode == "fan_in" ? fan_in() : fan_out()));
}
Draw draw_kaiming_uniform(Use& use) {
  return kaiming(use, symmetric_uniform);
}
Draw draw_kaiming_normal(Use& use) {
  return kaiming(use, centred_normal);
}

Draw draw_orthogonal(Use& use) {
  look_at(use);
  const Shape& shape = use.sheet.shape();
  if (shape.size() < 2) {
    throw Error(ErrorKind::input, "an orthogonal matrix has at least 2 axes",
                "--shape, got " + shape_text(shape), "for example --shape 1024x256");
  }
  const auto columns = static_cast<std::int64_t>(entries(shape)) / shape[0];
  return orthogonal(use.arguments.positive("gain"), shape[0], columns);
}

const Shape& matrix_shape(Use& use, const char* what) {
  const Shape& shape = use.sheet.shape();
  if (shape.size() == 2) return shape;
  throw Error(ErrorKind::input, std::string(what) + " fills a matrix",
              "--shape, got " + shape_text(shape), "for example --shape 1024x256");
}

Draw draw_sparse(Use& use) {
  look_at(use);
  const Shape& shape = matrix_shape(use, "sparse_");
  const Expr sparsity = use.arguments.number("sparsity");
  const double share = evaluate(sparsity);
  if (share < 0 || share > 1) throw use.arguments.wrong("sparsity", "be from 0 to 1");
  const auto zeros = static_cast<std::int64_t>(std::ceil(share * static_cast<double>(shape[0])));
  return sparse(0, not_negative(use.arguments, "std"), Rational(zeros, shape[0]));
}

Draw draw_eye(Use& use) {
  look_at(use);
  const Shape& shape = matrix_shape(use, "eye_");
  return placed_ones("identity", std::min(shape[0], shape[1]), Expr(shape[0]) * shape[1], 1);
}

Draw draw_dirac(Use& use) {
  look_at(use);
  const Shape& shape = use.sheet.shape();
  const std::int64_t groups = use.arguments.integer("groups");
  if (shape.size() < 3 || shape.size() > 5 || shape[0] % groups != 0) {
    throw Error(ErrorKind::input,
                "dirac_ fills a convolution's kernel of 3 to 5 axes, whose first divides by groups",
                "--shape, got " + shape_text(shape), "for example --shape 64x64x3x3");
  }
  Expr count = 1;
  for (const std::int64_t size : shape) count = count * size;
  return placed_ones("dirac", groups * std::min(shape[0] / groups, shape[1]), count, 1);
}

Draw draw_constant(Use& use) {
  look_at(use);
  return constant(use.arguments.number("val"));
}
Draw draw_ones(Use& use) {
  look_at(use);
  return constant(1);
}
Draw draw_zeros(Use& use) {
  look_at(use);
  return constant(0);
}
Draw draw_fill_method(Use& use) {
  return constant(use.arguments.number("value"));
}

}  // namespace

std::vector<Entry> torch_initialisers() {
  const char* const kaiming_signature =
      "tensor, a=0, mode='fan_in', nonlinearity='leaky_relu', generator=None";
  const auto entry = [](const char* path, const char* signature, Draw (*draw)(Use&)) {
    return Entry{"pytorch", path, signature, nullptr, draw, nullptr};
  };
  return {
      entry("torch.nn.init.kaiming_uniform_", kaiming_signature, draw_kaiming_uniform),
      entry("torch.nn.init.kaiming_normal_", kaiming_signature, draw_kaiming_normal),
      entry("torch.nn.init.xavier_uniform_", "tensor, gain=1.0, generator=None",
            draw_xavier_uniform),
      entry("torch.nn.init.xavier_normal_", "tensor, gain=1.0, generator=None", draw_xavier_normal),
      entry("torch.nn.init.normal_", "tensor, mean=0.0, std=1.0, generator=None", draw_normal),
      entry("torch.nn.init.uniform_", "tensor, a=0.0, b=1.0, generator=None", draw_uniform),
      entry("torch.nn.init.trunc_normal_",
            "tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None", draw_truncated),
      entry("torch.nn.init.orthogonal_", "tensor, gain=1, generator=None", draw_orthogonal),
      entry("torch.nn.init.sparse_", "tensor, sparsity, std=0.01, generator=None", draw_sparse),
      entry("torch.nn.init.eye_", "tensor", draw_eye),
      entry("torch.nn.init.dirac_", "tensor, groups=1", draw_dirac),
      entry("torch.nn.init.constant_", "tensor, val", draw_constant),
      entry("torch.nn.init.ones_", "tensor", draw_ones),
      entry("torch.nn.init.zeros_", "tensor", draw_zeros),
      entry("torch.Tensor.normal_", "mean=0.0, std=1.0, generator=None", draw_method_normal),
      entry("torch.Tensor.uniform_", "from=0.0, to=1.0, generator=None", draw_method_uniform),
      entry("torch.Tensor.zero_", "", draw_zero),
      entry("torch.Tensor.fill_", "value", draw_fill_method),
  };
}

}  // namespace scalecalc::conventions
