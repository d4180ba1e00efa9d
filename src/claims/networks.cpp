#include "claims/networks.hpp"

#include <filesystem>
#include <functional>

#include "claims/topics.hpp"
#include "scalecalc/passes.hpp"
#include "scalecalc/scaling.hpp"

namespace scalecalc::claims {
namespace {

using Setter = std::function<void(ModelSpec&, Arguments&, const std::string& key)>;

Setter whole(std::int64_t ModelSpec::*field) {
  return [field](ModelSpec& spec, Arguments& from, const std::string& key) {
    spec.*field = from.integer(key);
  };
}
Setter flag(bool ModelSpec::*field) {
  return [field](ModelSpec& spec, Arguments& from, const std::string& key) {
    spec.*field = from.boolean(key);
  };
}
Setter number(double ModelSpec::*field) {
  return [field](ModelSpec& spec, Arguments& from, const std::string& key) {
    spec.*field = from.number(key);
  };
}
Setter scale(std::optional<Expr> ModelSpec::*field) {
  return [field](ModelSpec& spec, Arguments& from, const std::string& key) {
    if (from.has(key) && from.call().kind == Node::Kind::call) {
      for (const auto& [name, node] : from.call().named)
        if (name == key && node.kind == Node::Kind::text && node.text == "auto") {
          spec.*field = std::nullopt;
          return;
        }
    }
    spec.*field = from.formula_in_depth(key);
  };
}

Expr score_scale(Arguments& from, const std::string& key) {
  ParseOptions options;
  options.known_symbols = {"head_width", "width", "N"};
  options.where = from.place().at(from.call().column);
  return parse(from.text(key), options);
}

const std::vector<std::pair<std::string, Setter>>& setters() {
  using Spec = ModelSpec;
  using From = Arguments;
  using Key = const std::string;
  static const std::vector<std::pair<std::string, Setter>> list = {
      {"layers", whole(&Spec::layers)},
      {"width", whole(&Spec::width)},
      {"heads", whole(&Spec::heads)},
      {"kv_heads", whole(&Spec::kv_heads)},
      {"ffn", whole(&Spec::ffn)},
      {"vocab", whole(&Spec::vocab)},
      {"sequence", whole(&Spec::sequence)},
      {"batch", whole(&Spec::batch)},
      {"features", whole(&Spec::features)},
      {"causal", flag(&Spec::causal)},
      {"gated", flag(&Spec::gated)},
      {"ntk", flag(&Spec::ntk)},
      {"norm_affine", flag(&Spec::norm_affine)},
      {"norm_eps", number(&Spec::norm_eps)},
      {"dropout", number(&Spec::dropout)},
      {"ramp", number(&Spec::ramp)},
      {"alpha", scale(&Spec::alpha)},
      {"lambda", scale(&Spec::lambda)},
      {"activation", [](Spec& s, From& f, Key& k) { s.activation = f.text(k); }},
      {"optimizer", [](Spec& s, From& f, Key& k) { s.optimizer = f.text(k); }},
      {"placement", [](Spec& s, From& f, Key& k) { s.placement = placement_from(f.text(k)); }},
      {"dropout_place",
       [](Spec& s, From& f, Key& k) { s.dropout_place = dropout_places_from(f.text(k)); }},
      {"norm", [](Spec& s, From& f, Key& k) { s.norm = norm_from(f.text(k)); }},
      {"scale", [](Spec& s, From& f, Key& k) { s.attention_scale = score_scale(f, k); }},
      {"scheme", [](Spec& s, From& f, Key& k) { s.init.scheme = f.text(k); }},
      {"distribution",
       [](Spec& s, From& f, Key& k) { s.init.distribution = distribution_from(f.text(k)); }},
      {"std",
       [](Spec& s, From& f, Key& k) {
         s.init.scheme = "std";
         s.init.std = f.number(k);
       }},
      {"weight_variance",
       [](Spec& s, From& f, Key& k) {
         s.init.scheme = "weight_variance";
         s.init.weight_variance = f.number(k);
       }},
      {"bias_variance",
       [](Spec& s, From& f, Key& k) {
         s.bias = true;
         s.init.bias_variance = f.number(k);
       }},
      {"second", [](Spec& s, From& f, Key& k) { s.input.second = f.number(k); }},
      {"cross", [](Spec& s, From& f, Key& k) { s.input.cross = f.number(k); }},
      {"loss", [](Spec& s, From& f,
                  Key& k) { s.loss = f.text(k) == "mse" ? Loss::mse : Loss::cross_entropy; }},
  };
  return list;
}

const std::vector<std::string>& gain_roles() {
  static const std::vector<std::string> roles = {"q",      "k",       "v",    "o",     "ffn_gate",
                                                 "ffn_in", "ffn_out", "head", "linear"};
  return roles;
}

ModelSpec base_of(Arguments& arguments, const Networks& networks) {
  const int given = arguments.has("preset") + arguments.has("model") + arguments.has("kind");
  if (given != 1)
    arguments.fail("one of preset, model and kind says which network is meant",
                   "for example preset=\"mlp-relu\"");
  if (arguments.has("preset")) return find_model(preset(arguments.text("preset")).name);
  if (arguments.has("model")) return networks.model(arguments.text("model"));
  const std::string kind = arguments.text("kind");
  if (kind == "mlp") return default_spec(ModelSpec::Kind::mlp);
  if (kind == "transformer") return default_spec(ModelSpec::Kind::transformer);
  throw unknown_name("kind", kind, {"mlp", "transformer"}, "");
}

Trace make_trace(const ModelSpec& spec, Engine& engine, int seeds) {
  const Network network = build_network(spec);
  const CheckOptions& options = engine.options();
  if (engine.method() == ClaimMethod::passes) {
    PassOptions passes;
    passes.seed = options.seed;
    passes.threads = options.threads;
    passes.device = options.device;
    return trace_of(sample_passes(network, passes, seeds));
  }
  if (engine.method() == ClaimMethod::montecarlo) {
    MonteCarloPropagation sampling;
    sampling.seed = options.seed;
    sampling.threads = options.threads;
    return propagate_montecarlo(network, sampling);
  }
  PropagateOptions propagation;
  propagation.threads = options.threads;
  return propagate(network, propagation);
}

}  // namespace

const std::vector<std::string>& model_keys() {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> list = {"preset", "model", "kind"};
    for (const auto& [key, setter] : setters()) list.push_back(key);
    for (const std::string& role : gain_roles()) list.push_back("gain_" + role);
    return list;
  }();
  return keys;
}

std::vector<std::string> with_model_keys(std::vector<std::string> own) {
  for (const std::string& key : model_keys())
    if (std::find(own.begin(), own.end(), key) == own.end()) own.push_back(key);
  return own;
}

ModelSpec model_of(Arguments& arguments, const Networks& networks) {
  ModelSpec spec = base_of(arguments, networks);
  for (const auto& [key, set] : setters()) {
    const bool list = std::any_of(
        arguments.call().named.begin(), arguments.call().named.end(), [&](const auto& named) {
          return named.first == key && named.second.kind == Node::Kind::list;
        });
    if (arguments.has(key) && !list) set(spec, arguments, key);
  }
  for (const std::string& role : gain_roles())
    if (arguments.has("gain_" + role))
      spec.init.gain[role] = arguments.formula_in_depth("gain_" + role);
  if (!spec.alpha || !spec.lambda) solve_scales(spec);
  validate(spec);
  return spec;
}

Networks Networks::built_in() {
  Networks networks("");
  networks.built_in_ = true;
  return networks;
}

ModelSpec Networks::model(const std::string& file) const {
  if (built_in_)
    for (const Preset& text : embedded_claim_models())
      if (text.name + ".model" == file) return parse_model(text.toml, file);
  return read_model((std::filesystem::path(directory_) / file).string());
}

const Trace& Networks::trace(const ModelSpec& spec, Engine& engine, int seeds) {
  const std::string key = to_string(engine.method()) + "\n" + std::to_string(seeds) + "\n" +
                          std::to_string(spec.ramp) + "\n" + model_text(spec);
  const auto known = traces_.find(key);
  if (known != traces_.end()) return known->second;
  return traces_[key] = make_trace(spec, engine, seeds);
}

const Estimate& Networks::number(const std::string& key, const std::function<Estimate()>& find) {
  const auto known = numbers_.find(key);
  if (known != numbers_.end()) return known->second;
  return numbers_[key] = find();
}

}  // namespace scalecalc::claims
