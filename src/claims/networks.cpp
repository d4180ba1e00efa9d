#include "claims/networks.hpp"

#include <algorithm>
#include <filesystem>

#include "claims/topics.hpp"
#include "scalecalc/model_fields.hpp"
#include "scalecalc/passes.hpp"
#include "scalecalc/scaling.hpp"

namespace scalecalc::claims {
namespace {

/// The argument as a value of the field's type.
FieldValue value_of(Arguments& from, const ModelField& field, const std::string& key) {
  using Type = ModelField::Type;
  switch (field.type) {
    case Type::integer: return from.integer(key);
    case Type::number: return from.number(key);
    case Type::flag: return from.boolean(key);
    case Type::name: return from.text(key);
    case Type::scale:
      if (from.is_text(key) && from.text(key) == "auto") return std::string("auto");
      break;
    case Type::formula: break;
  }
  return from.formula(key, field.symbols);
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
    const auto add = [&list](const std::string& name) {
      if (!name.empty() && std::find(list.begin(), list.end(), name) == list.end())
        list.push_back(name);
    };
    for (const ModelField& field : model_fields()) {
      add(field.name);
      add(field.older);
    }
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
  GivenFields given;
  for (const std::string& key : model_keys()) {
    if (key == "preset" || key == "model" || key == "kind") continue;
    // A list belongs to the function: the depths of a slope.
    if (!arguments.has(key) || arguments.is_list(key)) continue;
    placed(arguments.place(), arguments.column(key), [&] {
      const ModelField& field = model_field(key, spec.kind, {});
      field.set(spec, value_of(arguments, field, key), {});
      const std::string place = arguments.place().at(arguments.column(key));
      if (!given.emplace(field.full_name(), place).second)
        throw Error(ErrorKind::input, field.name + " is given twice", {}, "give it once");
    });
  }
  complete_fields(spec, given);
  refuse_idle_fields(spec, given);
  if (has_open_scales(spec)) solve_scales(spec);
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
  const std::string key =
      to_string(engine.method()) + "\n" + std::to_string(seeds) + "\n" + model_text(spec);
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
