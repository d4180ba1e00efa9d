#pragma once

#include <string>
#include <variant>
#include <vector>

#include "scalecalc/network.hpp"

/// A network as lines of text, for comparison.
namespace scalecalc {

/// One line a layer: "q", "norm", with the residuals' contents in brackets.
inline void describe(const std::vector<Layer>& layers, std::vector<std::string>& out);

struct Describe {
  std::vector<std::string>& out;
  void operator()(const Linear& layer) const { out.push_back("linear " + layer.path); }
  void operator()(const ActivationLayer& layer) const { out.push_back("act " + layer.path); }
  void operator()(const Norm& layer) const { out.push_back("norm " + layer.path); }
  void operator()(const Attention& layer) const {
    for (const Linear* part : {&layer.q, &layer.k, &layer.v}) out.push_back("linear " + part->path);
    out.push_back("mix " + layer.path);
    if (layer.norm) out.push_back("norm " + layer.norm->path);
    out.push_back("linear " + layer.o.path);
  }
  void operator()(const Residual& layer) const {
    out.push_back("( " + layer.path);
    describe(layer.body, out);
    out.push_back(")");
    if (!layer.shortcut.empty()) out.push_back("shortcut");
    describe(layer.shortcut, out);
    if (layer.norm) out.push_back("norm " + layer.norm->path);
  }
  void operator()(const Gated& layer) const {
    for (const Linear* part : {&layer.gate, &layer.in}) out.push_back("linear " + part->path);
    out.push_back("gated " + layer.path);
  }
  void operator()(const Dropout& layer) const { out.push_back("dropout " + layer.path); }
  void operator()(const Conv2d& layer) const { out.push_back("conv " + layer.path); }
  void operator()(const Pool& layer) const { out.push_back("pool " + layer.path); }
  void operator()(const MaxPool& layer) const { out.push_back("max_pool " + layer.path); }
  void operator()(const Upsample& layer) const { out.push_back("upsample " + layer.path); }
  void operator()(const Concat& layer) const {
    out.push_back("concat( " + layer.path);
    describe(layer.body, out);
    out.push_back(")");
  }
  void operator()(const Parallel& layer) const {
    out.push_back("parallel( " + layer.path);
    for (const std::vector<Layer>& branch : layer.branches) {
      describe(branch, out);
      out.push_back("+");
    }
    out.back() = ")";
  }
  void operator()(const Experts& layer) const {
    out.push_back("experts( " + layer.path + " linear " + layer.router.path);
    for (const std::vector<Layer>& expert : layer.experts) {
      describe(expert, out);
      out.push_back("+");
    }
    out.back() = ")";
  }
  void operator()(const DualStream& layer) const {
    out.push_back("dual( " + layer.path);
    for (const Residual& sublayer : layer.sublayers) (*this)(sublayer);
    out.push_back(") norm " + layer.norm.path);
  }
  void operator()(const Encoder& layer) const {
    out.push_back("encoder( " + layer.path);
    describe(layer.layers, out);
    out.push_back(")");
  }
  void operator()(const ConditionLayer& layer) const {
    out.push_back("condition( " + layer.path);
    describe(layer.layers, out);
    out.push_back(layer.classes > 0 ? ") classes" : ")");
    describe(layer.activated, out);
  }
  void operator()(const Modulation& layer) const {
    out.push_back("linear " + layer.factor.path);
    if (layer.shift) out.push_back("linear " + layer.shift->path);
    out.push_back("modulation " + layer.path);
  }
  void operator()(const Embedding& layer) const { out.push_back("embedding " + layer.path); }
  void operator()(const ClassTokens& layer) const { out.push_back("class tokens " + layer.path); }
};

inline void describe(const std::vector<Layer>& layers, std::vector<std::string>& out) {
  for (const Layer& layer : layers) std::visit(Describe{out}, layer.op);
}

inline std::string description(const Network& network) {
  std::vector<std::string> lines;
  describe(network.layers, lines);
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

inline std::string parameter_paths(const Network& network) {
  std::string text;
  for (const ParameterInfo& info : parameters(network)) text += info.path + "\n";
  return text;
}

}  // namespace scalecalc
